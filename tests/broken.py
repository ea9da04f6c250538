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
    """A program, the target that shows its fault, the kinds of the first fix's edits and the lines that it changes."""

    source: str
    edits: tuple[str, ...]
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
        ("insert-layer",),
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
        ("layer-config",),
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
        ("insert-layer",),
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
        ("layer-config",),
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
        ("loss",),
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
        ("layer-config",),
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
        ("input-shape",),
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
        ("layer-config",),
        ('    left = L.Conv2D(4, 3, name="left")(i)',),
        ('    left = L.Conv2D(4, 3, name="left", padding="same")(i)',),
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
        ("insert-layer",),
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
        ("replace-op",),
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
        ("data-transform",),
        ("    x = raw.reshape(60, 8, 8, 1)  # sixty pictures",),
        ("    x = raw.reshape(-1, 8, 8, 1)  # sixty pictures",),
    ),
    "subclass-call": Broken(
        """class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv = L.Conv2D(4, 3, name="conv")
        self.head = L.Dense(3, activation="softmax", name="head")

    def call(self, x):
        x = self.conv(x)  # edges
        return self.head(x)


def build():
    model = Net()
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""
        + PICTURES,
        ("insert-layer",),
        ("        return self.head(x)",),
        ("        self.head_flatten = L.Flatten()", "        return self.head(self.head_flatten(x))"),
    ),
    "several-calls": Broken(
        """def build():
    a, b = keras.Input((8,), name="a"), keras.Input((5,), name="b")
    shared = L.Dense(4, name="shared")
    left = shared(a)
    right = shared(b)  # the same weights
    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([left, right])))
    model.compile("sgd", "mse")
    return model


def data():
    return [np.zeros((16, 8), "float32"), np.zeros((16, 5), "float32")], np.zeros((16, 1), "float32")
""",
        ("insert-layer",),
        ("    right = shared(b)  # the same weights",),
        ("    right = shared(L.Dense(8)(b))  # the same weights",),
    ),
    "exchanged-inputs": Broken(
        """def build():
    a, b = keras.Input((8,), name="a"), keras.Input((5,), name="b")
    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([L.Dense(2)(a), L.Dense(2)(b)])))
    model.compile("sgd", "mse")
    return model


def data():
    short, long = np.zeros((16, 5), "float32"), np.zeros((16, 8), "float32")
    return [short, long], np.zeros((16, 1), "float32")  # short ones first
""",
        ("data-transform",),
        ('    return [short, long], np.zeros((16, 1), "float32")  # short ones first',),
        ('    return [long, short], np.zeros((16, 1), "float32")  # short ones first',),
    ),
    "dataset-map": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(2, 3), L.Flatten(), L.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    ds = tf.data.Dataset.from_tensor_slices((np.zeros((16, 64), "float32"), np.arange(16) % 3))
    # Two batches.
    return ds.batch(8).prefetch(1)
""",
        ("data-transform",),
        ("    return ds.batch(8).prefetch(1)",),
        ("    return ds.batch(8).map(lambda x, y: (tf.reshape(x, (-1, 8, 8, 1)), y)).prefetch(1)",),
    ),
    "dataset-unbatched": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    ds = tf.data.Dataset.from_tensor_slices((np.zeros((16, 8), "float32"), np.arange(16) % 3))
    return ds.shuffle(16)  # every epoch in another order
""",
        ("batching",),
        ("    return ds.shuffle(16)  # every epoch in another order",),
        ("    return ds.shuffle(16).batch(32)  # every epoch in another order",),
    ),
    "dataset-batch": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    ds = tf.data.Dataset.from_tensor_slices((np.zeros((48, 8), "float32"), np.zeros((48, 1), "float32")))
    ds = ds.batch(12, num_parallel_calls=2, drop_remainder=True)  # a dozen
    return ds.prefetch(1)
""",
        ("batching",),
        ("    ds = ds.batch(12, num_parallel_calls=2, drop_remainder=True)  # a dozen",),
        ("    ds = ds.batch(16, num_parallel_calls=2, drop_remainder=True)  # a dozen",),
        tpu="v3-8",
    ),
    "dataset-cache": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def noisy(x, y):
    return x + tf.random.normal((8,)), y


