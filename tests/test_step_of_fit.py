"""A ``train_step`` of a model's own class on several replicas: what Keras divides by their number, and what it does not."""

from __future__ import annotations

import linecache

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from broken import HEAD, fit, load

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
MEAN = keras.losses.MeanSquaredError()


def of_keras(model, x, y, p):
    return model.compute_loss(x, y, p) if isinstance(model, tf_keras.Model) else model.compute_loss(x=x, y=y, y_pred=p)


def of_its_own(model, x, y, p):
    return tf.reduce_mean(tf.square(y - p))


def divided(model, x, y, p):
    return tf.reduce_mean(tf.square(y - p)) / tf.distribute.get_strategy().num_replicas_in_sync


def of_an_object(model, x, y, p):
    return MEAN(y, p)


def own_model(lib, loss):
    class Own(lib.Model):
        def __init__(self):
            super().__init__()
            self.head = lib.layers.Dense(1)

        def call(self, x):
            return self.head(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                value = loss(self, x, y, self(x, training=True))
            gradients = tape.gradient(value, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"loss": value}

    model = Own()
    model.compile("sgd", "mse")
    return model


def data():
    x, y = np.ones((64, 4), "float32"), np.zeros((64, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True).prefetch(1)


@BOTH
@pytest.mark.parametrize(("loss", "times"), [(of_keras, None), (of_its_own, 8.0), (divided, None)])
def test_only_a_loss_that_nothing_divides_is_too_large(lib, loss, times):
    found = [one for one in tpushape.trace(lambda: own_model(lib, loss), data, tpu="v5e-8").findings if one.rule == "gradient-scale"]
    assert [one.fact.times for one in found] == ([times] if times else [])


def test_a_loss_object_of_keras_3_divides_by_itself():
    report = tpushape.trace(lambda: own_model(keras, of_an_object), data, tpu="v5e-8")
    assert "gradient-scale" not in {finding.rule for finding in report.findings}


@BOTH
def test_the_number_of_replicas_is_the_users_own_again(lib):
    """Also after a step that raises."""

    def raising(model, x, y, p):
        raise ValueError("no loss")

    tpushape.trace(lambda: own_model(lib, raising), data, tpu="v5e-8")
    assert tf.distribute.get_strategy().num_replicas_in_sync == 1
    assert "gradient-scale" not in {one.rule for one in tpushape.trace(lambda: own_model(lib, of_its_own), data, tpu=None).findings}


TWO = """
class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.two = L.Dense(1), L.Dense(1)
        self.first, self.second = keras.optimizers.SGD(), keras.optimizers.SGD()

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape_one, tf.GradientTape() as tape_two:
            a = self.one(x)
            loss_one = tf.reduce_mean((a - y) ** 2)
            loss_two = tf.reduce_mean((self.two(x) - a) ** 2)
        self.first.apply_gradients(zip(tape_one.gradient(loss_one, self.one.trainable_variables), self.one.trainable_variables))
        self.second.apply_gradients(zip(tape_two.gradient(loss_two, self.two.trainable_variables), self.two.trainable_variables))
        return {"one": loss_one, "two": loss_two}

def build():
    model = Pair()
    model.compile()
    return model

def data():
    return tf.data.Dataset.from_tensor_slices((np.ones((64, 4), "float32"), np.ones((64, 1), "float32"))).batch(16, drop_remainder=True).prefetch(1)
"""
SCALED = """            loss_two = tf.reduce_mean((self.two(x) - a) ** 2)
            scaled_loss_one = loss_one / tf.distribute.get_strategy().num_replicas_in_sync
            scaled_loss_two = loss_two / tf.distribute.get_strategy().num_replicas_in_sync
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_every_loss_of_a_step_is_divided_for_its_gradient(framework, tmp_path):
    path = tmp_path / "pair_program.py"
    path.write_text(HEAD.format(framework=framework) + TWO)
    module = load(path)
    finding = next(one for one in tpushape.trace(module.build, module.data, tpu="v5e-8").findings if one.serious)
    assert (finding.rule, finding.fixes[0].proof) == ("gradient-scale", "source")
    tpushape.apply(finding.fixes[0], path)
    assert SCALED in path.read_text()
    assert "tape_two.gradient(scaled_loss_two, " in path.read_text()
    linecache.checkcache(str(path))
    again = load(path)
    fit(again.build(), again.data())
    assert tpushape.trace(again.build, again.data, tpu="v5e-8").ok


PENALIZED = """
class Critic(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([L.InputLayer((4,)), L.Dense(8, activation="relu"), L.Dense(1)])

    def train_step(self, data):
        x, fake = data
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(x)
                score = self.net(x)
            slope = inner.gradient(score, x)
            loss = tf.reduce_mean(self.net(fake)) - tf.reduce_mean(score) + tf.reduce_mean((tf.norm(slope, axis=1) - 1.0) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables))
        return {"loss": loss}

def build():
    model = Critic()
    model.compile("sgd")
    return model

def data():
    return tf.data.Dataset.from_tensor_slices((np.ones((64, 4), "float32"), np.ones((64, 4), "float32"))).batch(16, drop_remainder=True).prefetch(1)
"""


def test_the_gradient_of_a_penalty_stays_as_it_is(tmp_path):
    path = tmp_path / "penalty_program.py"
    path.write_text(HEAD.format(framework="keras") + PENALIZED)
    module = load(path)
    finding = next(one for one in tpushape.trace(module.build, module.data, tpu="v5e-8").findings if one.serious)
    assert (finding.rule, finding.fixes[0].proof) == ("gradient-scale", "source")
    tpushape.apply(finding.fixes[0], path)
    assert "inner.gradient(score, x)" in path.read_text()
    assert "tape.gradient(scaled_loss, " in path.read_text()
