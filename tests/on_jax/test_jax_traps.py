"""Numbers that go wrong without an error: gradients that are NaN or cancel, random numbers that repeat, and dtypes that lose values."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from strangers import HEAD, serious, traced

OWN = """
@jax.custom_vjp
def clipped(x, most):
    return x

{rule}

class Own(layers.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.seed = keras.random.SeedGenerator(1)
    def build(self, shape):
        self.table = self.add_weight(shape=({rows}, 4), name="table")
    def call(self, x):
{call}

def build():
    inputs = keras.Input({shape}{dtype})
    x = {first}
    x = layers.Flatten()(Own({options})(x))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((24, *{shape}), "{fed}"), np.zeros((24, 1), "float32")
"""
RULE = "clipped.defvjp(lambda x, most: (x, most), lambda most, g: (jnp.clip(g, -most, most), None))"
IDS = {"first": "inputs", "options": 'dtype="mixed_bfloat16"', "shape": (5,)}
BYTES = {"first": "inputs", "options": 'dtype="float32"', "dtype": ', dtype="uint8"', "fed": "uint8"}


def own(*lines, **how):
    given = {"rule": RULE, "rows": 1000, "shape": (5, 4), "dtype": "", "first": "layers.Dense(4)(inputs)", "options": "", "fed": "float32"} | how
    return OWN.format(call="\n".join(f"        {line}" for line in lines), **given)


FAULTS = {
    "a logarithm in the other branch": ("where-gradient", own("return ops.where(x == 0, 0.0, ops.log(x))"), "ops.log(ops.where(x == 0, 1.0, x))"),
    "a division behind a mask with a name": ("where-gradient", own("near = x > 0", "return jnp.where(near, 1.0 / x, 0.0)"), "1.0 / jnp.where(near, x, 1.0)"),
    "a value with a name": (
        "where-gradient",
        own("root = jnp.sqrt(x)", "return jnp.where(x > 1e-12, root, 0.0)"),
        "root = jnp.sqrt(jnp.where(x > 1e-12, x, 1.0))",
    ),
    "the other term first": (
        "gradient-cancels",
        own("soft = ops.softmax(x)", "return ops.stop_gradient(ops.round(soft)) + soft - soft"),
        "soft + ops.stop_gradient(ops.round(soft) - soft)",
    ),
    "a loop with numbers of its steps": (
        "key-in-loop",
        own("key = self.seed.next()", "def step(i, z):", "    return z + 0.1 * jax.random.normal(key, z.shape)", "return jax.lax.fori_loop(0, 3, step, x)"),
        "jax.random.normal(jax.random.fold_in(key, i), z.shape)",
    ),
    "a scan that counts": (
        "key-in-loop",
        own(
            "key = self.seed.next()",
            "def step(z, i):",
            "    return 0.9 * z + jax.random.uniform(key, z.shape), z",
            "return jax.lax.scan(step, x, jnp.arange(4))[0]",
        ),
        "jax.lax.scan(step, x, jax.random.split(key, 4))[0]",
    ),
    "a function that subtracts": (
        "unsigned-difference",
        own('return ops.cast(jnp.subtract(x[:, 1:], x[:, :-1]), "float32")', **BYTES),
        'jnp.subtract(ops.cast(x[:, 1:], "float32"), ops.cast(x[:, :-1], "float32"))',
    ),
    "rows in brackets": ("ids-rounded", own('return ops.convert_to_tensor(self.table)[ops.cast(x, "int32")]', **IDS), 'keras.Input((5,), dtype="int32")'),
    "a reversal": ("shift-across-samples", own("return x + jnp.flip(x)"), "jnp.flip(x, axis=1)"),
    "a shift of keras": ("shift-across-samples", own("return x + ops.roll(x, 2)"), "ops.roll(x, 2, axis=1)"),
    "a backward function with one gradient of two": (
        "backward-raises",
        own("return clipped(x, 0.1)", rule="def back(most, g):\n    return jnp.clip(g, -most, most)\nclipped.defvjp(lambda x, most: (x, most), back)"),
        "return (jnp.clip(g, -most, most), None)",
    ),
}


@pytest.mark.parametrize(("rule", "code", "written"), FAULTS.values(), ids=FAULTS)
def test_what_goes_wrong_is_told_at_its_line_and_mended_in_the_text(tmp_path, rule, code, written):
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule == rule
    assert finding.location is not None
    assert finding.fixes[0].verified and finding.fixes[0].proof == "source"
    assert written in finding.fixes[0].patch


RIGHT = {
    "a second where": own("return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)"),
    "a choice of what has a slope": own("return jnp.where(x > 0, x, 0.1 * (jnp.exp(x) - 1.0))"),
    "a count of the data, which is not trained": own("n = ops.sum(x, axis=-1, keepdims=True)", "return ops.where(n > 0, x / n, 0.0)", first="inputs"),
    "a difference inside": own("return x + ops.stop_gradient(ops.round(x) - x)"),
    "a difference outside, with the gradient": own("return ops.stop_gradient(ops.round(x)) - ops.stop_gradient(x) + x"),
    "keys that change with the step": own(
        "key = self.seed.next()", "step = lambda i, z: z + jax.random.normal(jax.random.fold_in(key, i), z.shape)", "return jax.lax.fori_loop(0, 3, step, x)"
    ),
    "one mask for all steps": own(
        "key = self.seed.next()", "step = lambda i, z: z * jax.random.bernoulli(key, 0.9, z.shape)", "return jax.lax.fori_loop(0, 3, step, x)"
    ),
    "bytes from a number": own('return ops.cast(255 - x, "float32")', **BYTES),
    "a table that bfloat16 can count": own("return ops.take(self.table, ops.cast(x, 'int32'), axis=0)", rows=200, **IDS),
    "ids that no layer casts": own("return ops.take(self.table, ops.cast(x, 'int32'), axis=0)", **IDS, dtype=', dtype="int32"'),
    "the next sample, on purpose": own("return x - jnp.roll(x, 1, axis=0)"),
    "a weight that is shifted": own("return x + ops.mean(ops.roll(self.table, 1))"),
    "a gradient for each argument": own("return clipped(x, 0.1)"),
}
RULES = {rule for rule, _, _ in FAULTS.values()}


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_what_is_right_or_meant_is_not_reported(tmp_path, code):
    assert not [one for one in traced(tmp_path, code).findings if one.rule in RULES]


def test_a_hidden_root_makes_weights_nan_in_a_real_step(tmp_path):
    for text, is_lost in (("jnp.sqrt(x)", True), ("jnp.sqrt(jnp.where(x > 0, x, 1.0))", False)):
        scope = {"__name__": "program"}
        exec(HEAD + own(f"return jnp.where(x > 0, {text}, 0.0)", first='layers.Dense(4, kernel_initializer="zeros")(inputs)'), scope)
        model = scope["build"]()
        model.fit(*scope["data"](), verbose=0)
        assert np.isnan(model.layers[1].get_weights()[0]).any() == is_lost
    keras.utils.clear_session()
