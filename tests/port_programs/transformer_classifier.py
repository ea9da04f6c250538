"""Layers of one's own with operations of TensorFlow in call; Keras 3 on TensorFlow."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


class Positions(layers.Layer):
    def __init__(self, length, vocabulary, width, **options):
        super().__init__(**options)
        self.tokens = layers.Embedding(vocabulary, width)
        self.places = layers.Embedding(length, width)

    def call(self, x):
        places = tf.range(start=0, limit=tf.shape(x)[-1], delta=1)
        return self.tokens(x) + self.places(places)


class Block(layers.Layer):
    def __init__(self, width, heads, hidden, **options):
        super().__init__(**options)
        self.attention = layers.MultiHeadAttention(heads, width // heads)
        self.feed = keras.Sequential([layers.Dense(hidden, activation="gelu"), layers.Dense(width)])
        self.before, self.after = layers.LayerNormalization(epsilon=1e-6), layers.LayerNormalization(epsilon=1e-6)

    def call(self, x):
        x = self.before(x + self.attention(x, x))
        return self.after(x + self.feed(x))


with strategy.scope():
    inputs = keras.Input((32,), dtype="int32")
    x = Block(32, 2, 64)(Positions(32, 1000, 32)(inputs))
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

tokens = np.random.default_rng(0).integers(0, 1000, (64, 32))
model.fit(tokens, np.arange(64) % 2, batch_size=32)
