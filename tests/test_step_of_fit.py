"""A ``train_step`` of a model's own class on several replicas: what Keras divides by their number, and what it does not."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

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
