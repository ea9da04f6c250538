"""Random programs: chains and branches of layers, most of them wrong somewhere, and data that may or may not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st


@dataclass(frozen=True)
class Random:
    """A program as plain values, so that it can be made in either Keras and shrinks well."""

    shape: tuple[int, ...]
    layers: tuple[tuple[str, int], ...]
    loss: str
    fault: int
    rows: int
    labels: str
    source: str
    tpu: str | None
    functional: bool

    def make(self, lib: Any) -> tuple[Any, Any]:
        return (lambda: build(lib, self)), (lambda: data(self))


KINDS: dict[str, Any] = {
    "dense": lambda L, n: L.Dense(n),
    "conv": lambda L, n: L.Conv2D(n, 1 + n % 4),
    "conv1": lambda L, n: L.Conv1D(n, 1 + n % 3, padding="same"),
    "pool": lambda L, n: L.MaxPooling2D(1 + n % 3),
    "global": lambda L, n: L.GlobalAveragePooling2D(),
    "flatten": lambda L, n: L.Flatten(),
    "lstm": lambda L, n: L.LSTM(n, return_sequences=n % 2 == 0),
    "gru": lambda L, n: L.Bidirectional(L.GRU(n)),
    "embedding": lambda L, n: L.Embedding(n * 4, n, mask_zero=n % 2 == 0),
    "norm": lambda L, n: L.BatchNormalization(),
    "dropout": lambda L, n: L.Dropout(0.5),
    "reshape": lambda L, n: L.Reshape((n, -1)),
    "reshape2": lambda L, n: L.Reshape((n, 2)),
    "permute": lambda L, n: L.Permute((2, 1)),
    "repeat": lambda L, n: L.RepeatVector(n),
    "softmax": lambda L, n: L.Dense(n, activation="softmax"),
    "lambda": lambda L, n: L.Lambda(lambda x: x * n),
    "sum": lambda L, n: L.Lambda(lambda x: tf.reduce_sum(x, axis=n % 3)),
    "wrapped": lambda L, n: L.TimeDistributed(L.Dense(n)),
}
LOSSES = ("mse", "sparse_categorical_crossentropy", "categorical_crossentropy", "binary_crossentropy", "nosuch", "")


def build(lib: Any, program: Random) -> Any:
    """The model; most of them raise."""
    L = lib.layers
    made = [KINDS[kind](L, size) for kind, size in program.layers]
    if program.functional:
        x = first = lib.Input(program.shape)
        for i, one in enumerate(made):
            y = one(x)
            x = L.Add()([x, y]) if i % 3 == 2 and program.fault % 2 else y
        model = lib.Model(first, x)
    else:
        model = lib.Sequential([lib.Input(program.shape), *made])
    if program.loss:
        model.compile("adam", program.loss, metrics=["accuracy"])
    return model


def data(program: Random) -> Any:
    """Rows that fit the declared input, or have an axis more, less or of another size."""
    shape = program.shape
    match program.fault % 7:
        case 1:
            shape = (*shape, 1)
        case 2:
            shape = shape[1:]
        case 3:
            shape = (*shape[:-1], shape[-1] + 1)
    x = np.zeros((program.rows, *shape), "int32" if program.fault % 5 == 4 else "float32")
    y = {
        "classes": lambda: np.arange(program.rows) % 3,
        "one-hot": lambda: np.eye(3, dtype="float32")[np.arange(program.rows) % 3],
        "column": lambda: np.zeros((program.rows, 1), "float32"),
        "text": lambda: np.array(["a"] * program.rows),
        "ragged": lambda: np.array([[0] * (i % 3) for i in range(program.rows)], dtype=object),
        "none": lambda: None,
        "short": lambda: np.zeros(max(0, program.rows - 1)),
        "nan": lambda: np.full(program.rows, np.nan),
    }[program.labels]()
    match program.source:
        case "arrays":
            return x, y
        case "dataset" if y is not None and program.labels not in ("ragged", "short"):
            return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4).batch(5, drop_remainder=program.fault % 2 == 0)
        case "unbatched" if y is not None and program.labels not in ("ragged", "short"):
            return tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a, b))
        case "generator":
            return ((x[i : i + 4], None if y is None else y[i : i + 4]) for i in range(0, program.rows, 4))
        case "raises":
            return iter_raises(x)
        case "specs":
            return tf.TensorSpec((None, *shape)), tf.TensorSpec((None,), tf.int32)
    return x, y


def iter_raises(x: Any) -> Any:
    yield x, None
    raise OSError("a file of the data is gone")


def programs() -> st.SearchStrategy[Random]:
    """Programs of one to five layers."""
    axes = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)
    layers = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.integers(1, 6)), min_size=1, max_size=5).map(tuple)
    return st.builds(
        Random,
        shape=axes,
        layers=layers,
        loss=st.sampled_from(LOSSES),
        fault=st.integers(0, 34),
        rows=st.sampled_from([0, 1, 7, 8, 16, 33]),
        labels=st.sampled_from(["classes", "one-hot", "column", "text", "ragged", "none", "short", "nan"]),
        source=st.sampled_from(["arrays", "dataset", "unbatched", "generator", "raises", "specs"]),
        tpu=st.sampled_from([None, "v5e-8"]),
        functional=st.booleans(),
    )


def describe_of(program: Random) -> str:
    """The program as code that a person can run."""
    return repr(program)
