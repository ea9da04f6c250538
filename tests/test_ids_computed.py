"""Ids that are computed from the data before they are looked up: what the data holds says nothing of their range."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers, ops

import jupyter_tpushape as tpushape

DATA = np.random.default_rng(0).integers(0, 100_000, (64, 10)).astype("int32"), np.zeros((64, 1), "float32")


class Looked(layers.Layer):
    def __init__(self, function):
        super().__init__()
        self.function, self.table = function, layers.Embedding(500, 8)

    def call(self, ids):
        return self.table(self.function(ids))


def traced(function):
    model = keras.Sequential([keras.Input((10,), dtype="int32"), Looked(function), layers.Flatten(), layers.Dense(1)])
    model.compile("adam", "mse")
    return tpushape.trace(model, DATA, tpu=None, fixes=False)


COMPUTED = {
    "a remainder": lambda ids: ops.mod(ids, 500),
    "an operator": lambda ids: ids % 500,
    "buckets": lambda ids: ids // 200,
    "clipped": lambda ids: ops.clip(ids, 0, 499),
    "the smaller one": lambda ids: ops.minimum(ids, 499),
    "unknown ones": lambda ids: ops.where(ids < 500, ids, 0),
}
MOVED = {
    "as they are": lambda ids: ids,
    "cast": lambda ids: ops.cast(ids, "int64"),
    "reshaped": lambda ids: ops.reshape(ids, (-1, 5, 2)),
    "turned and turned back": lambda ids: ops.transpose(ops.transpose(ids)),
}


@pytest.mark.parametrize("function", COMPUTED.values(), ids=COMPUTED)
def test_ids_that_are_computed_may_be_in_range(function):
    assert "embedding-range" not in [finding.rule for finding in traced(function).findings]


@pytest.mark.parametrize("function", MOVED.values(), ids=MOVED)
def test_ids_that_are_only_moved_are_what_they_were(function):
    assert "embedding-range" in [finding.rule for finding in traced(function).findings]
