"""Two towers whose product was to be summed: one score for each sample, and no layer of its own behind the product."""

from __future__ import annotations

import pytest
from strangers import serious, traced

MODEL = """
class Scores(keras.Model):
    def __init__(self):
        super().__init__()
        self.user, self.item, self.gate = layers.Dense(16), layers.Dense(16), layers.Dense(16)
    def call(self, inputs):
        u, i = self.user(inputs[0]), self.item(inputs[1])
        return {call}

def functional():
    one, other = keras.Input((8,)), keras.Input((5,))
    u, i = layers.Dense(16)(one), layers.Dense(16)(other)
    return keras.Model([one, other], {layer})

def build():
    model = {made}
    model.compile("adam", "mse")
    return model

def data():
    return (np.zeros((32, 8), "float32"), np.zeros((32, 5), "float32")), np.zeros({labels}, "float32")
"""
RIGHT = {"call": "ops.sum(u * i, axis=-1, keepdims=True)", "layer": "layers.Dot(-1)([u, i])", "made": "Scores()", "labels": "(32, 1)"}
TOWERS = {
    "an operator": ({"call": "ops.sigmoid(u * i)"}, "ops.sigmoid(ops.sum(u * i, axis=-1, keepdims=True))"),
    "a function": ({"call": "ops.multiply(u, i)"}, "ops.sum(ops.multiply(u, i), axis=-1, keepdims=True)"),
    "a layer": ({"layer": "layers.Activation('sigmoid')(layers.Multiply()([u, i]))", "made": "functional()"}, "layers.Dot(-1)([u, i])"),
}


@pytest.mark.parametrize(("parts", "line"), TOWERS.values(), ids=TOWERS)
def test_a_product_of_two_towers_is_summed(tmp_path, parts, line):
    (finding,) = serious(traced(tmp_path, MODEL.format(**RIGHT | parts)))
    assert finding.rule == "loss-broadcast"
    assert finding.fixes[0].verified
    assert line in finding.fixes[0].patch


def test_a_gate_is_not_summed(tmp_path):
    (finding,) = serious(traced(tmp_path, MODEL.format(**RIGHT | {"call": "u * ops.sigmoid(self.gate(u)) + 0.0 * i"})))
    assert not any("Sum the product" in fix.title for fix in finding.fixes)


@pytest.mark.parametrize("parts", [{}, {"made": "functional()"}, {"call": "u * i", "labels": "(32, 16)"}])
def test_what_has_a_label_for_each_score_is_clean(tmp_path, parts):
    assert not serious(traced(tmp_path, MODEL.format(**RIGHT | parts)))
