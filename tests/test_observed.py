"""What a layer keeps is read from the flow: whatever of the frameworks' layers stands between two others, the fault is theirs."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
from programs import example

import jupyter_tpushape as tpushape

# What a constructor cannot do without, by the parameter's name.
NEEDED = {
    "rate": 0.1, "stddev": 0.1, "units": 8, "filters": 8, "alpha": 1.0, "groups": 2, "mean": 0.0, "scale": 0.5, "function": None, "factor": 0.1,
    "max_value": 1.0, "min_value": 0.0, "value_range": (0, 1), "seed": 1, "activation": "relu", "theta": 1.0, "negative_slope": 0.1,
}  # fmt: skip


def code(cls: type) -> str:
    """A constructor's call with as little as it needs; ``""`` where that is not known."""
    arguments = []
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in NEEDED and (
            parameter.default is parameter.empty or (cls.__name__, parameter.name) == ("GroupNormalization", "groups")
        ):
            arguments.append(f"{parameter.name}={NEEDED[parameter.name]!r}")
        elif parameter.default is parameter.empty:
            return ""
    return f"L.{cls.__name__}({', '.join(arguments)})"


def keepers(framework: str) -> list[str]:
    """Code of every built-in layer that gives the shape which it gets, asked of the layer itself for a vector, a sequence, and between two LSTMs."""
    keras = importlib.import_module(framework)
    found = []
    for name in sorted(vars(keras.layers)):
        cls = getattr(keras.layers, name)
        if not (inspect.isclass(cls) and issubclass(cls, keras.layers.Layer)) or cls.__name__ != name:
            continue
        try:
            text = code(cls)
            made: list[Any] = [eval(text, {"L": keras.layers}) for _ in range(2)]
            kept = [tuple(layer(keras.Input(shape)).shape) == (None, *shape) for layer, shape in zip(made, ((8,), (5, 8)), strict=True)]
            lstm = keras.layers.LSTM
            keras.Sequential([keras.Input((5, 3)), lstm(8, return_sequences=True), eval(text, {"L": keras.layers}), lstm(4)])
        except Exception:
            continue
        if all(kept):
            found.append(text)
    return found


PROGRAM = """
def build():
    m = keras.Sequential([keras.Input((5, 3)), L.LSTM(8, name="first"), {between}, L.LSTM(4, name="second"), L.Dense(2)])
    m.compile("sgd", "mse")
    return m
def data():
    return np.zeros((16, 5, 3), "float32"), np.zeros((16, 2), "float32")
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_recurrent_layer_returns_its_sequence_whatever_stands_between_it_and_the_next(framework: str) -> None:
    between = keepers(framework)
    assert len(between) > 15, between
    assert {"L.Dropout(rate=0.1)", "L.AlphaDropout(rate=0.1)", "L.LayerNormalization()"} <= set(between)
    wrong = []
    for text in between:
        program = example(PROGRAM.format(between=text), framework)
        finding = tpushape.trace(program["build"], program["data"], tpu=None).findings[0]
        first = finding.fixes[0] if finding.fixes else None
        if first is None or not first.verified or first.edits[0].target != "first" or "return_sequences" not in str(first.edits[0]):
            wrong.append((text, finding.rule, first.title if first is not None else ""))
    assert wrong == []
