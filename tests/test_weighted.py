"""Weights of an attention on TensorFlow that sum to 1 along the queries or heads, and what looks alike and is meant."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

OWN = """
import numpy as np
import tensorflow as tf
from {lib} import layers
import {lib} as keras

class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = layers.Dense(16), layers.Dense(16), layers.Dense(16)
        self.drop, self.soft, self.few = layers.Dropout(0.1), layers.Softmax(axis=1), layers.Dense(4)
    def split(self, x):
        return tf.transpose(tf.reshape(x, (tf.shape(x)[0], -1, 4, 4)), (0, 2, 1, 3))
    def call(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
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
HEADS = "q, k, v = self.split(q), self.split(k), self.split(v)"
BACK = "return tf.reshape(tf.transpose(o, (0, 2, 1, 3)), tf.shape(x))"


def serious(tmp_path, lines, lib="keras"):
    text = OWN.format(lib=lib, body="\n".join(f"        {line}" for line in lines))
    path = tmp_path / "program.py"
    path.write_text(text, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    return [one for one in tpushape.trace(scope["build"], scope["data"], tpu=None).findings if one.serious]


@pytest.mark.parametrize(("lib", "lines", "wrong", "right"), [
    ("keras", ("s = tf.matmul(q, k, transpose_b=True) * 0.25", "w = tf.nn.softmax(s, axis=1)", "return tf.matmul(w, v)"), "s, axis=1", "s, axis=-1"),
    ("tf_keras", ("s = q @ tf.transpose(k, (0, 2, 1)) / 4.0", "w = tf.nn.softmax(s, axis=-2)", "return w @ v"), "s, axis=-2", "s, axis=-1"),
    ("tf_keras", (HEADS, "s = tf.matmul(q, k, transpose_b=True)", "s += -1e9 * (1 - tf.linalg.band_part(tf.ones((12, 12)), -1, 0))",
                  "o = self.drop(tf.nn.softmax(s, axis=1)) @ v", BACK), "s, axis=1", "s, axis=-1"),
    ("keras", (HEADS, "w = keras.ops.softmax(tf.einsum('bhqd,bhkd->bhqk', q, k), axis=2)", "o = tf.einsum('bhqk,bhkd->bhqd', w, v)", BACK),
     ", axis=2", ", axis=-1"),
    ("keras", ("w = self.soft(tf.matmul(q, k, transpose_b=True))", "return tf.matmul(w, v)"), "", "layers.Softmax(axis=-1)"),
    # The keys come first in the scores.
    ("keras", ("w = tf.nn.softmax(tf.matmul(k, q, transpose_b=True))", "return tf.matmul(w, v, transpose_a=True)"),
     "transpose_b=True)", "transpose_b=True), axis=1"),
    ("keras", ("w = tf.nn.softmax(tf.einsum('...qd,...kd->...kq', q, k))", "return tf.einsum('...kq,...kd->...qd', w, v)"), "q, k)", "q, k), axis=1"),
    ("keras", ("w = tf.nn.softmax(tf.matmul(k, q, transpose_b=True))", "return tf.transpose(w, (0, 2, 1)) @ v"), "transpose_b=True)", "transpose_b=True), axis=1"),
])  # fmt: skip
def test_a_softmax_runs_along_what_the_product_sums(tmp_path, lib, lines, wrong, right):
    (finding,) = serious(tmp_path, lines, lib)
    assert finding.rule == "softmax-axis"
    assert finding.fixes[0].proof == "source"
    assert right in finding.fixes[0].patch
    if wrong:
        assert not serious(tmp_path, [line.replace(wrong, right) if "softmax" in line else line for line in lines], lib)


STEPPED = """
    class Stepped(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
            return {"loss": loss}
    model = Stepped(inputs, layers.Dense(1)(x))
"""


@pytest.mark.parametrize("axis", [1, 2])
def test_also_in_a_model_with_a_step_of_its_own(tmp_path, monkeypatch, axis):
    monkeypatch.setitem(globals(), "OWN", OWN.replace("    model = keras.Model(inputs, layers.Dense(1)(x))\n", STEPPED.replace("{", "{{").replace("}", "}}")))
    found = serious(tmp_path, ("s = tf.matmul(q, k, transpose_b=True)", f"return tf.nn.softmax(s, axis={axis}) @ v"))
    assert [one.rule for one in found] == ["softmax-axis"] * (axis == 1)


@pytest.mark.parametrize("lines", [
    ("w = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))", "return w @ v"),
    # By its keys, in whatever order the scores have.
    ("w = tf.nn.softmax(tf.matmul(k, q, transpose_b=True), axis=1)", "return tf.matmul(w, v, transpose_a=True)"),
    ("w = tf.nn.softmax(tf.einsum('bqd,bkd->bkq', q, k), axis=1)", "return tf.einsum('bkq,bkd->bqd', w, v)"),
    ("w = tf.transpose(tf.nn.softmax(tf.transpose(tf.matmul(k, q, transpose_b=True), (0, 2, 1))), (0, 2, 1))", "return tf.matmul(w, v, transpose_a=True)"),
    # Slots compete for each input, and each slot then takes an average; divided before or behind.
    ("w = tf.nn.softmax(tf.matmul(q, k, transpose_b=True), axis=1)", "return (w / tf.reduce_sum(w, 2, keepdims=True)) @ v"),
    ("w = tf.nn.softmax(tf.matmul(q, k, transpose_b=True), axis=1)", "return w @ v / tf.reduce_sum(w, axis=2, keepdims=True)"),
    # Linear attention.
    ("q, k = tf.nn.softmax(q), tf.nn.softmax(k, axis=1)", "return q @ tf.matmul(k, v, transpose_a=True)"),
    # Soft assignments to clusters, which a layer computes.
    ("s = tf.nn.softmax(self.few(x))", "return s @ tf.matmul(s, v, transpose_a=True)"),
    # Both ways between two sequences.
    ("s = tf.matmul(q, k, transpose_b=True)", "return tf.nn.softmax(s) @ x + tf.matmul(tf.nn.softmax(s, axis=1), x, transpose_a=True)"),
])  # fmt: skip
def test_what_is_meant_is_not_reported(tmp_path, lines):
    assert not serious(tmp_path, lines)
