"""Means, masks and concatenations in TensorFlow's words in a layer, which all have their like in keras.ops."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model
from tensorflow.keras.layers import Dense, Embedding, Lambda, Layer

strategy = tf.distribute.experimental.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())


class MaskedMean(Layer):
    def call(self, x, tokens):
        kept = tf.cast(tf.greater(tokens, 0), tf.float32)
        kept = tf.expand_dims(kept, axis=-1)
        total = tf.reduce_sum(x * kept, axis=1)
        return tf.concat([total / tf.maximum(tf.reduce_sum(kept, axis=1), 1.0), tf.reduce_max(x, axis=1)], axis=-1)


def margin(y_true, y_pred):
    return tf.reduce_mean(tf.square(tf.cast(y_true, tf.float32) - y_pred), axis=-1)


with strategy.scope():
    tokens = Input((24,), dtype=tf.int32)
    x = Embedding(500, 16)(tokens)
    x = MaskedMean()(x, tokens)
    x = Lambda(lambda t: tf.nn.l2_normalize(t, axis=-1))(x)
    model = Model(tokens, Dense(4, activation=tf.nn.gelu)(x))
    model.compile("rmsprop", loss=margin)

x = np.random.default_rng(0).integers(0, 500, (32, 24))
y = np.random.default_rng(1).random((32, 4)).astype("float32")
model.fit(x, y, epochs=1)
