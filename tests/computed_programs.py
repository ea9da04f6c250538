"""Small programs and what their values say of them: what never counts, and where samples meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.repair.computed import facts

Body = Callable[..., Any]


def floats(*shape: int) -> np.ndarray:
    """Floats, rows first."""
    return np.random.default_rng(1).random(shape).astype("float32")


def _attended(layers: Any) -> Body:
    def body(row: Any) -> Any:
        step = layers.Reshape((1, 6))(row)
        return layers.Dense(1)(layers.Flatten()(layers.MultiHeadAttention(2, 4)(step, step)))

    return body


def _beside(name: str, units: int = 1, **config: Any) -> Callable[[Any], Body]:
    """A layer over a few values of the row, and the row."""
    return lambda layers: lambda row: layers.Dense(1)(layers.Concatenate()([row, getattr(layers, name)(**config)(layers.Dense(units)(row))]))


def _own(change: Callable[[Any], Any]) -> Callable[[Any], Body]:
    """A change of the last input, and the first one."""
    return lambda layers: (
        lambda *inputs: layers.Dense(1)(layers.Concatenate()([layers.Dense(2)(inputs[0]), layers.Lambda(change, output_shape=lambda shape: shape)(inputs[-1])]))
    )


def _dense(units: int, activation: str | None = None) -> Callable[[Any], Body]:
    return lambda layers: layers.Dense(units, activation=activation)


ROW, PAIR, IDS = [floats(8, 6)], [floats(8, 6), floats(8, 3)], [np.arange(32).reshape(8, 4) % 9]
# By name: the model's body, its inputs, its loss (``None``: one that leaves its labels out), and the kinds of facts.
PROGRAMS: dict[str, tuple[Callable[[Any], Body], list[np.ndarray], str | None, set[str]]] = {
    "attention over one step": (_attended, ROW, "mse", {"constant"}),
    "softmax over one unit": (_beside("Softmax", axis=1), ROW, "mse", {"constant"}),
    "softmax over three units": (_beside("Softmax", 3, axis=1), ROW, "mse", set()),
    "normalized alone": (_beside("LayerNormalization"), ROW, "mse", {"constant"}),
    "times zero": (_own(lambda t: t * 0.0), ROW, "mse", {"constant"}),
    "an input times zero": (_own(lambda t: t * 0.0), PAIR, "mse", {"input"}),
    "one class": (_dense(1, "softmax"), ROW, "mse", {"input"}),
    "samples in reverse": (_own(lambda t: t[::-1]), ROW, "mse", {"mixed"}),
    "features in reverse": (_own(lambda t: t[:, ::-1]), ROW, "mse", set()),
    "less the second sample": (_own(lambda t: t - t[1:2]), ROW, "mse", {"mixed"}),
    "a relu": (_dense(1, "relu"), ROW, "mse", set()),
    "batch normalization": (_beside("BatchNormalization"), ROW, "mse", set()),
    "classes": (_dense(3, "softmax"), ROW, "sparse_categorical_crossentropy", set()),
    "masked ids": (lambda layers: lambda ids: layers.Dense(1)(layers.LSTM(3)(layers.Embedding(9, 4, mask_zero=True)(ids))), IDS, "mse", set()),
    "a loss of two units of nine": (_dense(9), ROW, "units", {"units"}),
    "a loss of all units": (_dense(9), ROW, "squares", set()),
    "labels times zero": (_dense(1), ROW, None, {"label"}),
}


_LOSSES: dict[str | None, Any] = {
    None: lambda y, p: p**2 + 0.0 * y,
    "units": lambda y, p: (p[:, 0] - p[:, 1] - y[:, 0]) ** 2,
    "squares": lambda y, p: (p - y) ** 2,
}


def kinds(keras: Any, name: str) -> set[str] | None:
    """The facts that a program's values give."""
    body, x, loss, _ = PROGRAMS[name]

    def build() -> Any:
        inputs = [keras.Input(one.shape[1:], dtype=str(one.dtype)) for one in x]
        model = keras.Model(inputs, body(keras.layers)(*inputs))
        model.compile("sgd", _LOSSES.get(loss, loss))
        return model

    y = np.arange(8) % 3 if loss and loss.startswith("sparse") else floats(8, 1)
    found = facts(examine(Program(build, (x if len(x) > 1 else x[0], y))))
    return None if found is None else {kind for kind, _ in found}
