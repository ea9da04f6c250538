"""A step of a loop that joins its input to the state and returns that, beside what it computes of it."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

MODEL = """
class Memory(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(8 + shape[-1], 8), name="w")
    def call(self, x):
        w = ops.convert_to_tensor(self.w)
        def step(h, xt):
            {joined}
            {made}
            return {ends}
        _, ys = {scan}(step, jnp.zeros((x.shape[0], 8)), jnp.swapaxes(x, 0, 1))
        return jnp.swapaxes(ys, 0, 1)

def build():
    model = keras.Sequential([keras.Input((6, 5)), Memory(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 6, 5), "float32"), np.zeros((32, 6, 1), "float32")
"""
JOINED = {"joined": "h = jnp.concatenate([h, xt], axis=-1)", "made": "y = jnp.tanh(h @ w)", "ends": "h, y"}


@pytest.mark.parametrize("scan", ["jax.lax.scan", "ops.scan"])
def test_what_the_step_computes_is_the_next_state(tmp_path, scan):
    assert "return y, y" in first(tmp_path, MODEL.format(scan=scan, **JOINED), "op-shapes")
    assert not serious(traced(tmp_path, MODEL.format(scan=scan, **JOINED | {"ends": "y, y"})))


def test_an_output_of_the_input_alone_is_no_state(tmp_path):
    code = MODEL.format(scan="ops.scan", **JOINED | {"made": "y = jnp.tanh(xt @ w[8:])"})
    (finding,) = serious(traced(tmp_path, code))
    assert not any("as the next state" in fix.title for fix in finding.fixes)
