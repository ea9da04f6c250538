"""Metrics of a program's own that keep the last batch alone, beside correct twins."""

import pytest
from broken import load

import jupyter_tpushape as tpushape

PROGRAM = """
import {0} as keras
import numpy as np
import tensorflow as tf
L = keras.layers
rng = np.random.default_rng(0)
class {1}(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="own")
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        error = tf.abs(tf.cast(y_true, "float32") - y_pred)
        {2}
    def result(self):
        return {3}
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(2)])
    m.compile("sgd", "mse", metrics=[{1}()])
    return m
def data():
    return rng.normal(size=(40, 6)).astype("float32"), rng.normal(size=(40, 2)).astype("float32")
"""
ROWS = "tf.cast(tf.shape(error)[0], 'float32')"


def program(*lines, name="Error", keras="keras", result="self.total / self.count"):
    return PROGRAM.format(keras, name, "\n        ".join(lines), result)


KEPT = ("self.total.assign(tf.reduce_sum(error))", "self.count.assign(tf.cast(tf.size(error), 'float32'))")
FAULTS = {
    "a sum and a count": (program(*KEPT), "self.count.assign_add(tf.cast(tf.size(error), 'float32'))"),
    "with tf_keras": (program(*KEPT, keras="tf_keras"), "self.total.assign_add(tf.reduce_sum(error))"),
    "by names": (program("wrong = tf.reduce_sum(tf.cast(error > 1.0, 'float32'))", "self.total.assign(wrong)", result="self.total"), "self.total.assign_add(wrong)"),
    "a quotient": (program("self.total.assign(tf.reduce_sum(error) / 2.0)", result="self.total / 3.0"), None),
    "a sum over its rows": (program(f"self.total.assign(tf.reduce_sum(error) / {ROWS})", result="self.total"), None),
    "a mean": (program("self.total.assign(tf.reduce_mean(error))", result="self.total"), None),
}  # fmt: skip
RIGHT = {
    "added": program("self.total.assign_add(tf.reduce_sum(error))", "self.count.assign_add(tf.cast(tf.size(error), 'float32'))"),
    "the largest": program("self.total.assign(tf.maximum(self.total, tf.reduce_max(error)))", result="self.total"),
    "a moving mean": program("old = 0.9 * self.total", "self.total.assign(old + 0.1 * tf.reduce_mean(error))", result="self.total"),
    "of the last batch": program("self.total.assign(tf.reduce_mean(error))", name="LastError", result="self.total"),
    "a step's number": program("self.total.assign(3.0)", result="self.total"),
    "means and batches": program("self.total.assign_add(tf.reduce_mean(error))", "self.count.assign_add(1.0)"),
    "means of rows": program("self.total.assign_add(tf.reduce_sum(tf.reduce_mean(error, -1)))", f"self.count.assign_add({ROWS})"),
    "a mean times its rows": program(f"self.total.assign_add(tf.reduce_mean(error) * {ROWS})", f"self.count.assign_add({ROWS})"),
    "in one of two cases": program("if sample_weight is not None:", "    self.total.assign(tf.reduce_mean(error))", "self.total.assign_add(1.0)", result="self.total"),
}  # fmt: skip


def traced(tmp_path, text):
    (tmp_path / "train.py").write_text(text)
    module = load(tmp_path / "train.py")
    return tpushape.trace(module.build, module.data, tpu=None)


@pytest.mark.parametrize("name", FAULTS)
def test_a_metric_that_keeps_one_batch_is_found(name, tmp_path):
    text, fixed = FAULTS[name]
    report = traced(tmp_path, text)
    assert [(one.rule, one.severity) for one in report.findings] == [("metric-over-batches", "silent")]
    verified = [one for one in report.findings[0].fixes if one.verified]
    assert fixed in verified[0].patch if fixed else not verified, verified and verified[0].patch


@pytest.mark.parametrize("name", RIGHT)
def test_metrics_over_all_batches_are_silent(name, tmp_path):
    assert traced(tmp_path, RIGHT[name]).findings == []
