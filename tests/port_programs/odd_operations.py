"""Operations in call that have no like in keras.ops, or one that takes other arguments."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())


class Halves(keras.layers.Layer):
    def build(self, shape):
        self.scale = tf.Variable(1.0)

    def call(self, x):
        a, b = tf.split(x, [2, 2], axis=-1)
        b = tf.pad(b, [[0, 0], [0, 1]])
        return tf.linalg.band_part(tf.einsum("bi,bj->bij", a, b), -1, 0) * self.scale


with strategy.scope():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(Halves()(inputs))))
    model.compile("adam", "mse")
model.fit(np.zeros((32, 4)), np.zeros((32, 1)))
