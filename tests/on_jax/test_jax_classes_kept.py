"""Programs of strangers: classes that stay, arguments that are the same in each turn, letters and axes that an operand does not have."""

from __future__ import annotations

import pytest
from strangers import serious, traced

SMOOTHED = """
def smooth(y_true, y_pred, eps=0.1, classes=6):
    y = {encoded}
    return -jnp.sum(y * jax.nn.log_softmax(y_pred), axis=-1)
def build():
    inputs = keras.Input((8,))
    model = keras.Model(inputs, {{"kind": layers.Dense(6, name="kind")(inputs), "digit": layers.Dense(10, name="digit")(inputs)}})
    model.compile("adam", {{"kind": smooth, "digit": smooth}})
    return model
def data():
    return np.zeros((64, 8), "float32"), {{"kind": np.arange(64) % 6, "digit": np.arange(64) % 10}}
"""


def test_a_smoothed_encoding_has_as_many_classes_as_the_scores(tmp_path):
    encoded = 'jax.nn.one_hot(ops.cast(y_true, "int32"), classes) * (1 - eps) + eps / classes'
    fix = serious(traced(tmp_path, SMOOTHED.format(encoded=encoded)))[0].fixes[0]
    assert fix.proof == "source"
    assert 'jax.nn.one_hot(ops.cast(y_true, "int32"), y_pred.shape[-1]) * (1 - eps) + eps / y_pred.shape[-1]' in fix.patch


def test_an_output_keeps_the_classes_that_its_labels_have(tmp_path):
    encoded = 'jnp.take(jnp.eye(10)[:, :classes], ops.cast(y_true, "int32"), axis=0)'
    found = serious(traced(tmp_path, SMOOTHED.format(encoded=encoded)))[0].fixes
    assert not any(fix.verified and "units=6 on digit" in fix.title for fix in found)


ENSEMBLE = """
class Ensemble(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(5, shape[-1], 4), name="w")
        self.b = self.add_weight(shape=(5, 4), name="b")
    def call(self, x):
        return jnp.mean(jax.vmap(lambda w, b, x: x @ w + b{axes})(self.w.value, self.b.value, x), axis=0)
def build():
    model = keras.Sequential([keras.Input((7,)), Ensemble(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 7), "float32"), np.zeros((64, 1), "float32")
"""


def test_one_argument_of_three_is_the_same_in_each_turn(tmp_path):
    (finding,) = serious(traced(tmp_path, ENSEMBLE.format(axes="")))
    assert finding.fixes[0].proof == "source"
    assert "in_axes=(0, 0, None)" in finding.fixes[0].patch
    assert traced(tmp_path, ENSEMBLE.format(axes=", in_axes=(0, 0, None)")).ok


LATENT = """
class Latent(layers.Layer):
    def build(self, shape):
        self.q = self.add_weight(shape=(8, shape[-1]), name="q")
    def call(self, x):
        return jnp.einsum("{letters},bsd->bns", self.q.value, x)
def build():
    model = keras.Sequential([keras.Input((50, 12)), Latent(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 50, 12), "float32"), np.zeros((64, 8, 1), "float32")
"""


def test_a_table_has_no_letter_for_the_batch(tmp_path):
    (finding,) = serious(traced(tmp_path, LATENT.format(letters="bnd")))
    assert finding.fixes[0].proof == "source"
    assert '"nd,bsd->bns"' in finding.fixes[0].patch
    assert traced(tmp_path, LATENT.format(letters="nd")).ok


REWARDS = """
class Later(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        {lines}
        return jnp.mean((togo - y_pred[..., 0]) ** 2)
def build():
    inputs = keras.Input((9, 5))
    model = Later(inputs, layers.Dense(1)(inputs))
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 9, 5), "float32"), np.zeros((64, 9), "float32")
"""
FLATTENED = {
    "in one": "togo = jnp.flip(jnp.cumsum(jnp.flip(y, axis=1)), axis=1)",
    "by name": "total = jnp.cumsum(jnp.flip(y, axis=1))\n        togo = jnp.flip(total, axis=1)",
}


@pytest.mark.parametrize("lines", FLATTENED.values(), ids=FLATTENED)
def test_a_sum_that_flattens_needs_the_axis_that_is_asked_for_next(tmp_path, lines):
    (finding,) = serious(traced(tmp_path, REWARDS.format(lines=lines)))
    assert "There is no axis 1" in finding.why
    assert finding.fixes[0].proof == "source"
    assert "jnp.cumsum(jnp.flip(y, axis=1), axis=1)" in finding.fixes[0].patch
