"""Patches, classes' token and attention, all in Keras 3 on TensorFlow."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

tpu = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(tpu)
keras.mixed_precision.set_global_policy("mixed_bfloat16")


class Token(layers.Layer):
    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer="zeros", name="token")

    def call(self, x):
        return ops.concatenate([ops.tile(ops.cast(self.token, x.dtype), (ops.shape(x)[0], 1, 1)), x], axis=1)


with strategy.scope():
    images = keras.Input((32, 32, 3))
    x = layers.Conv2D(32, 8, strides=8)(images)
    x = Token()(layers.Reshape((16, 32))(x))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 8)(y, y)])
        y = layers.Dense(64, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(32)(y)])
    model = keras.Model(images, layers.Dense(10, dtype="float32")(x[:, 0]))
    model.compile(keras.optimizers.AdamW(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(np.random.default_rng(0).random((32, 32, 32, 3), dtype="float32"), np.arange(32) % 10, batch_size=16)
