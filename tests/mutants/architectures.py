"""Correct small programs, the same in both frameworks: each a function of the framework that gives ``(build, data)``.

They are kept plain on purpose, one layer a line and literal sizes, so that an operator of
:mod:`mutants.mutations` finds something to change in their source. Forty rows and ``fit``'s default of 32
make two batches of different size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

Program = tuple[Any, Any]


def numbers(*shape: int) -> np.ndarray:
    """Floats, rows first: what a model is fed."""
    return np.random.default_rng(1).random(shape).astype("float32")


def targets(*shape: int) -> np.ndarray:
    """Floats, rows first: what a regression is to give."""
    return np.random.default_rng(2).random(shape).astype("float32")


def tokens(top: int, *shape: int) -> np.ndarray:
    """Ids below ``top``; the highest one occurs."""
    return (np.arange(int(np.prod(shape))) % top).reshape(shape).astype("int32")


def classes(top: int, *shape: int) -> np.ndarray:
    """Class numbers below ``top``; each occurs."""
    return (np.arange(int(np.prod(shape))) % top).reshape(shape).astype("int64")


def one_hot(top: int, *shape: int) -> np.ndarray:
    """Class numbers as rows."""
    return np.eye(top, dtype="float32")[classes(top, *shape)]


def mlp_sparse(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((6,)),
            L.Dense(8, activation="relu"),
            L.Dropout(0.1),
            L.Dense(4, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    def data():
        return numbers(40, 6), classes(4, 40)

    return build, data


def mlp_categorical(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((5, 4)),
            L.Flatten(),
            L.Dense(8, activation="relu"),
            L.BatchNormalization(),
            L.Dense(3, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "categorical_crossentropy")
        return model

    def data():
        return numbers(40, 5, 4), one_hot(3, 40)

    return build, data


def regression(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((7,)),
            L.Dense(8, activation="relu"),
            L.Dense(1),
        ])  # fmt: skip
        model.compile("sgd", "mse", metrics=["mae"])
        return model

    def data():
        return numbers(40, 7), targets(40, 1)

    return build, data


def cnn(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((12, 10, 3)),
            L.Conv2D(4, 3, activation="relu"),
            L.MaxPooling2D(2),
            L.Conv2D(6, 3, padding="same", activation="relu"),
            L.Flatten(),
            L.Dense(5, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        return numbers(40, 12, 10, 3), classes(5, 40)

    return build, data


def residual(keras: Any) -> Program:
    L = keras.layers

    def build():
        image = keras.Input((8, 6, 3))
        x = L.Conv2D(4, 3, padding="same", activation="relu")(image)
        skip = x
        x = L.Conv2D(4, 3, padding="same", activation="relu")(x)
        x = L.BatchNormalization()(x)
        x = L.Add()([x, skip])
        x = L.GlobalAveragePooling2D()(x)
        model = keras.Model(image, L.Dense(3, activation="softmax")(x))
        model.compile("sgd", "categorical_crossentropy")
        return model

    def data():
        return numbers(40, 8, 6, 3), one_hot(3, 40)

    return build, data


def conv1d(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((12, 2)),
            L.Conv1D(4, 3, activation="relu"),
            L.MaxPooling1D(2),
            L.Flatten(),
            L.Dense(1, activation="sigmoid"),
        ])  # fmt: skip
        model.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
        return model

    def data():
        return numbers(40, 12, 2), classes(2, 40, 1)

    return build, data


def lstm(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((4, 3)),
            L.LSTM(4),
            L.Dense(1),
        ])  # fmt: skip
        model.compile("sgd", "mse")
        return model

    def data():
        return numbers(40, 4, 3), targets(40, 1)

    return build, data


def stacked_lstm(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((3, 2)),
            L.LSTM(5, return_sequences=True),
            L.LSTM(4),
            L.Dense(6, activation="relu"),
            L.Dense(3, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        return numbers(40, 3, 2), classes(3, 40)

    return build, data


def text_gru(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((3,), dtype="int32"),
            L.Embedding(20, 6),
            L.Bidirectional(L.GRU(3)),
            L.Dense(2, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        return tokens(20, 40, 3), classes(2, 40)

    return build, data


def tagger(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((3,), dtype="int32"),
            L.Embedding(15, 4),
            L.LSTM(5, return_sequences=True),
            L.TimeDistributed(L.Dense(4, activation="softmax")),
        ])  # fmt: skip
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        return tokens(15, 40, 3), classes(4, 40, 3)

    return build, data


def autoencoder(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((8, 8, 1)),
            L.Conv2D(4, 3, padding="same", strides=2, activation="relu"),
            L.Flatten(),
            L.Dense(6, activation="relu"),
            L.Dense(64, activation="relu"),
            L.Reshape((4, 4, 4)),
            L.UpSampling2D(2),
            L.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ])  # fmt: skip
        model.compile("sgd", "mse")
        return model

    def data():
        x = numbers(40, 8, 8, 1)
        return x, x

    return build, data


def unet(keras: Any) -> Program:
    L = keras.layers

    def build():
        image = keras.Input((8, 8, 2))
        left = L.Conv2D(3, 3, padding="same", activation="relu")(image)
        x = L.MaxPooling2D(2)(left)
        x = L.Conv2D(4, 3, padding="same", activation="relu")(x)
        x = L.UpSampling2D(2)(x)
        x = L.Concatenate(axis=-1)([x, left])
        x = L.Conv2D(1, 1, activation="sigmoid")(x)
        model = keras.Model(image, x)
        model.compile("sgd", "binary_crossentropy")
        return model

    def data():
        return numbers(40, 8, 8, 2), classes(2, 40, 8, 8, 1)

    return build, data


def two_inputs(keras: Any) -> Program:
    L = keras.layers

    def build():
        image = keras.Input((6, 6, 1), name="image")
        table = keras.Input((4,), name="table")
        a = L.Conv2D(3, 3, activation="relu")(image)
        a = L.Flatten()(a)
        b = L.Dense(5, activation="relu")(table)
        x = L.Concatenate()([a, b])
        model = keras.Model([image, table], L.Dense(1)(x))
        model.compile("sgd", "mse")
        return model

    def data():
        return [numbers(40, 6, 6, 1), numbers(40, 4)], targets(40, 1)

    return build, data


def two_outputs(keras: Any) -> Program:
    L = keras.layers

    def build():
        row = keras.Input((6,))
        x = L.Dense(8, activation="relu")(row)
        label = L.Dense(3, activation="softmax", name="label")(x)
        value = L.Dense(2, name="value")(x)
        model = keras.Model(row, [label, value])
        model.compile("sgd", ["sparse_categorical_crossentropy", "mse"])
        return model

    def data():
        return numbers(40, 6), [classes(3, 40), targets(40, 2)]

    return build, data


def subclassed(keras: Any) -> Program:
    L = keras.layers

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.conv = L.Conv2D(4, 3, activation="relu")
            self.flat = L.Flatten()
            self.hidden = L.Dense(6, activation="relu")
            self.head = L.Dense(4, activation="softmax")

        def call(self, x):
            return self.head(self.hidden(self.flat(self.conv(x))))

    def build():
        model = Net()
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        return numbers(40, 6, 6, 2), classes(4, 40)

    return build, data


def dataset(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((8, 3)),
            L.Conv1D(4, 3, padding="same", activation="relu"),
            L.GlobalAveragePooling1D(),
            L.Dense(3, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "categorical_crossentropy")
        return model

    def data():
        return tf.data.Dataset.from_tensor_slices((numbers(40, 8, 3), one_hot(3, 40))).batch(16)

    return build, data


def attention(keras: Any) -> Program:
    L = keras.layers

    def build():
        ids = keras.Input((6,), dtype="int32")
        x = L.Embedding(12, 8)(ids)
        seen = L.MultiHeadAttention(2, 4)(x, x)
        x = L.Add()([x, seen])
        x = L.LayerNormalization()(x)
        x = L.GlobalAveragePooling1D()(x)
        model = keras.Model(ids, L.Dense(1, activation="sigmoid")(x))
        model.compile("sgd", "binary_crossentropy")
        return model

    def data():
        return tokens(12, 40, 6), classes(2, 40, 1)

    return build, data


ARCHITECTURES = (
    mlp_sparse, mlp_categorical, regression, cnn, residual, conv1d, lstm, stacked_lstm, text_gru, tagger, autoencoder, unet, two_inputs,
    two_outputs, subclassed, dataset, attention,
)  # fmt: skip
