"""A Sequential model that is built at its first call: Keras infers its shapes apart, and what breaks there is told as anywhere else."""

from __future__ import annotations

import pytest
from strangers import serious, traced

AROUND = """
def build():
    model = keras.Sequential([{first}Own(), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 20), "int32"), np.zeros((32, 1), "float32")
"""
POSITIONS = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.longest = 64
        self.tokens, self.positions = layers.Embedding(100, 8), layers.Embedding(64, 8)
    def call(self, x):
        return self.tokens(x) + self.positions(ops.arange(self.longest))
"""


@pytest.mark.parametrize("first", ["", "keras.Input((20,)), "])
def test_the_operation_inside_is_named_with_its_fix(tmp_path, first):
    (finding,) = serious(traced(tmp_path, POSITIONS + AROUND.format(first=first)))
    assert finding.rule == "op-shapes"
    assert (finding.fact.reason.left, finding.fact.reason.right) == (20, 64)
    assert finding.fixes[0].proof == "source"
    assert "+        return self.tokens(x) + self.positions(ops.arange(ops.shape(x)[1]))" in finding.fixes[0].patch
    assert finding.fact.node.op == "AddV2"


STATES = """
class Own(layers.Layer):
    def build(self, shape):
        self.inward = self.add_weight(shape=(shape[-1], 16))
    def call(self, x):
        steps = ops.matmul(x, self.inward)
        def step(state, now):
            state = 0.5 * state + now
            return state, state
        _, states = jax.lax.scan(step, jnp.zeros((x.shape[0], 16)), steps)
        return states
"""


def test_a_loop_over_the_samples_is_told_where_jax_has_let_go_of_its_argument(tmp_path):
    around = AROUND.format(first="").replace('np.zeros((32, 20), "int32")', 'np.zeros((32, 20, 5), "float32")')
    (finding,) = serious(traced(tmp_path, STATES + around))
    assert type(finding.fact.reason).__name__ == "ScanRows"
    assert finding.fixes[0].proof == "source"
    assert "jax.lax.scan(step, jnp.zeros((x.shape[0], 16)), jnp.swapaxes(steps, 0, 1))" in finding.fixes[0].patch
    assert "+        states = jnp.swapaxes(states, 0, 1)" in finding.fixes[0].patch
