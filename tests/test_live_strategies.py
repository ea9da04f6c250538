"""A model that was made under a live strategy, and a trace inside its scope, are looked at as ``fit`` runs them: in one replica."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape

DATA = (np.random.default_rng(0).random((32, 4), "float32"), np.ones((32, 1), "float32"))


def model_of(framework):
    keras = importlib.import_module(framework)
    layers = [keras.Input((4,)), keras.layers.Dense(3), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("adam", "mse", metrics=["mae"])
    return model


@pytest.fixture
def strategy():
    return tf.distribute.MirroredStrategy(["CPU:0"])


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_model_of_a_live_strategy_is_clean_and_keeps_its_weights(framework, strategy):
    with strategy.scope():
        model = model_of(framework)
    before = [np.array(weight) for weight in model.get_weights()]
    report = tpushape.trace(model, DATA, tpu=None)
    assert report.ok, report.findings
    assert all(np.array_equal(one, other) for one, other in zip(before, model.get_weights(), strict=True))


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("built", [False, True], ids=["a builder", "a model"])
def test_a_trace_inside_the_scope_is_clean(framework, built, strategy):
    with strategy.scope():
        report = tpushape.trace(model_of(framework) if built else lambda: model_of(framework), DATA, tpu=None)
    assert report.ok, report.findings


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_the_variables_of_one_device_are_plain_ones(framework):
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        model = model_of(framework)
    report = tpushape.trace(model, DATA, strategy=strategy)
    assert report.ok, report.findings


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_fault_inside_the_scope_is_told_as_outside(framework, strategy):
    wrong = (DATA[0][:, :3], DATA[1])
    outside = tpushape.trace(model_of(framework), wrong, tpu=None)
    with strategy.scope():
        inside = tpushape.trace(model_of(framework), wrong, tpu=None)
    assert [finding.rule for finding in inside.findings] == [finding.rule for finding in outside.findings]


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_step_of_the_users_own_runs_in_one_replica(framework, strategy):
    keras = importlib.import_module(framework)

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.head, self.seen = keras.layers.Dense(1), keras.metrics.Mean(name="seen")

        def call(self, x):
            return self.head(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
            self.seen.update_state(loss)
            return {"seen": self.seen.result()}

    with strategy.scope():
        model = Own()
        model.compile("sgd")
    report = tpushape.trace(model, DATA, tpu=None)
    assert report.ok, report.findings
