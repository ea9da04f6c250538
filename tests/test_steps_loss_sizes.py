"""A training step of one's own that compares pictures of two sizes: the cause and the fix of the sizes, as for a loss of compile."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

SOURCE = """
import keras
import numpy as np
import tensorflow as tf
from keras import layers
class Auto(keras.Model):
    def __init__(self):
        super().__init__()
        i, z = keras.Input((8, 8, 1)), keras.Input((3,))
        self.encoder = keras.Model(i, layers.Dense(3)(layers.Flatten()(i)))
        y = layers.Dense(8 * 8 * 2)(z)
        y = layers.Reshape((8, 8, 2))(y)
        self.decoder = keras.Model(z, layers.Conv2DTranspose(1, 3, 2, "same")(y))
    def train_step(self, data):
        with tf.GradientTape() as tape:
            {compared}
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {{"loss": loss}}
def build():
    model = Auto()
    model.compile("sgd")
    return model
def data():
    return np.ones((16, 8, 8, 1), "float32")
"""
FORMS = {
    "under names": "made = self.decoder(self.encoder(data))\n            loss = tf.reduce_mean(keras.losses.binary_crossentropy(data, made))",
    "in an expression": "loss = tf.reduce_mean(tf.square(data - self.decoder(self.encoder(data))))",
    "by a function": "loss = tf.reduce_mean(keras.losses.mean_squared_error(data, self.decoder(self.encoder(data))))",
    "in the call": "loss = tf.reduce_mean(keras.losses.binary_crossentropy(data, self.decoder(self.encoder(data))))",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_size_is_followed_to_where_it_is_written(tmp_path, form):
    path = tmp_path / "auto.py"
    path.write_text(SOURCE.format(compared=FORMS[form]))
    scope = {"__name__": "auto", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    report = tpushape.trace(scope["build"], scope["data"], tpu=None)
    (finding,) = [one for one in report.findings if one.serious]
    assert (finding.rule, finding.fixes[0].verified) == ("output-size", True)
    assert len(report.flow.into(report.flow.failed()[0].id)) == 2
    tpushape.apply(finding.fixes[0], path)
    assert "Reshape((4, 4, 2))" in path.read_text()
