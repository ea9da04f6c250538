"""Axes of size 1 that the program's text inserts at the wrong place, or that Keras squeezes before it calls a loss."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

GATED = """
class Gate(layers.Layer):
    def build(self, shape):
        self.up = layers.Dense(shape[-1], activation="sigmoid")
        self.up.build((None, shape[-1]))
    def call(self, x):
        gate = self.up(ops.mean(x, axis=(1, 2)))
        return {line}

def build():
    model = keras.Sequential([keras.Input((14, 14, 3)), layers.Conv2D(16, 3), Gate(), layers.GlobalAveragePooling2D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 14, 14, 3), "float32"), np.zeros((16, 1), "float32")
"""


@pytest.mark.parametrize(("line", "fixed"), [
    ("x * gate[:, :, None, None]", "x * gate[:, None, None, :]"),
    ("x * (1 + gate[..., None, None])", "x * (1 + gate[:, None, None, :])"),
    ("x * ops.reshape(gate, (-1, 16, 1, 1))", "ops.reshape(gate, (-1, 1, 1, 16))"),
    ("x * ops.expand_dims(gate, (2, 3))", "ops.expand_dims(gate, (1, 2))"),
])  # fmt: skip
def test_channels_meet_channels_and_no_layer_becomes_as_wide_as_the_picture(tmp_path, line, fixed):
    (finding,) = serious(traced(tmp_path, GATED.format(line=line)))
    assert "has its axes of size 1 at axes 2 and 3" in finding.why
    assert "With shape (?, 1, 1, 16)" in finding.why
    assert fixed in finding.fixes[0].patch
    assert not any("units" in fix.title for fix in finding.fixes)


FILM = """
class Film(layers.Layer):
    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        self.gamma, self.beta = layers.Dense(channels), layers.Dense(channels)
    def call(self, x, condition):
        {gamma}
        beta = ops.expand_dims(self.beta(condition), axis=1)
        return x * (1 + gamma) + beta

def build():
    x, c = keras.Input((50, 6)), keras.Input((3,))
    h = Film(12)(layers.Conv1D(12, 3, padding="same")(x), c)
    model = keras.Model([x, c], layers.Dense(2)(layers.GlobalMaxPooling1D()(h)))
    model.compile("adam", "mse")
    return model

def data():
    return [np.zeros((32, 50, 6), "float32"), np.zeros((32, 3), "float32")], np.zeros((32, 2), "float32")
"""


@pytest.mark.parametrize(("gamma", "fixed"), [
    ("gamma = ops.expand_dims(self.gamma(condition), axis=-1)", "self.gamma(condition), axis=1)"),
    ("gamma = self.gamma(condition)[..., None]", "gamma = self.gamma(condition)[:, None, :]"),
    ("g = self.gamma(condition); gamma = g[:, :, None]", "gamma = g[:, None, :]"),
])  # fmt: skip
def test_a_scale_of_channels_gets_its_axis_at_the_steps(tmp_path, gamma, fixed):
    assert fixed in first(tmp_path, FILM.format(gamma=gamma), "op-shapes")


QUANTILES = """
def quantiles(y_true, y_pred):
    error = y_true[:, None, :] - y_pred
    return ops.mean(ops.maximum(0.9 * error, -0.1 * error))

def build():
    model = keras.Sequential([keras.Input((30, 4)), layers.LSTM(16), layers.Dense(36), layers.Reshape((12, 3))])
    model.compile("adam", quantiles)
    return model

def data():
    return np.zeros((24, 30, 4), "float32"), np.zeros((24, 12), "float32")
"""


def test_labels_of_steps_meet_the_steps(tmp_path):
    assert "error = y_true[..., None] - y_pred" in first(tmp_path, QUANTILES, "loss-raises")


MASKS = """
def own(y_true, y_pred):
    {lines}

def build():
    model = keras.Sequential([keras.Input((16, 20, 3)), layers.Conv2D(8, 3, padding="same"), layers.Conv2D(1, 1, activation="sigmoid")])
    model.compile("adam", own)
    return model

def data():
    return np.zeros((24, 16, 20, 3), "float32"), np.zeros((24, 16, 20), "float32")
"""
DICE = """y_true = ops.expand_dims(y_true, axis=-1)
    both = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    return 1 - (2 * both + 1) / (ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3)) + 1)"""
CROSS = "return ops.sum(keras.losses.binary_crossentropy(ops.expand_dims(y_true, {axis}), y_pred), axis=(1, 2))"


@pytest.mark.parametrize(("lines", "fixed"), [
    (DICE, ["+    y_pred = y_pred[..., None]"]),
    (CROSS.format(axis=1), ["+    y_pred = y_pred[..., None]", "ops.expand_dims(y_true, -1), y_pred)"]),
    ("return ops.mean(ops.square(y_true[..., None] - y_pred), axis=(1, 2, 3))", ["+    y_pred = y_pred[..., None]"]),
])  # fmt: skip
def test_the_axis_that_keras_squeezed_comes_back_and_the_labels_are_as_they_were(tmp_path, lines, fixed):
    (finding,) = serious(traced(tmp_path, MASKS.format(lines=lines)))
    assert (finding.rule, "Keras squeezes the last axis of the predictions" in finding.why) == ("loss-raises", True)
    assert all(one in finding.fixes[0].patch for one in fixed)
    assert "np.expand_dims" not in finding.fixes[0].patch


def test_a_loss_that_compares_what_it_is_given_is_clean(tmp_path):
    plain = "return ops.mean(ops.square(y_true - y_pred), axis=(1, 2))"
    assert not serious(traced(tmp_path, MASKS.format(lines=plain)))
