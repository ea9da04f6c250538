"""Text goes into the model."""

import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
texts = tf.constant(["good", "bad", "fine", "poor"] * 8)
vectorize = keras.layers.TextVectorization(max_tokens=100, output_sequence_length=8)
vectorize.adapt(texts)
with strategy.scope():
    words = keras.Input((1,), dtype=tf.string)
    x = keras.layers.Embedding(100, 8)(vectorize(words))
    model = keras.Model(words, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", "mse")
model.fit(texts, tf.constant([1.0, 0.0] * 16), batch_size=8)
