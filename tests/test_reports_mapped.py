"""What people reported of vocabularies, CTC, scaled pixels and functions of a pipeline; and their correct twins."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from test_reports_of_others import first, floats, program

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])

HEAD = """
import numpy as np
import tensorflow as tf
import {framework} as keras
L = keras.layers
rng = np.random.default_rng(0)
"""


def written(tmp_path, framework, text):
    return program(tmp_path, HEAD.format(framework=framework.__name__) + text)


def lines(fix):
    """The lines that a patch takes away, and those that it adds."""
    return [[line[1:].strip() for line in fix.patch.splitlines() if line.startswith(sign) and not line.startswith(sign * 3)] for sign in "-+"]


WORDS = """
words = [str(n) for n in range(12)]
size = {size}
ids = np.array([[1 + (i + j) % 12 for j in range(5)] for i in range(24)])
def build():
    model = keras.Sequential([L.Input((4,)), L.Embedding({table}, 4), L.LSTM(4), L.Dense(size, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
def data():
    return ids[:, :-1] % {most}, ids[:, -1]
"""


@BOTH
@pytest.mark.parametrize(("size", "plus"), [("len(words)", "size + 1"), ("12", "13")])
def test_labels_that_are_ids_of_the_vocabulary_keep_their_numbers(framework, size, plus, tmp_path):
    build, data = written(tmp_path, framework, WORDS.format(size=size, table="size", most=12))
    found = first(build, data)
    (fix,) = [one for one in found.fixes if one.verified]
    assert found.rule == "label-range"
    assert lines(fix)[1] == [f'model = keras.Sequential([L.Input((4,)), L.Embedding({plus}, 4), L.LSTM(4), L.Dense({plus}, activation="softmax")])']


@BOTH
def test_labels_beside_another_vocabulary_may_be_counted_from_1(framework, tmp_path):
    build, data = written(tmp_path, framework, WORDS.format(size="12", table="40", most=40))
    assert "minus 1" in first(build, data).fixes[0].title


@pytest.mark.parametrize(("units", "out"), [("len(letters)", True), ("len(letters) + 1", False)])
def test_ctc_has_a_unit_for_the_blank(units, out, tmp_path):
    text = f"""
letters = "abcdefgh"
def build():
    model = keras.Sequential([L.Input((20, 3)), L.Conv1D(4, 3, padding="same"), L.Dense({units})])
    model.compile("sgd", keras.losses.CTC())
    return model
def data():
    return rng.normal(size=(16, 20, 3)).astype("float32"), 1 + np.arange(16 * 4).reshape(16, 4) % 8
"""
    build, data = written(tmp_path, keras, text)
    if not out:
        assert tpushape.trace(build, data, tpu=None, fixes=False).ok
        return
    found = first(build, data)
    (fix,) = found.fixes
    assert (found.rule, found.severity, found.fact.blank, fix.verified) == ("label-range", "silent", True, True)
    assert "L.Dense(len(letters) + 1)" in lines(fix)[1][0]


@BOTH
@pytest.mark.parametrize("way", ["x = x / 255.0", "x /= 255.0", "x = tf.image.resize(x, (16, 16)) / 255.0"])
def test_pixels_are_divided_once_where_the_model_is_a_librarys(framework, way, tmp_path):
    text = f"""
def scale(x, y):
    x = tf.cast(x, tf.float32)
    {way}
    return x, y
def build():
    base = keras.applications.MobileNetV3Small(input_shape=(32, 32, 3), include_top=False, weights=None, pooling="avg", minimalistic=True)
    model = keras.Sequential([base, L.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    x = rng.integers(0, 256, (8, 32, 32, 3)).astype("uint8")
    return tf.data.Dataset.from_tensor_slices((x, np.zeros((8, 1), "float32"))).map(scale).batch(4)
""".replace("(16, 16)", "(32, 32)")
    found = first(*written(tmp_path, framework, text))
    fix = found.fixes[0]
    gone, new = lines(fix)
    assert (found.rule, fix.proof) == ("scaled-twice", "source")
    assert all("255" in line for line in gone) and all("255" not in line for line in new)
