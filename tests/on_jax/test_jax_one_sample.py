"""Networks that a mapped function calls on one sample, as programs for differential equations do."""

from __future__ import annotations

import pytest
from strangers import serious, traced

POINTS = """
class Field(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([{0}layers.Dense(16, "tanh"), layers.Dense(1)])
    def call(self, x):
        return {1}
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean((y - y_pred) ** 2) + {2}
def build():
    model = Field()
    model.compile("adam")
    return model
def data():
    return np.random.rand(64, 2).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
INPUT, CALL = "keras.Input((2,)), ", "self.net(x)"
DERIVED = "ops.mean(jax.vmap(jax.grad(lambda p: self.net({0})[{1}]))(x) ** 2)"
CURVED = "ops.mean(jax.vmap(jax.hessian(lambda p: self.net(p)[0]))(x) ** 2)"
CASES = {
    "a gradient": (INPUT, CALL, DERIVED.format("p", "0"), "self.net(p[None])[0][0]"),
    "of a network built late": ("", CALL, DERIVED.format("p", "0"), "self.net(p[None])[0][0]"),
    "a second one": (INPUT, CALL, CURVED, "self.net(p[None])[0][0]"),
    "a call": (INPUT, "jax.vmap(lambda p: self.net(p))(x)", "0.0", "self.net(p[None])[0]"),
    "the network itself": (INPUT, "jax.vmap(self.net)(x)", "0.0", "return self.net(x)"),
    "that is built late": ("", "jax.vmap(self.net)(x)", "0.0", "return self.net(x)"),
}


@pytest.mark.parametrize(("first", "call", "loss", "new"), CASES.values(), ids=CASES)
def test_a_network_that_gets_one_sample_gets_a_batch_of_it(tmp_path, first, call, loss, new):
    (finding,) = serious(traced(tmp_path, POINTS.format(first, call, loss)))
    assert (type(finding.fact).__name__, finding.fact.shape) == ("OneMapped", (2,))
    assert "self.net" in finding.location.text
    assert finding.fixes[0].proof == "source"
    assert new in finding.fixes[0].patch
    # A reshape in front of the network would take each number for a sample.
    assert not any("Reshape" in fix.patch for fix in finding.fixes)


def test_the_same_with_a_batch_is_ok(tmp_path):
    assert traced(tmp_path, POINTS.format(INPUT, CALL, DERIVED.format("p[None]", "0, 0"))).ok


def test_a_network_that_breaks_in_the_loss_is_no_loss(tmp_path):
    (finding,) = serious(traced(tmp_path, POINTS.format(INPUT, CALL, "ops.mean(self.net(x[0]))")))
    assert finding.rule == "layer-raises"
    assert "labels" not in finding.message
