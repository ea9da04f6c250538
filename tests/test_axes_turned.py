"""Axes in another order than they are compared in: predictions that a model turns and does not turn back, and lists of samples in place of lists of inputs."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

HEAD = """
import keras, numpy as np
L = keras.layers
def rows(*shape):
    return np.random.default_rng(0).random(shape).astype("float32")
class Steps(L.Layer):
    def __init__(self):
        super().__init__()
        self.dense = L.Dense(5)
    def call(self, x):
        x = keras.ops.transpose(x, (0, 2, 1))
        return {returned}
def compiled(*ends):
    model = keras.Model(*ends)
    model.compile("sgd", "mse")
    return model
"""


def traced(text, tmp_path, returned="keras.ops.transpose(self.dense(x), (0, 2, 1))"):
    file = tmp_path / "program.py"
    text = HEAD.replace("{returned}", returned) + text
    file.write_text(text)
    names: dict = {"__name__": "program"}
    exec(compile(text, str(file), "exec"), names)
    return [finding for finding in tpushape.trace(names["build"], names["data"], tpu=None).findings if finding.serious]


def lines(fix):
    return [line[1:].strip() for line in str(fix.patch).splitlines() if line.startswith("+") and not line.startswith("+++")]


FORECAST = """
def build():
    i = keras.Input((24, 7))
    x = L.Permute((2, 1))(i)
    x = L.Dense(5)(x)
    {back}
    return compiled(i, x)
def data():
    return rows(8, 24, 7), rows(8, 5, 7)
"""
OWN = """
def build():
    i = keras.Input((24, 7))
    return compiled(i, Steps()(i))
def data():
    return rows(8, 24, 7), rows(8, 5, 7)
"""


def test_predictions_that_are_turned_back_are_left_alone(tmp_path):
    assert traced(FORECAST.replace("{back}", "x = L.Permute((2, 1))(x)"), tmp_path) == []
    assert traced(OWN, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "returned", "last", "fix"),
    [
        (FORECAST.replace("{back}", "pass"), "x", False, "x = L.Permute((2, 1))(L.Dense(5)(x))"),
        (OWN, "self.dense(x)", False, "return compiled(i, L.Permute((2, 1))(Steps()(i)))"),
        (OWN, "keras.ops.transpose(self.dense(x), (0, 1, 2))", True, "return keras.ops.transpose(self.dense(x), (0, 2, 1))"),
        (FORECAST.replace("{back}", "x = L.Permute((1, 2))(x)"), "x", True, "x = L.Permute((2, 1))(x)"),
    ],
    ids=["layer", "own layer", "own transpose", "other Permute"],
)
def test_predictions_take_the_order_that_the_data_and_the_labels_have(text, returned, last, fix, tmp_path):
    (found,) = traced(text, tmp_path, returned)
    assert (found.rule, found.fact.last) == ("output-size", last)
    assert found.fixes[0].verified
    assert lines(found.fixes[0]) == [fix]


def test_labels_in_another_order_than_the_data_are_transposed(tmp_path):
    (found,) = traced(FORECAST.replace("{back}", "x = L.Permute((2, 1))(x)").replace("rows(8, 5, 7)", "rows(8, 7, 5)"), tmp_path)
    assert found.fact.turned is None
    assert lines(found.fixes[0]) == ["return rows(8, 24, 7), np.transpose(rows(8, 7, 5), (0, 2, 1))"]


PAIRS = """
def build():
    a, b = keras.Input((6,)), keras.Input((6,))
    dense = L.Dense(4)
    return compiled([a, b], L.Dot(1)([dense(a), dense(b)]))
def data():
    pairs = rows(20, 2, 6)
    return {x}, rows(20, 1)
"""


def test_a_list_of_inputs_is_left_alone(tmp_path):
    assert traced(PAIRS.replace("{x}", "[pairs[:, 0], pairs[:, 1]]"), tmp_path) == []


def test_a_list_of_samples_becomes_a_list_of_inputs(tmp_path):
    (found,) = traced(PAIRS.replace("{x}", "[pair for pair in pairs]"), tmp_path)
    assert (found.rule, found.fact.rows) == ("input-structure", 20)
    (fix,) = found.fixes
    assert fix.verified
    assert lines(fix) == ["return list(np.swapaxes([pair for pair in pairs], 0, 1)), rows(20, 1)"]


def test_a_list_of_other_arrays_is_no_list_of_samples(tmp_path):
    found = traced(PAIRS.replace("{x}", "[*pairs[:19]]"), tmp_path)
    assert all(not hasattr(finding.fact, "rows") for finding in found)
