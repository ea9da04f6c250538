"""A model of two paths with operators between tensors, an older preprocessing name, and learning-rate words."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
x = np.random.default_rng(0).random((64, 8, 8, 1)).astype("float32")
y = keras.utils.to_categorical(np.arange(64) % 4, 4)
with strategy.scope():
    image = keras.layers.Input(shape=(8, 8, 1))
    flat = keras.layers.Flatten()(keras.layers.experimental.preprocessing.Rescaling(2.0)(image))
    deep = keras.layers.Dense(16, activation=keras.activations.relu)(flat)
    joined = tf.concat([deep * 0.5 + 1.0, tf.math.sqrt(tf.abs(flat) + 1e-6)], 1)
    model = keras.models.Model(inputs=image, outputs=keras.layers.Dense(4, activation="softmax")(joined))
    model.compile(optimizer=keras.optimizers.Adagrad(lr=0.01), loss="categorical_crossentropy")
model.fit(x, y, batch_size=16, verbose=0)
