"""Weights of an attention that sum to 1 along the queries, and what looks alike and is meant."""

from __future__ import annotations

import pytest
from strangers import serious, traced

OWN = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = layers.Dense(16), layers.Dense(16), layers.Dense(16)
        self.drop, self.soft, self.few = layers.Dropout(0.1), layers.Softmax(axis=1), layers.Dense(4)
    def split(self, x):
        return ops.transpose(ops.reshape(x, (ops.shape(x)[0], -1, 4, 4)), (0, 2, 1, 3))
    def call(self, x):
{body}

def build():
    inputs = keras.Input((12, 16))
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(inputs + Own()(inputs)))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return np.random.default_rng(0).normal(size=(20, 12, 16)).astype("float32"), np.zeros((20, 1), "float32")
"""


def own(*lines):
    return OWN.format(body="\n".join(f"        {line}" for line in lines))


@pytest.mark.parametrize(("lines", "fixed"), [
    (("s = jnp.einsum('bqd,bkd->bqk', self.q(x), self.k(x)) / 4.0", "w = jax.nn.softmax(s, axis=1)", "return jnp.einsum('bqk,bkd->bqd', w, self.v(x))"),
     "w = jax.nn.softmax(s, axis=-1)"),
    (("q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))", "s = q @ ops.transpose(k, (0, 1, 3, 2)) / 2.0",
      "s = jnp.where(jnp.tril(jnp.ones((12, 12), bool)), s, -1e9)", "o = self.drop(ops.softmax(s, axis=-2)) @ v",
      "return ops.reshape(ops.transpose(o, (0, 2, 1, 3)), ops.shape(x))"),
     "o = self.drop(ops.softmax(s, axis=-1)) @ v"),
    # Along the heads.
    (("q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))", "s = q @ ops.transpose(k, (0, 1, 3, 2)) / 2.0",
      "o = self.drop(ops.softmax(s, axis=1)) @ v", "return ops.reshape(ops.transpose(o, (0, 2, 1, 3)), ops.shape(x))"),
     "o = self.drop(ops.softmax(s, axis=-1)) @ v"),
    (("w = self.soft(ops.matmul(self.q(x), ops.swapaxes(self.k(x), 1, 2)))", "return ops.matmul(w, self.v(x))"), "layers.Softmax(axis=-1)"),
    (("w = ops.softmax(ops.einsum('bqd,bkd->bkq', self.q(x), self.k(x)))", "return ops.einsum('bkq,bkd->bqd', w, self.v(x))"),
     "w = ops.softmax(ops.einsum('bqd,bkd->bkq', self.q(x), self.k(x)), axis=1)"),
])  # fmt: skip
def test_a_softmax_runs_along_what_the_product_sums(tmp_path, lines, fixed):
    (finding,) = serious(traced(tmp_path, own(*lines)))
    assert finding.rule == "softmax-axis"
    assert finding.fixes[0].proof == "source"
    assert fixed in finding.fixes[0].patch
    mended = own(*(fixed if fixed.partition(" = ")[0] == line.partition(" = ")[0] and "softmax" in line else line for line in lines))
    assert not serious(traced(tmp_path, mended.replace("layers.Softmax(axis=1)", "layers.Softmax(axis=-1)")))


@pytest.mark.parametrize("lines", [
    # Heads are chosen by their scores, and added up.
    ("q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.v(x)", "s = q @ ops.transpose(k, (0, 1, 3, 2)) / 2.0",
     "w = ops.sum(ops.softmax(s, axis=1) * ops.softmax(s, axis=-1), axis=1)", "return ops.einsum('bqk,bkd->bqd', w, v)"),
    # By its keys, in whatever order the scores have.
    ("w = ops.softmax(ops.einsum('bqd,bkd->bkq', self.q(x), self.k(x)), axis=1)", "return ops.einsum('bkq,bkd->bqd', w, self.v(x))"),
    # Slots compete for each input, and each slot then takes an average; divided before or behind.
    ("w = ops.softmax(ops.einsum('bqd,bkd->bqk', self.q(x), self.k(x)), axis=1)", "w = w / ops.sum(w, axis=2, keepdims=True)",
     "return ops.einsum('bqk,bkd->bqd', w, self.v(x))"),
    ("w = ops.softmax(ops.einsum('bqd,bkd->bqk', self.q(x), self.k(x)), axis=1)",
     "return ops.einsum('bqk,bkd->bqd', w, self.v(x)) / ops.sum(w, axis=2, keepdims=True)"),
    # Linear attention.
    ("q, k = ops.softmax(self.q(x), axis=-1), ops.softmax(self.k(x), axis=1)", "return q @ ops.einsum('bnd,bne->bde', k, self.v(x))"),
    # Soft assignments to clusters, which a layer computes.
    ("s = ops.softmax(self.few(x), axis=-1)", "pooled = ops.einsum('bnk,bnd->bkd', s, self.v(x))", "return ops.einsum('bnk,bkd->bnd', s, pooled)"),
    # Both ways between two sequences.
    ("s = self.q(x) @ ops.swapaxes(self.k(x), 1, 2)", "a = ops.softmax(s, axis=2) @ x", "b = ops.swapaxes(ops.softmax(s, axis=1), 1, 2) @ x",
     "return a + b"),
])  # fmt: skip
def test_what_is_meant_is_not_reported(tmp_path, lines):
    assert not serious(traced(tmp_path, own(*lines)))
