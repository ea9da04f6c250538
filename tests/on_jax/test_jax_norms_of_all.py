"""Norms of a whole batch where each sample's is meant: in the similarity of a loss, and in the penalty of a gradient."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

ALIKE = """
def loss(y, p):
    y, z = ops.reshape(y, (-1, 1)), {z}
    same = ops.cast(ops.equal(y, ops.transpose(y)), "float32")
    return -ops.mean(same * ops.log_softmax(ops.matmul(z, ops.transpose(z)) / 0.1))

def build():
    model = keras.Sequential([keras.Input((20,)), layers.Dense(8)])
    model.compile("sgd", loss)
    return model

def data():
    return np.zeros((64, 20), "float32"), np.arange(64) % 5
"""


@pytest.mark.parametrize(
    ("z", "fixed"),
    [
        ("p / ops.norm(p)", "p / ops.norm(p, axis=-1, keepdims=True)"),
        ("p / ops.norm(p, axis=0)", "p / ops.norm(p, axis=-1, keepdims=True)"),
        ("p / ops.sqrt(ops.sum(ops.square(p)))", "p / ops.sqrt(ops.sum(ops.square(p), axis=-1, keepdims=True))"),
        ("p * ops.rsqrt(ops.sum(p * p) + 1e-6)", "p * ops.rsqrt(ops.sum(p * p, axis=-1, keepdims=True) + 1e-6)"),
    ],
)
def test_each_sample_is_divided_by_its_own_norm_before_samples_are_compared(tmp_path, z, fixed):
    assert fixed in first(tmp_path, ALIKE.format(z=z), "samples-summed")
    assert not serious(traced(tmp_path, ALIKE.format(z=fixed)))


def test_a_scale_of_the_whole_batch_is_none_of_a_sample(tmp_path):
    assert not serious(traced(tmp_path, ALIKE.format(z="p / ops.std(p)")))


PENALTY = """
class Critic(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([layers.Flatten(), layers.Dense(8), layers.LeakyReLU(), layers.Dense(1)])
    def call(self, x):
        return self.net(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        g = {g}
        return jnp.mean(y_pred) + {penalty}

def build():
    model = Critic()
    model.compile("sgd")
    return model

def data():
    return np.random.default_rng(0).normal(size=(64, *{shape})).astype("float32")
"""
GRAD, FLAT, MAPS = "jax.grad(lambda points: jnp.sum(self.net(points)))(x)", "(16,)", "(8, 8, 3)"


@pytest.mark.parametrize(
    ("penalty", "shape", "fixed"),
    [
        ("jnp.mean((jnp.sqrt(jnp.sum(g**2)) - 1.0) ** 2)", FLAT, "jnp.mean((jnp.sqrt(jnp.sum(g**2, axis=1)) - 1.0) ** 2)"),
        ("(jnp.linalg.norm(g) - 1.0) ** 2", FLAT, "ops.mean((jnp.linalg.norm(g, axis=1) - 1.0) ** 2)"),
        (
            "ops.square(ops.sqrt(ops.sum(ops.square(g)) + 1e-6) - 1.0)",
            MAPS,
            "ops.mean(ops.square(ops.sqrt(ops.sum(ops.square(g), axis=(1, 2, 3)) + 1e-6) - 1.0))",
        ),
        ("jnp.mean((ops.norm(g) - 1.0) ** 2)", MAPS, "jnp.mean((ops.norm(ops.reshape(g, (g.shape[0], -1)), axis=1) - 1.0) ** 2)"),
    ],
)
def test_a_penalty_takes_the_norm_of_each_samples_gradient(tmp_path, penalty, shape, fixed):
    assert fixed in first(tmp_path, PENALTY.format(g=GRAD, penalty=penalty, shape=shape), "samples-summed")
    assert not serious(traced(tmp_path, PENALTY.format(g=GRAD, penalty=fixed, shape=shape)))


@pytest.mark.parametrize(
    ("g", "penalty"),
    [
        ("jax.vmap(jax.grad(lambda point: self.net(point[None])[0, 0]))(x)", "jnp.mean((jnp.linalg.norm(g, axis=-1) - 1.0) ** 2)"),
        ("jax.vmap(lambda p: jnp.linalg.norm(jax.grad(lambda q: self.net(q[None])[0, 0])(p)))(x)", "jnp.mean((g - 1.0) ** 2)"),
        (GRAD, "5.0 * jnp.mean(jnp.sum(g**2, axis=1))"),
        ("self.net.layers[1].kernel", "(ops.sqrt(ops.sum(ops.square(g))) - 1.0) ** 2"),
    ],
)
def test_norms_of_samples_and_of_weights_are_as_meant(tmp_path, g, penalty):
    assert not serious(traced(tmp_path, PENALTY.format(g=g, penalty=penalty, shape=FLAT)))
