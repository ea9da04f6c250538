"""A number that stands in a table, and labels that are class indices as factors: the text of the first fix."""

from __future__ import annotations

import jupyter_tpushape as tpushape

HEAD = """
import keras
import numpy as np
import tensorflow as tf
from keras import layers
"""
TOWERS = """
UNITS = {"user": (32, 16), "item": (32, 24)}
def tower(name):
    return keras.Sequential([layers.Dense(u) for u in UNITS[name]], name=name)
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.u, self.i = tower("user"), tower("item")
    def call(self, inputs):
        return tf.reduce_sum(self.u(inputs[0]) * self.i(inputs[1]), -1, keepdims=True)
def build():
    model = Net()
    model.compile("sgd", "mse")
    return model
def data():
    return (np.zeros((64, 5), "float32"), np.zeros((64, 9), "float32")), np.zeros((64, 1), "float32")
"""
CLASSES = """
class Net(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            logp = tf.nn.log_softmax(self(x, training=True))
            loss = -tf.reduce_mean(tf.reduce_sum(tf.cast(y, tf.float32) * logp, -1))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"nll": loss}
def build():
    i = keras.Input((5,))
    model = Net(i, layers.Dense(6)(i))
    model.compile("sgd")
    return model
def data():
    return np.zeros((64, 5), "float32"), np.arange(64) % 6
"""


def finding_of(tmp_path, code):
    path = tmp_path / "program.py"
    path.write_text(HEAD + code, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(HEAD + code, str(path), "exec"), scope)
    report = tpushape.trace(scope["build"], scope["data"], tpu=None)
    return next(finding for finding in report.findings if finding.serious)


def test_a_number_of_a_table_is_changed_where_it_stands(tmp_path):
    finding = finding_of(tmp_path, TOWERS)
    assert finding.fixes[0].proof == "source"
    assert '"item": (32, 16)' in finding.fixes[0].patch


def test_labels_become_one_hot_where_a_step_multiplies_them(tmp_path):
    finding = finding_of(tmp_path, CLASSES)
    assert finding.fact.reason.labels == (32,)
    assert finding.fixes[0].proof == "source"
    assert "tf.one_hot(y, logp.shape[-1]) * logp" in finding.fixes[0].patch
