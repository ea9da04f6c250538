"""Channels that a reshape splits into blocks: the layer that gives too many or too few of them is told, and gets as many as the blocks have."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

PROGRAM = """
import keras, numpy as np
L = keras.layers
R = 3
class Shuffle(L.Layer):
    def call(self, x):
        rows, height, width, depth = keras.ops.shape(x)
        x = keras.ops.reshape(x, (rows, height, width, R, R, {depth}))
        x = keras.ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return keras.ops.reshape(x, (rows, height * R, width * R, {depth}))
def build():
    i = keras.Input((8, 8, 1))
    x = L.Conv2D({filters}, 3, padding="same", activation="relu")(i)
    x = L.Conv2D({filters}, 3, padding="same")(x)
    model = keras.Model(i, Shuffle()(x))
    model.compile("sgd", "mse")
    return model
def data():
    rng = np.random.default_rng(0)
    return rng.random((4, 8, 8, 1)), rng.random((4, 24, 24, {channels}))
"""


def traced(tmp_path, **sizes):
    file = tmp_path / "program.py"
    text = PROGRAM
    for name, value in sizes.items():
        text = text.replace(f"{{{name}}}", str(value))
    file.write_text(text)
    names: dict = {"__name__": "program"}
    exec(compile(text, str(file), "exec"), names)
    return [finding for finding in tpushape.trace(names["build"], names["data"], tpu=None).findings if finding.serious]


@pytest.mark.parametrize(("filters", "depth", "right"), [(12, "depth // R**2", 9), (16, "2", 18), (4, "1", 9)])
def test_the_layer_in_front_gets_as_many_channels_as_the_blocks_have(tmp_path, filters, depth, right):
    (found,) = traced(tmp_path, filters=filters, depth=depth, channels=right // 9)
    assert (found.rule, found.fact.block) == ("reshape-size", right)
    assert f"filters={filters}" in found.why
    assert found.fixes[0].verified
    assert f'+    x = L.Conv2D({right}, 3, padding="same")(x)' in str(found.fixes[0].patch)


def test_channels_that_fill_the_blocks_are_left_alone(tmp_path):
    assert traced(tmp_path, filters=18, depth="depth // R**2", channels=2) == []