def data():
    ds = tf.data.Dataset.from_tensor_slices((np.zeros((48, 8), "float32"), np.zeros((48, 1), "float32")))
    return ds.map(noisy).cache().batch(16, drop_remainder=True)  # augmented
""",
        ("batching",),
        ("    return ds.map(noisy).cache().batch(16, drop_remainder=True)  # augmented",),
        ("    return ds.cache().map(noisy).batch(16, drop_remainder=True)  # augmented",),
        tpu="v3-8",
    ),
    "lambda": Broken(
        """def build():
    i = keras.Input((8,))
    fold = L.Lambda(lambda t: tf.reshape(t, (16, 4, 2)), name="fold")  # two by two
    model = keras.Model(i, L.Dense(3, activation="softmax")(L.Flatten()(fold(i))))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    return np.zeros((40, 8), "float32"), np.arange(40) % 3
""",
        ("replace-op",),
        ('    fold = L.Lambda(lambda t: tf.reshape(t, (16, 4, 2)), name="fold")  # two by two',),
        ('    fold = L.Lambda(lambda t: tf.reshape(t, (-1, 4, 2)), name="fold")  # two by two',),
        tpu="v5e-8",
    ),
    "own-axis": Broken(
        """class Mean(L.Layer):
    def call(self, x):
        # One number for each.
        return tf.reduce_mean(x, axis=0, keepdims=True)


def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(4), Mean(name="mean")])
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((16, 8), "float32"), np.zeros((16, 1), "float32")
""",
        ("replace-op",),
        ("        return tf.reduce_mean(x, axis=0, keepdims=True)",),
        ("        return tf.reduce_mean(x, axis=1, keepdims=True)",),
    ),
    "mask": Broken(
        """class Positive(L.Layer):
    def call(self, x):
        kept = tf.boolean_mask(x, x[:, 0] >= 0)  # rows that count
        return x + kept


def build():
    model = keras.Sequential([keras.Input((8,)), Positive(name="positive"), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")
""",
        ("replace-op",),
        ("        kept = tf.boolean_mask(x, x[:, 0] >= 0)  # rows that count",),
        ("        kept = tf.where((x[:, 0] >= 0)[..., tf.newaxis], x, tf.zeros_like(x))  # rows that count",),
        tpu="v3-8",
    ),
    "compile-flag": Broken(
        """def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)  # to see what happens
    return model


def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")
""",
        ("strategy",),
        ('    model.compile("sgd", "mse", run_eagerly=True)  # to see what happens',),
        ('    model.compile("sgd", "mse", run_eagerly=False)  # to see what happens',),
        tpu="v3-8",
    ),
}


def write(folder: Any, name: str, framework: str, programs: dict[str, Broken] = PROGRAMS) -> Any:
    """The program as a file."""
    path = folder / "train.py"
    path.write_text(HEAD.format(framework=framework) + programs[name].source)
    return path


def load(path: Any) -> Any:
    """The file as a module of its own, read afresh."""
    spec = importlib.util.spec_from_file_location(f"train_{next(_NUMBERS)}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fit(model: Any, data: Any, *, eagerly: bool = False) -> None:
    """One real epoch; ``eagerly`` where the step's graph was traced before. An optimizer that has its variables before the step is made lets TensorFlow trace that step once, not twice.

    A graph that runs once is not worth what TensorFlow takes to optimize it: a fifth of the whole.
    """
    import tensorflow as tf

    model.run_eagerly = eagerly or model.run_eagerly
    if model.built and getattr(model, "optimizer", None) is not None:
        model.optimizer.build(model.trainable_variables)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        given = dict(zip(("x", "y", "sample_weight"), data if isinstance(data, tuple) else (data,), strict=False))
        model.fit(**given, epochs=1, verbose=0)
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
