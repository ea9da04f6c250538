"""``fit`` hands tuples to a program where its data has lists, on TensorFlow."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

FRAMEWORKS = pytest.mark.parametrize("framework", [keras, tf_keras])


def _arrays():
    return np.ones((8, 3), "float32"), np.ones((8, 3, 2), "float32")


@FRAMEWORKS
def test_a_step_that_unpacks_a_tuple_of_inputs(framework):
    class Step(framework.Model):
        def __init__(self):
            super().__init__()
            self.net = framework.layers.Dense(1)

        def train_step(self, inputs):
            if isinstance(inputs[0], tuple):
                inputs = inputs[0]
            rows = tf.shape(inputs[0])[0]
            few, many = inputs
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.net(few)) + tf.reduce_mean(self.net(many[:rows, :, 0]))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
            return {"loss": loss}

    def build():
        model = Step()
        model.compile("sgd")
        return model

    build().fit(list(_arrays()), verbose=0)
    assert tpushape.trace(build, lambda: (list(_arrays()),), tpu=None).ok
    assert tpushape.trace(build, lambda: (list(_arrays()), None), tpu=None).ok


@FRAMEWORKS
def test_a_call_that_takes_a_list_for_granted_raises_as_in_fit(framework):
    class Call(framework.Model):
        def __init__(self):
            super().__init__()
            self.net = framework.layers.Dense(1)

        def call(self, inputs):
            few, many = (*inputs, inputs[0]) if isinstance(inputs, list) else inputs
            return self.net(few) + self.net(many[:, :, 0])

    def build():
        model = Call()
        model.compile("sgd", "mse")
        return model

    build().fit(list(_arrays()), np.ones((8, 1)), verbose=0)
    assert tpushape.trace(build, lambda: (list(_arrays()), np.ones((8, 1))), tpu=None).ok
