"""Positions that are counted along the batch, and put beside the steps of each sample."""

from __future__ import annotations

import pytest
from strangers import serious, traced

MODEL = """
class Embed(layers.Layer):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = layers.Embedding(50, 8), layers.Embedding(64, 8)
        self.seed = keras.random.SeedGenerator(1)
    def call(self, ids):
        {lines}

def build():
    ids = keras.Input((12,), dtype="int32")
    model = keras.Model(ids, layers.Dense(1)(layers.GlobalAveragePooling1D()(Embed()(ids))))
    model.compile("adam", "mse")
    return model

def data():
    return np.ones((64, 12), "int32"), np.zeros((64, 1), "float32")
"""
ALONG = {
    "a function": "at = ops.arange(ops.shape(ids)[0])\n        return self.tokens(ids) + self.places(at)[:, None, :]",
    "a shape": "places = self.places(jnp.arange(ids.shape[0]))[:, None]\n        return self.tokens(ids) + places",
}


@pytest.mark.parametrize("lines", ALONG.values(), ids=ALONG)
def test_positions_are_counted_along_the_steps(tmp_path, lines):
    (finding,) = serious(traced(tmp_path, MODEL.format(lines=lines)))
    assert finding.rule == "samples-in-order" and finding.fact.counted
    assert finding.fixes[0].proof == "source"
    assert "[1])" in finding.fixes[0].patch and "[None]" in finding.fixes[0].patch


RIGHT = {
    "steps": "return self.tokens(ids) + self.places(ops.arange(ids.shape[1]))[None]",
    "noise of each sample": "return self.tokens(ids) + keras.random.normal((ids.shape[0], 1, 8), seed=self.seed)",
    "zeros of each sample": "return self.tokens(ids) + ops.zeros((ids.shape[0], 1, 8))",
    "a number of each sample": "return self.tokens(ids) + self.places(ops.sum(ids, axis=1) % 64)[:, None, :]",
}


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT)
def test_what_a_sample_has_of_its_own_is_clean(tmp_path, lines):
    assert not serious(traced(tmp_path, MODEL.format(lines=lines)))
