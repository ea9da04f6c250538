"""Reductions over the samples, which are told where what follows needs a row for each sample, and get another axis."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

HEAD = """
import keras, numpy as np, tensorflow as tf
L = keras.layers
def rows(*shape):
    return np.random.default_rng(0).random(shape).astype("float32")
"""
PARTS = {
    "joined": (
        """
class Pool(L.Layer):
    def call(self, x, v):
        m = keras.ops.mean(x, axis={axis})
        return keras.ops.concatenate([m, v], axis=-1)
def build():
    a, b = keras.Input((10, 6)), keras.Input((4,))
    model = keras.Model([a, b], L.Dense(1)(Pool()(a, b)))
    model.compile("sgd", "mse")
    return model
def data():
    return [rows(16, 10, 6), rows(16, 4)], rows(16, 1)
""",
        "m = keras.ops.mean(x, axis=1)",
    ),
    "reshaped": (
        """
class Codes(L.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(5, shape[-1]))
    def call(self, x):
        flat = tf.reshape(x, (-1, x.shape[-1]))
        apart = tf.reduce_sum(flat**2, axis=1, keepdims=True) - 2 * tf.matmul(flat, self.table, transpose_b=True)
        chosen = tf.argmin(apart, axis={axis})
        return tf.reshape(tf.gather(self.table, chosen), tf.shape(x))
def build():
    model = keras.Sequential([keras.Input((7, 6)), Codes(), L.Flatten(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    return rows(16, 7, 6), rows(16, 1)
""",
        "chosen = tf.argmin(apart, axis=-1)",
    ),
    "multiplied": (
        """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.scores, self.out = L.Dense(4), L.Dense(1)
    def call(self, x):
        s = self.scores(x)
        top = tf.reduce_max(s, axis={axis})
        return self.out(s * tf.reshape(top, (-1, 1)))
def build():
    model = Net()
    model.compile("sgd", "mse")
    return model
def data():
    return rows(16, 5), rows(16, 1)
""",
        "top = tf.reduce_max(s, axis=1)",
    ),
}


def traced(text, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(HEAD + text)
    names: dict = {"__name__": "program"}
    exec(compile(HEAD + text, str(file), "exec"), names)
    return [finding for finding in tpushape.trace(names["build"], names["data"], tpu=None).findings if finding.serious]


@pytest.mark.parametrize("part", PARTS)
def test_a_reduction_over_the_samples_is_the_cause_and_gets_another_axis(part, tmp_path):
    text, right = PARTS[part]
    found = traced(text.replace("{axis}", "0"), tmp_path)[0]
    assert (found.rule, type(found.fact.reason).__name__) == ("op-shapes", "SamplesReduced")
    assert found.fixes[0].verified
    assert f"+        {right}" in str(found.fixes[0].patch)


@pytest.mark.parametrize("part", PARTS)
def test_a_reduction_over_another_axis_is_left_alone(part, tmp_path):
    assert traced(PARTS[part][0].replace("{axis}", "1"), tmp_path) == []
