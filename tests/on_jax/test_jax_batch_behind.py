"""A layer that steps through time and returns the steps first: the batch is behind them, and what follows takes the steps for samples."""

from __future__ import annotations

import pytest
from strangers import serious, traced

GRU = """
class MinGRU(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
    def build(self, shape):
        self.wz = self.add_weight(shape=(shape[-1], self.units))
    def call(self, x):
        xs = jnp.swapaxes(x, 0, 1)
        z = jax.nn.sigmoid(xs @ self.wz.value)
        def step(h, z):
            h = 0.5 * h + z
            return h, h
        _, hs = jax.lax.scan(step, jnp.zeros((x.shape[0], self.units), x.dtype), z)
        return hs
class Last(keras.Model):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = MinGRU(20), layers.Dense(1)
    def call(self, x):
        {}
def build():
    model = {}
    model.compile("rmsprop", "mae")
    return model
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(64, {}, 3)).astype("float32"), rng.normal(size=(64, 1)).astype("float32")
"""
LAST = "return self.head(self.rnn(x)[:, -1])"
INLINE = """xs = jnp.swapaxes(x, 0, 1)
        _, hs = jax.lax.scan(lambda h, t: (h + t, h + t), jnp.zeros_like(xs[0]), xs)
        return self.head(jnp.mean(hs, axis=1))"""
POOLED = "keras.Sequential([MinGRU(20), layers.Dense(8), layers.GlobalAveragePooling1D(), layers.Dense(1)])"
RETURNED = "+        return ops.swapaxes(hs, 0, 1)\n"
PROGRAMS = {
    "a step of a layer's": (LAST, "Last()", 30, RETURNED, "error"),
    "through other layers": (LAST, POOLED, 30, RETURNED, "error"),
    "as many steps as samples": (LAST, "Last()", 32, RETURNED, "silent"),
    "in the model's own call": (INLINE, "Last()", 30, "+        return self.head(jnp.mean(ops.swapaxes(hs, 0, 1), axis=1))", "error"),
}


@pytest.mark.parametrize(("call", "model", "steps", "line", "severity"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_batch_comes_back_to_the_front(tmp_path, call, model, steps, line, severity):
    (finding,) = serious(traced(tmp_path, GRU.format(call, model, steps)))
    assert (finding.rule, finding.severity, finding.fact.axis) == ("batch-axis-lost", severity, 1)
    assert finding.fixes[0].verified
    assert line in finding.fixes[0].patch.replace("keras.ops", "ops")


@pytest.mark.parametrize("steps", [30, 32])
def test_the_last_step_of_steps_that_come_first_is_right(tmp_path, steps):
    assert not serious(traced(tmp_path, GRU.format("return self.head(self.rnn(x)[-1])", "Last()", steps)))
