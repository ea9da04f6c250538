"""A sampling layer with TensorFlow's random numbers, and add_loss."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())


class Sampling(keras.layers.Layer):
    def call(self, inputs):
        mean, log_var = inputs
        self.add_loss(-0.5 * tf.reduce_mean(1 + log_var - tf.square(mean) - tf.exp(log_var)))
        return mean + tf.exp(0.5 * log_var) * tf.random.normal(tf.shape(mean))


with strategy.scope():
    inputs = keras.Input((16,))
    x = keras.layers.Dense(8, activation="relu")(inputs)
    z = Sampling()([keras.layers.Dense(2)(x), keras.layers.Dense(2)(x)])
    model = keras.Model(inputs, keras.layers.Dense(16)(z))
    model.compile("adam", "mse")
model.fit(np.zeros((32, 16)), np.zeros((32, 16)))
