"""A loss that a layer adds as a sum over the samples, beside one that is a mean over them."""

from __future__ import annotations

import pytest
from strangers import serious, traced

MODEL = """
class Code(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense, self.table = layers.Dense(6), self.add_weight(shape=(9, 6), name="table")
    def call(self, x):
        z = self.dense(x)
        n = x.shape[0]
        {lines}
        return z

def build():
    inputs = keras.Input({shape})
    model = keras.Model(inputs, layers.Dense(1)(Code()(inputs)))
    model.compile("adam", {loss})
    return model

def data():
    return np.zeros((64, *{shape}), "float32"), np.zeros((64, *{shape}[:-1], 1), "float32")
"""
PLAIN = {"shape": (5,), "loss": '"mse"'}
STEPS = {"shape": (7, 5), "loss": '"mse"'}
SUMS = {
    "a function": ("self.add_loss(1e-3 * ops.sum(ops.abs(z)))", PLAIN, "1e-3 * ops.mean(ops.sum(ops.abs(z), axis=-1))"),
    "a name": ("total = -0.5 * jnp.sum(1 + z - jnp.exp(z))\n        self.add_loss(total)", PLAIN, "-0.5 * jnp.mean(jnp.sum(1 + z - jnp.exp(z), axis=-1))"),
    "a method": ("self.add_loss((z**2).sum() / 6)", PLAIN, "(z**2).sum(axis=-1).mean() / 6"),
    "steps": ("self.add_loss(ops.sum(ops.square(z)))", STEPS, "ops.mean(ops.sum(ops.square(z), axis=(1, 2)))"),
    "a number for each sample": ("self.add_loss(ops.sum(ops.max(z, axis=-1)))", PLAIN, "ops.mean(ops.max(z, axis=-1))"),
}


@pytest.mark.parametrize(("lines", "how", "fixed"), SUMS.values(), ids=SUMS)
def test_a_sum_over_the_samples_becomes_a_mean_over_them(tmp_path, lines, how, fixed):
    (finding,) = serious(traced(tmp_path, MODEL.format(lines=lines, **how)))
    assert finding.rule == "add-loss-summed"
    assert finding.fixes[0].proof == "source"
    assert fixed in finding.fixes[0].patch


RIGHT = {
    "a mean": ("self.add_loss(1e-3 * ops.mean(ops.sum(ops.abs(z), axis=-1)))", PLAIN),
    "divided by the samples": ("self.add_loss(1e-3 * ops.sum(ops.abs(z)) / n)", PLAIN),
    "divided by all values": ("self.add_loss(ops.sum(ops.abs(z)) / (n * 6))", PLAIN),
    "multiplied by a share": ("self.add_loss(ops.sum(ops.abs(z)) * (1.0 / n))", PLAIN),
    "divided by a count": ("self.add_loss(ops.sum(ops.abs(z)) / ops.sum(ops.cast(z > 0, 'float32') + 1))", PLAIN),
    "weights": ("self.add_loss(1e-3 * ops.sum(ops.square(ops.convert_to_tensor(self.table))))", PLAIN),
    "beside a sum": ("self.add_loss(ops.sum(ops.abs(z)))", {**PLAIN, "loss": 'keras.losses.MeanSquaredError(reduction="sum")'}),
    "alone": ("self.add_loss(ops.sum(ops.abs(z)))", {**PLAIN, "loss": "None"}),
    "a statistic of the batch": ("self.add_loss(ops.sum(ops.square(ops.mean(z, axis=0))))", PLAIN),
}


@pytest.mark.parametrize(("lines", "how"), RIGHT.values(), ids=RIGHT)
def test_what_does_not_grow_with_the_batch_is_clean(tmp_path, lines, how):
    assert not [one for one in serious(traced(tmp_path, MODEL.format(lines=lines, **how))) if one.rule != "no-loss"]
