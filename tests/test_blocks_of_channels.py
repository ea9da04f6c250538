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


PATCHES = """
import keras, numpy as np
L = keras.layers
ops = keras.ops
class Cut(L.Layer):
    def call(self, x):
        {cut}
def build():
    i = keras.Input(({size}))
    model = keras.Model(i, L.Dense(2)(L.GlobalMaxPooling1D()(L.Dense(4, activation="relu")({made}))))
    model.compile("sgd", "mse")
    return model
def data():
    rng = np.random.default_rng(0)
    return rng.random((6, {size})).astype("float32"), rng.random((6, 2)).astype("float32")
"""
_WHOLE = "return ops.reshape(x, (-1, {}))"


def cut(tmp_path, size, code, made="Cut()(i)"):
    file = tmp_path / "program.py"
    file.write_text(PATCHES.format(cut=code, size=size, made=made))
    names: dict = {"__name__": "program"}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return file, names, [one for one in tpushape.trace(names["build"], names["data"], tpu=None).findings if one.serious]


@pytest.mark.parametrize(
    ("size", "code", "made"),
    [
        ("8, 24, 3", _WHOLE.format("12, 48"), "Cut()(i)"),
        ("8, 12, 1", _WHOLE.format("2, 3, 4, 4, 1"), "L.Reshape((6, 16))(Cut()(i))"),
        ("8, 12, 2", "n = 2\n        return ops.reshape(x, (-1, (8 // n) * (12 // n), n * n, 2))", "L.Reshape((24, 8))(Cut()(i))"),
        ("24, 36, 3", "return x", "L.Reshape((54, 48))(i)"),
    ],
)
def test_patches_are_cut_by_rows_and_columns(tmp_path, size, code, made):
    import numpy as np

    file, names, (found,) = cut(tmp_path, size, code, made)
    assert (found.rule, found.severity) == ("reshape-interleaves", "silent")
    fix = found.fixes[0]
    assert fix.verified
    tpushape.apply(fix, file)
    again: dict = {"__name__": "program"}
    exec(compile(file.read_text(), str(file), "exec"), again)
    model = again["build"]()
    dense = model.layers[-3]
    images = names["data"]()[0]
    patches = np.asarray(again["keras"].Model(model.inputs, dense.input)(images))
    rows, columns, depth = images.shape[1:]
    side = 2 if depth == 2 else 4
    right = images.reshape(6, rows // side, side, columns // side, side, depth).transpose(0, 1, 3, 2, 4, 5)
    assert np.array_equal(patches.ravel(), right.ravel())


@pytest.mark.parametrize(
    ("size", "code"),
    [
        ("16, 16, 3", _WHOLE.format("16, 48")),  # a line each
        ("16, 16, 3", _WHOLE.format("4, 192")),  # four lines each
        ("16, 24, 3", _WHOLE.format("384, 3")),  # a pixel each
        ("12, 20, 3", _WHOLE.format("120, 6")),  # two pixels each
        ("16, 24, 3", "x = ops.transpose(ops.reshape(x, (-1, 4, 4, 6, 4, 3)), (0, 1, 3, 2, 4, 5))\n        " + _WHOLE.format("24, 48")),
    ],
)
def test_pieces_that_are_no_patches_are_left_alone(tmp_path, size, code):
    assert cut(tmp_path, size, code)[2] == []
