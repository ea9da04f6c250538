"""A size that is the number of samples where another axis was meant, and inputs that a program never read."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules.facts.reasons_read import CountsSamples

L = keras.layers


class Places(L.Layer):
    def __init__(self):
        super().__init__()
        self.words, self.places = L.Embedding(30, 8), L.Embedding(40, 8)

    def call(self, x):
        steps = tf.shape(x)[0]
        return self.words(x) + self.places(tf.range(steps))


class OfSteps(Places):
    def call(self, x):
        samples, steps = tf.shape(x)[0], tf.shape(x)[1]
        return self.words(x) + tf.tile(self.places(tf.range(steps))[tf.newaxis], (samples, 1, 1))


def _traced(layer):
    def build():
        i = keras.Input((12,), dtype="int32")
        model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(layer()(i))))
        model.compile("sgd", "mse")
        return model

    return tpushape.trace(build, (np.ones((16, 12), "int32"), np.ones((16, 1))), tpu=None, fixes=False)


def test_the_read_of_the_batch_size_is_the_reason():
    (finding,) = [one for one in _traced(Places).findings if one.serious]
    reason = finding.fact.reason
    assert isinstance(reason, CountsSamples)
    assert (reason.read, reason.batch, reason.array, reason.axis, reason.wanted) == ("tf.shape(x)[0]", 16, "x", 1, 12)


def test_positions_of_the_steps_are_right():
    assert _traced(OfSteps).ok


class Pairs(keras.Model):
    """Reads one of two inputs, as a step does that leaves the labels of unlabeled images alone."""

    def __init__(self, strides):
        super().__init__()
        self.net = keras.Sequential([keras.Input((12, 12, 1)), *(L.Conv2D(4, 3, strides=s) for s in strides), L.GlobalAveragePooling2D(), L.Dense(2)])

    def train_step(self, data):
        (images, _), labels = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, self.net(images), from_logits=True))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
        return {"loss": loss}


def test_an_input_that_the_step_never_read_is_no_question_of_a_layers_setting():
    def build():
        model = Pairs((4, 2, 1))
        model.compile("sgd")
        return model

    def data():
        x, other = np.ones((8, 12, 12, 1), "float32"), np.ones(8, "int32")
        return tf.data.Dataset.from_tensor_slices(((x, other), other % 2)).batch(4)

    (finding,) = [one for one in tpushape.trace(build, data, tpu=None).findings if one.serious]
    assert finding.rule == "window-too-large"
    assert any(fix.verified for fix in finding.fixes), [(fix.title, fix.reason) for fix in finding.fixes]
