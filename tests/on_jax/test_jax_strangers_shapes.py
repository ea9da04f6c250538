"""Whole programs of strangers on JAX: maps of odd sizes, conditions of a picture, rows folded, and axes too many."""

from __future__ import annotations

import pytest
from strangers import serious, traced

UNET = """
class UNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.down = layers.Conv2D(8, 3, padding="same")
        self.pool = layers.MaxPooling2D(2)
        self.up = layers.Conv2DTranspose(8, 2, strides=2)
        self.head = layers.Conv2D(1, 1)
    def call(self, x):
        skip = self.down(x)
        x = self.up(self.pool(skip))
        x = {join}
        return self.head(x)

def build():
    model = UNet()
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((8, 25, 25, 3), "float32"), np.zeros((8, 25, 25, 1), "float32")
"""


@pytest.mark.parametrize("join", ["jnp.concatenate([{}, skip], axis=-1)", "layers.concatenate([{}, skip])"])
def test_a_map_that_came_back_smaller_is_resized_where_it_is_joined(tmp_path, join):
    (finding,) = serious(traced(tmp_path, UNET.format(join=join.format("x"))))
    assert finding.rule in ("op-shapes", "merge-shapes")
    wanted = "+        x = " + join.format("ops.image.resize(x, ops.shape(skip)[1:3])")
    assert any(fix.verified and wanted in fix.patch for fix in finding.fixes)


OTHER_SIZE = """
class Coder(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential([layers.Flatten(), layers.Dense(7 * 7 * 4), layers.Reshape((7, 7, 4))])
        self.up = layers.Conv2DTranspose(1, 3, strides=4, padding="same")
    def call(self, x):
        return self.up(self.inner(x))
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean(ops.sum(keras.losses.binary_crossentropy(x, y_pred), axis=(1, 2)))

def build():
    model = Coder()
    model.compile("adam")
    return model

def data():
    return np.zeros((8, 32, 32, 1), "float32")
"""


def test_what_was_never_halved_is_not_resized(tmp_path):
    (finding,) = serious(traced(tmp_path, OTHER_SIZE))
    assert not any(fix.verified and "resize" in fix.patch for fix in finding.fixes)


LOOKED_UP = """
class TopSteps(layers.Layer):
    def __init__(self):
        super().__init__()
        self.score = layers.Dense(1)
    def call(self, x):
        s = ops.squeeze(self.score(x), -1)
        _, where = ops.top_k(s, 3)
        return {picked} * ops.sigmoid(ops.take_along_axis(s, where, axis=1))[..., None]
    def compute_output_shape(self, shape):
        return (shape[0], 3, shape[-1])

def build():
    inputs = keras.Input((20, 8))
    x = layers.Flatten()(TopSteps()(layers.GRU(8, return_sequences=True)(inputs)))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 20, 8), "float32"), np.zeros((32, 1), "float32")
"""
PICKED = ["ops.take_along_axis(x, where{}, axis=1)", "jnp.take_along_axis(x, where{}, 1)", "ops.take_along_axis(x, where{}, axis=-2)"]


@pytest.mark.parametrize("picked", PICKED)
def test_indices_get_the_axis_that_they_lack(tmp_path, picked):
    (finding,) = serious(traced(tmp_path, LOOKED_UP.format(picked=picked.format(""))))
    assert finding.fixes[0].verified
    assert picked.format("[..., None]") in finding.fixes[0].patch


def test_indices_with_all_axes_are_ok(tmp_path):
    assert not serious(traced(tmp_path, LOOKED_UP.format(picked=PICKED[0].format("[..., None]"))))


HALVED_ROWS = """
class Heads(layers.Layer):
    def __init__(self):
        super().__init__()
        self.qkv = layers.Dense(48)
    def build(self, shape):
        self.qkv.build(shape)
    def call(self, x):
        h = ops.reshape(self.qkv(x), (-1, 4, 3, 32))
        h = ops.reshape(h[:, :, 0], (-1, 2, 2, 32))
        h = ops.reshape(h, (-1, 2, 2, 2, 2, 32))
        return x + ops.reshape(h, (-1, 16, 32))

def build():
    inputs = keras.Input((16, 32))
    model = keras.Model(inputs, layers.Dense(1)(Heads()(inputs)))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 16, 32), "float32"), np.zeros((32, 16, 1), "float32")
"""


def test_an_addition_has_no_target_that_its_values_do_not_fill(tmp_path):
    for finding in serious(traced(tmp_path, HALVED_ROWS)):
        reason = getattr(finding.fact, "reason", None)
        assert type(reason).__name__ != "Uneven" or reason.shape[1:] != (16, 32)


CONDITION = """
class FiLM(layers.Layer):
    def __init__(self):
        super().__init__()
        self.scale, self.shift = layers.Dense(16), layers.Dense(16)
    def call(self, feature, condition):
        gamma, beta = self.scale(condition), self.shift(condition)
        return feature * gamma + beta

def build():
    image, condition = keras.Input(({size}, {size}, 16), name="image"), keras.Input((10,), name="condition")
    x = layers.GlobalAveragePooling2D()(FiLM()(image, condition))
    model = keras.Model({{"image": image, "condition": condition}}, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model

def data():
    x = {{"image": np.zeros((8, {size}, {size}, 16), "float32"), "condition": np.zeros((8, 10), "float32")}}
    return x, np.zeros((8, 1), "float32")
"""


@pytest.mark.parametrize("size", [32, 64])
def test_a_size_that_stands_in_meets_no_size_of_the_program_by_chance(tmp_path, size):
    (finding,) = serious(traced(tmp_path, CONDITION.format(size=size)))
    assert finding.rule == "op-shapes"
    assert str(finding.expected) == f"(?, {size}, {size}, 16)"
    assert "+        return feature * gamma[:, None, None, :] + beta[:, None, None, :]" in finding.fixes[0].patch


FOLDED = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv, self.head = layers.Conv2D(16, 3), layers.Dense(10, activation="softmax")
    def call(self, x):
        x = self.conv(x)
        x = x.reshape({sizes})
        return self.head(x)

def build():
    model = Net()
    model.compile("adam", "sparse_categorical_crossentropy")
    return model

def data():
    return np.zeros((32, 28, 28, 1), "float32"), np.zeros((32,), "int32")
"""


@pytest.mark.parametrize(("sizes", "new"), [("-1, 16 * 28 * 28", "x.shape[0], -1"), ("(-1, 12544)", "(x.shape[0], -1)")])
def test_sizes_given_one_by_one_are_one_target(tmp_path, sizes, new):
    (finding,) = serious(traced(tmp_path, FOLDED.format(sizes=sizes)))
    assert finding.rule == "reshape-size"
    assert finding.fact.target == (-1, 12544)
    assert f"+        x = x.reshape({new})" in finding.fixes[0].patch


Q = """
class QNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = layers.Dense(4)
    def call(self, states):
        return self.out(states)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        mask = jax.nn.one_hot(y, 4)
        return jnp.mean(y_pred * mask)

def build():
    model = QNet()
    model.compile("adam")
    return model

def data():
    return np.zeros((32, 8), "float32"), np.zeros((32, 1), "int32")
"""


def test_the_axis_by_which_each_sample_met_every_other_is_squeezed(tmp_path):
    (finding,) = serious(traced(tmp_path, Q))
    assert (finding.rule, finding.severity) == ("batch-broadcast", "silent")
    assert "+        return jnp.mean(y_pred * ops.squeeze(mask, 1))" in finding.fixes[0].patch
