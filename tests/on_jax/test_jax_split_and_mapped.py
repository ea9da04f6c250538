"""Axes that a reshape splits and another one joins, rows joined along the batch, heads moved before the steps, and one key for all samples under vmap."""

from __future__ import annotations

import pytest
from strangers import serious, traced

PROGRAM = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(1)
        self.dense = layers.Dense({shape}[-1])
    def build(self, shape):
        self.dense.build(shape)
    def call(self, x):
        key = self.seed.next()
{lines}
def build():
    inputs = keras.Input({shape})
    model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(Own()(inputs))))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((32, *{shape}), "float32"), np.zeros((32, 1), "float32")
"""


def program(shape, *lines):
    return PROGRAM.format(shape=shape, lines="".join(f"        {line}\n" for line in lines))


def check(tmp_path, text, rule, patched):
    (finding,) = serious(traced(tmp_path, text))
    assert (finding.rule, finding.severity) == (rule, "silent")
    assert finding.fixes[0].proof == "source"
    assert patched in finding.fixes[0].patch


SPLIT = "x = x.reshape(x.shape[0], {0} // 4, 4, {0} // 4, 4, 3)"
APART = {
    "windows in the batch": ((12, 12, 3), "return x.reshape(-1, 16, 3).reshape(-1, 9, 16, 3)"),
    "windows of equal sizes": ((16, 16, 3), "return ops.reshape(x, (-1, 16, 48))"),
    "blocks to channels": ((12, 12, 3), "return ops.reshape(x, (-1, 3, 3, 48))"),
}


@pytest.mark.parametrize(("shape", "last"), APART.values(), ids=APART)
def test_a_reshape_after_a_split_needs_a_transpose(tmp_path, shape, last):
    text = program(shape, SPLIT.format(shape[0]), last)
    check(tmp_path, text, "reshape-interleaves", "transpose(x, (0, 1, 3, 2, 4, 5))")
    right = program(shape, SPLIT.format(shape[0]), "x = jnp.transpose(x, (0, 1, 3, 2, 4, 5))", last)
    assert traced(tmp_path, right).ok


def test_rows_that_are_joined_and_split_again_keep_their_order(tmp_path):
    lines = "r = x.reshape(-1, 4, 48, 3)", "r = r.reshape(-1, 48, 3)", "r = r.reshape(-1, 4, 4, 12, 3)", "return r.reshape(-1, 16, 12, 3)"
    assert traced(tmp_path, program((16, 12, 3), *lines)).ok


SIDES = {"by name": "z = jnp.concatenate([x[:, :4], x[:, 4:]], axis=0)", "by default": "z = jnp.concatenate((x[:, :4], x[:, 4:]))"}


@pytest.mark.parametrize("line", SIDES.values(), ids=SIDES)
def test_halves_joined_along_the_batch_are_not_the_rows_of_samples(tmp_path, line):
    check(tmp_path, program((8,), line, "return z.reshape(x.shape[0], 8)"), "rows-regrouped", "axis=-1")


RIGHT = {
    "taken apart as joined": "z = ops.transpose(ops.reshape(jnp.concatenate([x[:, :4], x[:, 4:]]), (2, -1, 4)), (1, 0, 2))",
    "stacked for each sample": "z = ops.reshape(ops.stack([x[:, :4], x[:, 4:]], axis=1), (-1, 4))",
    "in chunks": "z = jnp.tanh(ops.reshape(x, (-1, 2)))",
}


@pytest.mark.parametrize("line", RIGHT.values(), ids=RIGHT)
def test_rows_of_samples_in_their_order(tmp_path, line):
    assert traced(tmp_path, program((8,), line, "return ops.reshape(z, (-1, 8))")).ok


HEADS = "q = ops.reshape(self.dense(x), (-1, 20, 3, 8))"
BACK = "return ops.reshape(y, (-1, 20, 24))"


def test_fused_attention_takes_the_steps_before_the_heads(tmp_path):
    turned = HEADS, "q = jnp.swapaxes(q, 1, 2)", "y = jax.nn.dot_product_attention(q, q, q, is_causal=True)", "y = y.swapaxes(1, 2)", BACK
    check(tmp_path, program((20, 24), *turned), "reshape-interleaves", "dot_product_attention(ops.swapaxes(q, 1, 2), ops.swapaxes(q, 1, 2)")
    assert traced(tmp_path, program((20, 24), HEADS, "y = ops.dot_product_attention(q, q, q)", BACK)).ok


DRAWS = {
    "a mask": "return jax.vmap(lambda s, k: s * jax.random.bernoulli(k, 0.7, (s.shape[-1],)), in_axes=(0, None))(x, key)",
    "one number": "return jax.vmap(lambda s, k: s + jax.random.uniform(k, ()), (0, None))(x, key)",
    "held by a name": "f = jax.vmap(lambda k, s: jnp.where(jax.random.bernoulli(k, 0.7, s.shape[:1])[:, None], s, 0.0), in_axes=(None, 0)); return f(key, x)",
}


@pytest.mark.parametrize("line", DRAWS.values(), ids=DRAWS)
def test_one_key_for_all_samples_is_split(tmp_path, line):
    check(tmp_path, program((12, 14), line), "noise-shared", "jax.random.split(key, x.shape[:1])")


MEANT = {
    "a key for each": "return jax.vmap(lambda s, k: s * jax.random.bernoulli(k, 0.7, s.shape))(x, jax.random.split(key, x.shape[0]))",
    "one mask for all steps": "return jax.vmap(lambda s, k: s * jax.random.bernoulli(k, 0.7, s.shape), in_axes=(1, None), out_axes=1)(x, key)",
    "folded in": "return jax.vmap(lambda s, i: s + jax.random.normal(jax.random.fold_in(key, i), s.shape))(x, jnp.arange(x.shape[0]))",
}


@pytest.mark.parametrize("line", MEANT.values(), ids=MEANT)
def test_keys_that_differ_or_are_meant_to_be_shared(tmp_path, line):
    assert traced(tmp_path, program((12, 14), line)).ok
