"""Functions that are compiled, chosen or derived by themselves: jit, cond and grad inside a step."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced
from test_jax_steps import repaired

DATA = AROUND.format(shape=(6,), rows="").replace("np.zeros((64, *(6,)), ", "np.random.rand(64, 6).astype(")
METHOD = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.beta = 1.5
    {0}
    def call(self, x):
        return x * jax.nn.sigmoid(self.beta * x)
"""
HELPER = """
{0}
def scaled(x, mode):
    return jnp.tanh(x) if mode == "tanh" else x
class Own(layers.Layer):
    def call(self, x):
        return scaled(x, "tanh")
"""


def test_a_method_needs_no_jit_of_its_own(tmp_path):
    patch, _ = repaired(tmp_path, METHOD.format("@jax.jit") + DATA, "code-raises")
    assert "-    @jax.jit" in patch
    assert "+" not in patch.replace("+++", "").replace(" +", "").split("@jax.jit")[1]


def test_a_name_for_a_compiled_function_is_static(tmp_path):
    code = HELPER.format("@jax.jit") + DATA
    patch, _ = repaired(tmp_path, code, "code-raises")
    assert '+@functools.partial(jax.jit, static_argnames="mode")' in patch


@pytest.mark.parametrize("decorator", ["", "import functools\n@functools.partial(jax.jit, static_argnames='mode')"], ids=["plain", "static"])
def test_the_same_as_it_should_be_is_ok(tmp_path, decorator):
    assert traced(tmp_path, HELPER.format(decorator) + DATA).ok


CHOSEN = {
    "lambdas of JAX": (
        "jax.lax.cond(ops.mean(x, axis=-1) > 0, lambda v: v * 2.0, lambda v: v - 1.0, x)",
        "ops.where((ops.mean(x, axis=-1) > 0)[:, None], x * 2.0, x - 1.0)",
    ),
    "functions": ("jax.lax.cond(x > 0, jnp.tanh, jnp.sin, x)", "ops.where(x > 0, jnp.tanh(x), jnp.sin(x))"),
}


@pytest.mark.parametrize(("call", "new"), CHOSEN.values(), ids=CHOSEN)
def test_a_condition_for_each_sample_chooses_with_where(tmp_path, call, new):
    code = f"class Own(layers.Layer):\n    def call(self, x):\n        return {call}\n" + DATA
    patch, _ = repaired(tmp_path, code, "op-shapes")
    assert f"+        return {new}" in patch


DERIVED = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([keras.Input((2,)), layers.Dense(8, activation="tanh"), layers.Dense({units})])
    def call(self, x):
        return jax.grad({function})(x)
def build():
    model = Net()
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(64, 2).astype("float32"), np.random.rand(64, 2).astype("float32")
"""


@pytest.mark.parametrize("function", ["self.net", "lambda p: self.net(p)[:, 0]"], ids=["a model", "a lambda"])
def test_the_derivative_by_a_batch_is_that_of_the_sum(tmp_path, function):
    (finding,) = serious(traced(tmp_path, DERIVED.format(units=1, function=function)))
    applied = f"({function})" if function.startswith("lambda") else function
    assert (finding.rule, finding.fixes[0].proof) == ("op-shapes", "source")
    assert f"+        return jax.grad(lambda values: ops.sum({applied}(values)))(x)" in finding.fixes[0].patch


def test_several_values_for_each_sample_have_a_jacobian(tmp_path):
    (finding,) = serious(traced(tmp_path, DERIVED.format(units=3, function="self.net")))
    assert not any(fix.verified for fix in finding.fixes)


def test_an_error_that_is_not_about_shapes_blames_none(tmp_path):
    code = "class Own(layers.Layer):\n    def call(self, x):\n        return jnp.tanh(x).missing\n" + DATA
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule in ("code-raises", "layer-raises")
    assert "does not accept" not in finding.message
