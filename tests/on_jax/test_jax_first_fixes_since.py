"""The first fix for programs of strangers on JAX: masks before the keys, samples kept apart, sizes that the class names, and masks that are no bools."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

ATTENTION = """
class Attend(layers.Layer):
    def __init__(self, heads, **kw):
        super().__init__(**kw)
        self.heads, self.q, self.k, self.v = heads, layers.Dense(48), layers.Dense(48), layers.Dense(48)
    def split(self, x):
        x = ops.reshape(x, (-1, x.shape[1], self.heads, 48 // self.heads))
        return ops.transpose(x, (0, 2, 1, 3))
    def call(self, x, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) / 4.0
        {hides}
        y = ops.matmul(ops.softmax(scores, axis=-1), v)
        return ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (-1, x.shape[1], 48))

def build():
    ids, mask = keras.Input((28,), dtype="int32"), keras.Input((28,), dtype="int32")
    x = Attend(6)(layers.Embedding(40, 48)(ids), mask)
    model = keras.Model([ids, mask], layers.Dense(1)(x[:, 0]))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.ones((16, 28), "int32"), np.ones((16, 28), "int32")], np.zeros((16, 1), "float32")
"""
ADDED = "bias = (1.0 - ops.cast(mask, 'float32')) * -1e9\n        scores = scores + bias[{}]"


@pytest.mark.parametrize("hides", [ADDED, "scores = scores + (1.0 - ops.cast(mask[{}], 'float32')) * -1e9", "scores = ops.where(mask[{}] == 0, -1e9, scores)"])
def test_a_mask_that_hides_keys_gets_its_axes_of_size_one_before_them(tmp_path, hides):
    patch = first(tmp_path, ATTENTION.format(hides=hides.format(":, :, None, None")), "op-shapes")
    assert "[:, None, None, :]" in patch and "transpose" not in "".join(one for one in patch.splitlines() if one[:1] in "+-")
    assert not serious(traced(tmp_path, ATTENTION.format(hides=hides.format(":, None, None, :"))))


def test_what_hides_nothing_may_belong_to_queries_or_keys(tmp_path):
    (finding,) = serious(traced(tmp_path, ATTENTION.format(hides="scores = scores * ops.cast(mask, 'float32')[:, :, None, None]")))
    assert not [fix for fix in finding.fixes if fix.verified]


VAE = """
class Coder(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.encoder, self.decoder = layers.Dense(16), layers.Dense(10)
    def call(self, x):
        mean, log_var = jnp.split(self.encoder(x), 2{axis})
        self.add_loss(jnp.mean(jnp.square(mean) + jnp.exp(log_var) - log_var))
        return self.decoder(mean)

def build():
    model = Coder()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 10), "float32"), np.zeros((32, 10), "float32")
"""


@pytest.mark.parametrize("axis", ["", ", axis=0"])
def test_a_split_of_the_samples_is_told_the_last_axis(tmp_path, axis):
    assert "2, axis=-1)" in first(tmp_path, VAE.format(axis=axis), "batch-axis-merged")


HEAD = """
class Head(layers.Layer):
    def __init__(self, outputs, **kw):
        super().__init__(**kw)
        self.outputs, self.pred = outputs, layers.Conv2D(3 * outputs, 3, padding="same")
    def call(self, x):
        return ops.reshape(self.pred(x), ({target}self.outputs))

def build():
    i = keras.Input((16, 16, 3))
    model = keras.Model(i, Head(5)(layers.Conv2D(8, 3, strides=4, padding="same")(i)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 16, 16, 3), "float32"), np.zeros((16, 48, 5), "float32")
"""


def test_the_positions_of_each_sample_stay_together(tmp_path):
    assert "+        return ops.reshape(self.pred(x), (ops.shape(self.pred(x))[0], -1, self.outputs))" in first(
        tmp_path, HEAD.format(target="-1, "), "batch-axis-merged"
    )
    assert not serious(traced(tmp_path, HEAD.format(target="-1, 48, ")))


SCALE = """
class Block(layers.Layer):
    def __init__(self, dim, **kw):
        super().__init__(**kw)
        self.dim, self.wide, self.back = dim, layers.Dense(4 * dim), layers.Dense(dim)
    def build(self, shape):
        self.gamma = self.add_weight(shape=({size},), initializer="ones")
        super().build(shape)
    def call(self, x):
        return x + self.gamma * self.back(self.wide(x))

def build():
    i = keras.Input((12,))
    x = Block(24)(Block(24)(layers.Dense(24)(i)))
    model = keras.Model(i, layers.Dense(1)(Block(48)(layers.Dense(48)(x))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 12), "float32"), np.zeros((16, 1), "float32")
"""


def test_a_weight_of_one_axis_has_the_width_that_its_class_names(tmp_path):
    assert "+        self.gamma = self.add_weight(shape=(self.dim,)," in first(tmp_path, SCALE.format(size=24), "op-shapes")
    assert not serious(traced(tmp_path, SCALE.format(size="self.dim")))


ROTARY = """
def angles(length, dim):
    freqs = jnp.outer(jnp.arange(length), 1.0 / 10000.0 ** (jnp.arange(0, dim, 2) / dim))
    return jnp.cos(freqs)[:, None, :], jnp.sin(freqs)[:, None, :]

def turned(x, cos, sin):
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

class Rotary(layers.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.dim, self.heads = dim, heads
        self.head_dim = dim // heads
        self.q = layers.Dense(dim)
    def call(self, x):
        q = ops.reshape(self.q(x), (-1, x.shape[1], self.heads, self.head_dim))
        cos, sin = angles(x.shape[1], self.{dim})
        return ops.reshape(turned(q, cos, sin), (-1, x.shape[1], self.dim))

def build():
    i = keras.Input((20, 8))
    model = keras.Model(i, layers.Dense(1)(Rotary(64, 4)(i)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 20, 8), "float32"), np.zeros((16, 20, 1), "float32")
"""


def test_a_function_of_the_program_gets_the_size_that_the_object_keeps(tmp_path):
    assert "angles(x.shape[1], self.head_dim)" in first(tmp_path, ROTARY.format(dim="dim"), "op-shapes")
    assert not serious(traced(tmp_path, ROTARY.format(dim="head_dim")))


BITS = """
class Pool(layers.Layer):
    def call(self, x, ids):
        valid = ops.cast(ids != 0, "{dtype}")
        {hidden}
        w = ops.softmax(ops.where(hidden, -1e9, ops.mean(x, axis=-1)))
        return ops.sum(w[..., None] * x, axis=1)

def build():
    ids = keras.Input((12,), dtype="int32")
    model = keras.Model(ids, layers.Dense(1)(Pool()(layers.Embedding(30, 8)(ids), ids)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.arange(192).reshape(16, 12) % 25, np.zeros((16, 1), "float32")
"""


@pytest.mark.parametrize(("hidden", "fixed"), [
    ("hidden = ~valid", '~ops.cast(valid, "bool")'),
    ("hidden = (ids > 25) | valid", '| ops.cast(valid, "bool")'),
])  # fmt: skip
def test_a_bit_operator_gets_a_float_mask_as_bools(tmp_path, hidden, fixed):
    assert fixed in first(tmp_path, BITS.format(dtype="float32", hidden=hidden), "op-shapes")
    assert not serious(traced(tmp_path, BITS.format(dtype="bool", hidden=hidden)))
