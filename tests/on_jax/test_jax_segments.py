"""Sums of segments whose number is written for another tensor than the one that they are combined with."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

GRAPH = """
NODES, EDGES = 12, 30

class Conv(layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.message, self.lift, self.update = layers.Dense(width), layers.Dense(width), layers.Dense(width, activation="relu")
    def call(self, nodes, source, target):
        sent = ops.take_along_axis(self.message(nodes), source[..., None], axis=1)
        {lines}

def build():
    nodes = keras.Input((12, 6))
    source, target = keras.Input((30,), dtype="int32"), keras.Input((30,), dtype="int32")
    x = layers.GlobalAveragePooling1D()(Conv(16)(nodes, source, target))
    model = keras.Model([nodes, source, target], layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model

def data():
    return [np.zeros((40, 12, 6), "float32"), np.zeros((40, 30), "int32"), np.zeros((40, 30), "int32")], np.zeros((40, 1), "float32")
"""
MAPPED = "pooled = ops.vectorized_map(lambda p: ops.segment_sum(p[0], p[1], num_segments={n}), (sent, target))\n        "
JOINED, ADDED = ("return self.update(ops.concatenate([nodes, pooled], axis=-1))", "own = self.lift(nodes)\n        return self.update(own + pooled)")


@pytest.mark.parametrize("then", [JOINED, ADDED])
def test_there_are_as_many_segments_as_the_tensor_has_rows(tmp_path, then):
    code = GRAPH.format(lines=MAPPED.format(n="EDGES") + then)
    (finding,) = serious(traced(tmp_path, code))
    assert "30 comes from the number of segments of SegmentSum at" in finding.why
    assert "num_segments=ops.shape(nodes)[1]" in first(tmp_path, code, "op-shapes")


@pytest.mark.parametrize("then", [JOINED, ADDED])
def test_as_many_segments_as_rows_are_clean(tmp_path, then):
    assert not serious(traced(tmp_path, GRAPH.format(lines=MAPPED.format(n="NODES") + then)))
