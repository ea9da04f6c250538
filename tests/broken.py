"""Broken programs as files: what a user has, with one fault each, and with remarks that must survive a repair."""

from __future__ import annotations

import importlib.util
import itertools
from dataclasses import dataclass
from typing import Any

HEAD = """import {framework} as keras
import numpy as np
import tensorflow as tf

L = keras.layers


"""
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Broken:
    """A program, the target that shows its fault, the first fix's title and the lines that it changes."""

    source: str
    title: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    tpu: str | None = None


PICTURES = """

def data():
    return np.zeros((16, 8, 8, 1), "float32"), np.arange(16) % 3
"""
ROWS = """

def data():
    return np.zeros((16, 8), "float32"), np.arange(16) % 3
"""

PROGRAMS = {
    "sequential-list": Broken(
        """def build():
    # A small classifier of 8x8 pictures.
    model = keras.Sequential([
        keras.Input((8, 8, 1)),
        L.Conv2D(4, 3),   # edges
        L.Dense(3, activation='softmax', name="head"),
    ])
    model.compile('sgd', 'sparse_categorical_crossentropy')
    return model
"""
        + PICTURES,
        "Flatten before head",
        (),
        ("        L.Flatten(),",),
    ),
    "model-add": Broken(
        """def build():
    model = keras.Sequential()
    model.add(keras.Input((10, 5)))
    model.add(L.LSTM(6, name="first"))  # reads
    model.add(L.LSTM(4, name="second"))  # and reads again
    model.add(L.Dense(1))
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((16, 10, 5), "float32"), np.zeros((16, 1), "float32")
""",
        "Let first return its whole sequence: return_sequences=True",
        ('    model.add(L.LSTM(6, name="first"))  # reads',),
        ('    model.add(L.LSTM(6, name="first", return_sequences=True))  # reads',),
    ),
    "functional": Broken(
        """def build():
    i = keras.Input((8, 8, 1))
    x = L.Conv2D(4, 3, padding="same")(i)
    out = L.Dense(3, activation="softmax", name="head")(x)   # the head
    model = keras.Model(i, out)
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""
        + PICTURES,
        "Flatten before head",
        ('    out = L.Dense(3, activation="softmax", name="head")(x)   # the head',),
        ('    out = L.Dense(3, activation="softmax", name="head")(L.Flatten()(x))   # the head',),
    ),
    "subclass-init": Broken(
        """class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = L.LSTM(6, return_sequences=True, name="first")
        self.head = L.Dense(2, activation="softmax")

    def call(self, x):
        x = self.first(x)  # every step
        return self.head(x)


def build():
    model = Net()
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    return np.zeros((16, 10, 5), "float32"), np.arange(16) % 2
""",
        "Keep only the last step: return_sequences=False in first",
        ('        self.first = L.LSTM(6, return_sequences=True, name="first")',),
        ('        self.first = L.LSTM(6, return_sequences=False, name="first")',),
    ),
    "compile-argument": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(3, activation="softmax")])
    model.compile(
        optimizer="sgd",
        loss="categorical_crossentropy",  # three classes
        metrics=["accuracy"],
    )
    return model
"""
        + ROWS,
        "Use sparse_categorical_crossentropy, which reads class numbers",
        ('        loss="categorical_crossentropy",  # three classes',),
        ('        loss="sparse_categorical_crossentropy",  # three classes',),
    ),
    "units": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(2, activation="softmax", name="head")])
    model.compile("sgd", "categorical_crossentropy")
    return model


def data():
    return np.zeros((16, 8), "float32"), np.eye(5, dtype="float32")[np.arange(16) % 5]
""",
        "Give head 5 units, one for each value of a label",
        ('    model = keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(2, activation="softmax", name="head")])',),
        ('    model = keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(5, activation="softmax", name="head")])',),
    ),
    "input-shape": Broken(
        """def build():
    model = keras.Sequential([
        keras.Input(shape=(16, 8)),  # the batch has crept in
        L.Dense(3, activation="softmax"),
    ])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""
        + ROWS,
        "Declare the input as (8,), which is what a row of the data is",
        ("        keras.Input(shape=(16, 8)),  # the batch has crept in",),
        ("        keras.Input(shape=(8,)),  # the batch has crept in",),
    ),
    "two-branches": Broken(
        """def build():
    i = keras.Input((8, 8, 1))
    left = L.Conv2D(4, 3, name="left")(i)
    right = L.Conv2D(4, 3, padding="same", name="right")(i)
    both = L.Concatenate()([left, right])  # side by side
    model = keras.Model(i, L.Dense(3, activation="softmax")(L.Flatten()(both)))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""
        + PICTURES,
        "Crop right to (6, 6): Cropping2D",
        ("    both = L.Concatenate()([left, right])  # side by side",),
        ("    both = L.Concatenate()([left, L.Cropping2D(((1, 1), (1, 1)))(right)])  # side by side",),
    ),
    "convolution-into-lstm": Broken(
        """def build():
    return compiled(keras.Sequential([
        keras.Input((8, 8, 1)),
        L.Conv2D(4, 3, name="conv"),
        L.LSTM(5, name="lstm"),  # over the rows
        L.Dense(3, activation="softmax"),
    ]))


def compiled(model):
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""
        + PICTURES,
        "Read the rows as time steps: Reshape((6, 24)) before lstm",
        (),
        ("        L.Reshape((6, 24)),",),
    ),
    "hard-coded-batch": Broken(
        """class Fold(L.Layer):
    def call(self, x):
        # Sixteen rows at a time.
        return tf.reshape(x, (16, 4, 2))


def build():
    i = keras.Input((8,))
    model = keras.Model(i, L.Dense(3, activation="softmax")(L.Flatten()(Fold(name="fold")(i))))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    return np.zeros((40, 8), "float32"), np.arange(40) % 3
""",
        "Let TensorFlow count the rows: -1 for 16 in fold",
        ("        return tf.reshape(x, (16, 4, 2))",),
        ("        return tf.reshape(x, (-1, 4, 2))",),
        tpu="v5e-8",
    ),
    "data-reshape": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8, 8, 1)), L.Flatten(), L.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    raw = np.zeros((50, 64), "float32")
    x = raw.reshape(60, 8, 8, 1)  # sixty pictures
    return x, np.arange(50) % 3
""",
        "Let NumPy count the rows: reshape(-1, 8, 8, 1)",
        ("    x = raw.reshape(60, 8, 8, 1)  # sixty pictures",),
        ("    x = raw.reshape(-1, 8, 8, 1)  # sixty pictures",),
    ),
}


def write(folder: Any, name: str, framework: str) -> Any:
    """The program as a file."""
    path = folder / "train.py"
    path.write_text(HEAD.format(framework=framework) + PROGRAMS[name].source)
    return path


def load(path: Any) -> Any:
    """The file as a module of its own, read afresh."""
    spec = importlib.util.spec_from_file_location(f"train_{next(_NUMBERS)}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fit(model: Any, data: Any) -> None:
    """One real epoch."""
    model.fit(*(data if isinstance(data, tuple) else (data,)), epochs=1, verbose=0)
