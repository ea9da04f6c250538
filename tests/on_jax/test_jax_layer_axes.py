"""Numbers that a call gives beside its tensors: entries for each axis, parts of a split, a mask of a written size, inputs of a model."""

from __future__ import annotations

import pytest
from strangers import serious, traced

OWN = """
class Own(layers.Layer):
    def call(self, x):
        return {call}

def build():
    i = keras.Input((12, 6))
    model = keras.Model(i, layers.Dense(1)(layers.Flatten()({layer})))
    model.compile("sgd", {loss})
    return model

def data():
    return np.zeros((16, 12, 6), "float32"), np.zeros((16, 1), "float32")

def likelihood(y, p):
    mean, log = ops.split(p, 2, axis=-1)
    return ops.mean(log + ops.square(y - mean) / ops.exp(log))
"""
TOWERS = """
class Towers(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.other = layers.Embedding(10, 4), layers.Embedding(10, 4)
    def call(self, user, item):
        return ops.sum(self.one(user) * self.other(item), axis=-1, keepdims=True)

def build():
    model = Towers()
    model.compile("sgd", "mse")
    return model

def data():
    return [np.arange(16) % 10, np.arange(16) % 7], np.zeros((16, 1), "float32")
"""


def first(tmp_path, call="x", layer="Own()(i)", loss='"mse"'):
    return serious(traced(tmp_path, OWN.format(call=call, layer=layer, loss=loss)))[0]


@pytest.mark.parametrize(
    ("call", "reason", "patch"),
    [
        ("ops.pad(x, [[1, 1], [0, 0]])", "Multiples", "ops.pad(x, [[0, 0], [1, 1], [0, 0]])"),
        ("ops.slice(x, (0, 0), (16, 3))", "Multiples", ""),
        ("ops.squeeze(x, axis=1)", "Unsqueezed", ""),
        ("ops.expand_dims(x, 5)", "NoAxis", ""),
        ("ops.split(x, 4, axis=-1)[0]", "Unsplit", ""),
    ],
)
def test_an_operation_says_how_many_there_are(tmp_path, call, reason, patch):
    finding = first(tmp_path, call)
    assert (type(finding.fact.reason).__name__, finding.fact.shapes[0][1:]) == (reason, (12, 6))
    assert not patch or patch in finding.fixes[0].patch


def test_a_loss_that_splits_needs_a_value_of_a_label_for_each_part(tmp_path):
    fix = first(tmp_path, loss="likelihood").fixes[0]
    assert fix.verified and "Dense(2)" in fix.patch


def test_a_mask_of_numpy_is_made_for_the_steps_that_come(tmp_path):
    attend = "layers.MultiHeadAttention(1, 4)(i, i, attention_mask=np.tril(np.ones((9, 9), bool))[None])"
    finding = first(tmp_path, layer=attend)
    assert type(finding.fact).__name__ == "WrongMask" and "np.ones((12, 12), bool)" in finding.fixes[0].patch


def test_a_model_that_takes_its_inputs_apart_is_named(tmp_path):
    finding = serious(traced(tmp_path, TOWERS))[0]
    assert finding.rule == "layer-raises" and "user, item = inputs" in finding.fixes[0].patch
