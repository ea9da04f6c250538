"""What a layer keeps is read from the flow: whatever of the frameworks' layers stands between two others, the fault is theirs."""

from __future__ import annotations

import importlib
import inspect
import os
from typing import Any

import numpy as np
import pytest
from programs import example

import jupyter_tpushape as tpushape

# What a constructor cannot do without, by the parameter's name.
NEEDED = {
    "rate": 0.1, "stddev": 0.1, "units": 8, "filters": 8, "alpha": 1.0, "groups": 2, "mean": 0.0, "scale": 0.5, "function": None, "factor": 0.1,
    "max_value": 1.0, "min_value": 0.0, "value_range": (0, 1), "seed": 1, "activation": "relu", "theta": 0.1, "negative_slope": 0.1,
}  # fmt: skip


def code(cls: type) -> str:
    """A constructor's call with as little as it needs; ``""`` where that is not known."""
    arguments = []
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        # As many groups as divide 8; an LSTM gives nothing above the threshold of 1.
        other = (cls.__name__, parameter.name) in (("GroupNormalization", "groups"), ("ThresholdedReLU", "theta"))
        if parameter.name in NEEDED and (parameter.default is parameter.empty or other):
            arguments.append(f"{parameter.name}={NEEDED[parameter.name]!r}")
        elif parameter.default is parameter.empty:
            return ""
    return f"L.{cls.__name__}({', '.join(arguments)})"


def keepers(framework: str) -> list[str]:
    """Code of every built-in layer that gives the shape which it gets, asked of the layer itself for a vector and a sequence."""
    keras = importlib.import_module(framework)
    found = []
    for name in sorted(vars(keras.layers)):
        cls = getattr(keras.layers, name)
        if not (inspect.isclass(cls) and issubclass(cls, keras.layers.Layer)) or cls.__name__ != name:
            continue
        try:
            text = code(cls)
            made: list[Any] = [eval(text, {"L": keras.layers}) for _ in range(2)]
            if any(tuple(layer(keras.Input(shape)).shape) != (None, *shape) for layer, shape in zip(made, ((8,), (5, 8)), strict=True)):
                continue
            # Some layers for images, and look-ups without a vocabulary, foretell a shape for what they refuse when they run.
            passed = keras.Sequential([keras.Input((5, 8)), made[1]])(np.zeros((2, 5, 8), "float32"), training=True)
            if passed.dtype != "float32":
                continue  # integers, which no LSTM takes
        except Exception:
            continue
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
    # The named ones and one in ten, others in each framework; TPUSHAPE_SOAK walks them all.
    named = ["L.Dropout(rate=0.1)", "L.AlphaDropout(rate=0.1)", "L.LayerNormalization()"]
    some = sorted(between)[5 * (framework == "tf_keras") :: 10]
    for text in between if os.environ.get("TPUSHAPE_SOAK") else dict.fromkeys([*named, *some]):
        program = example(PROGRAM.format(between=text), framework)
        finding = tpushape.trace(program["build"], program["data"], tpu=None).findings[0]
        first = finding.fixes[0] if finding.fixes else None
        if first is None or not first.verified or first.edits[0].target != "first" or "return_sequences" not in str(first.edits[0]):
            wrong.append((text, finding.rule, first.title if first is not None else ""))
    assert wrong == []


LABELS = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="softmax")]); m.compile("sgd", "{loss}"); return m
def data():
    return np.zeros((6, 4), "float32"), {labels}
"""


@pytest.mark.parametrize(
    ("loss", "labels", "values", "edits"),
    [
        ("sparse_categorical_crossentropy", "np.eye(3)[[0, 1, 2, 0, 1, 2]]", "one-hot", ["loss", "label-transform"]),
        ("sparse_categorical_crossentropy", "np.full((6, 3), 1 / 3, 'float32')", "shares", ["loss"]),
        ("sparse_categorical_crossentropy", "np.zeros((6, 3), 'float32')", "zeros", ["loss"]),
        ("sparse_categorical_crossentropy", "np.ones((6, 3), 'int32')", "marks", ["loss"]),
        ("sparse_categorical_crossentropy", "np.arange(18.0).reshape(6, 3)", "numbers", []),
        ("categorical_crossentropy", "np.arange(6) % 3", "classes", ["loss", "label-transform"]),
        ("categorical_crossentropy", "np.arange(6) / 7", "numbers", []),
    ],
)
@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_what_labels_are_is_said_by_their_values(framework: str, loss: str, labels: str, values: str, edits: list[str]) -> None:
    program = example(LABELS.format(loss=loss, labels=labels), framework)
    finding = tpushape.trace(program["build"], program["data"], tpu=None).findings[0]
    assert finding.rule in ("one-hot-labels", "integer-labels")
    assert finding.fact.values == values
    assert [fix.edits[0].kind for fix in finding.fixes if fix.verified] == edits
