"""Products that sum over the samples and come back to each of them, and lookups at the indices of all samples."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from broken import HEAD, load

import jupyter_tpushape as tpushape

L, ops = keras.layers, keras.ops

SUMMED = {
    "scores without a batch": lambda q, k: ops.einsum("qk,bkd->bqd", ops.softmax(ops.einsum("bqd,bkd->qk", q, k) * 16**-0.5), k),
    "scores by a root": lambda q, k: ops.einsum("qk,bkd->bqd", ops.softmax(ops.einsum("bqd,bkd->qk", q, k) / 4.0), k),
    "unscaled": lambda q, k: ops.einsum("qk,bkd->bqd", ops.softmax(ops.einsum("bqd,bkd->qk", q, k)), k),
    "features": lambda q, k: ops.einsum("bqd,de->bqe", q, ops.einsum("bqd,bqe->de", q, q)),
}
MEANT = {
    "attention": lambda q, k: ops.einsum("bqk,bkd->bqd", ops.softmax(ops.einsum("bqd,bkd->bqk", q, k) * 16**-0.5), k),
    "covariance": lambda q, k: ops.einsum("bqd,de->bqe", q, ops.einsum("bqd,bqe->de", q, q) / (32 * 5)),
    "covariance of the batch": lambda q, k: ops.einsum("bqd,de->bqe", q, ops.einsum("bqd,bqe->de", q, q) / ops.cast(ops.shape(q)[0], "float32")),
    "as many as the root of the width": lambda q, k: ops.einsum("bqd,de->bqe", q, ops.einsum("bqd,bqe->de", q, q) / 4.0),
    "momentum": lambda q, k: ops.einsum("bqd,de->bqe", q, ops.einsum("bqd,bqe->de", q, q) * 0.001),
}


def serious(function):
    class Own(L.Layer):
        def call(self, q, k):
            return function(q, k)

    def build():
        a, b = keras.Input((5, 16)), keras.Input((7, 16))
        x = Own()(L.Dense(16)(a), L.Dense(16)(b))
        model = keras.Model([a, b], L.Dense(1)(L.Flatten()(x)))
        model.compile("sgd", "mse")
        return model

    data = lambda: ([np.ones((64, 5, 16), "float32"), np.ones((64, 7, 16), "float32")], np.zeros((64, 1), "float32"))  # noqa: E731
    return [one.rule for one in tpushape.trace(build, data, tpu=None).findings if one.serious]


@pytest.mark.parametrize("name", SUMMED)
def test_a_product_over_the_samples_is_named(name):
    assert serious(SUMMED[name]) == ["samples-summed"]


@pytest.mark.parametrize("name", MEANT)
def test_statistics_of_a_batch_are_no_finding(name):
    assert serious(MEANT[name]) == []


LAST = """
class Last(L.Layer):
    def call(self, h, n):
        picked = {lookup}
        return {read}
def build():
    x, n = keras.Input((15, 6)), keras.Input((), dtype="int32")
    h = Last()(L.GRU(24, return_sequences=True)(x), n)
    model = keras.Model([x, n], L.Dense(1)(h))
    model.compile("sgd", "mse")
    return model
def data():
    return [np.ones((64, 15, 6), "float32"), np.full((64,), 3, "int32")], np.zeros((64, 1), "float32")
"""
PLAIN = "tf.gather(h, n - 1, axis=1, batch_dims=1)"
KEPT = "tf.gather(h, (n - 1)[:, None], axis=1, batch_dims=1)"
LOOKUPS = {
    "read whole": ("tf.gather(h, n - 1, axis=1)", "picked", PLAIN),
    "first of its axis": ("tf.gather(h, n - 1, axis=1)", "picked[:, 0]", KEPT),
    "averaged": ("tf.gather(h, n - 1, axis=1)", "tf.reduce_mean(picked, axis=1)", KEPT),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_lookup_of_each_row_keeps_its_features(name, tmp_path):
    lookup, read, right = LOOKUPS[name]
    path = tmp_path / "train.py"
    path.write_text(HEAD.format(framework="keras") + LAST.format(lookup=lookup, read=read))
    program = load(path)
    (found,) = [one for one in tpushape.trace(program.build, program.data, tpu=None).findings if one.serious]
    fix = next(one for one in found.fixes if one.verified)
    assert right in fix.patch and "Reshape" not in fix.patch
