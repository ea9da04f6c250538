"""Features in a table: normalization, categories as integers; legacy Keras asked for in the environment."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
import tf_keras

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local"))
random = np.random.default_rng(0)
numbers, kinds = random.random((96, 6)).astype("float32"), random.integers(0, 10, (96, 1))
target = (numbers.sum(axis=1) > 3).astype("float32")

with strategy.scope():
    a, b = tf_keras.Input((6,)), tf_keras.Input((1,), dtype="int32")
    x = tf_keras.layers.Concatenate()([tf_keras.layers.BatchNormalization()(a), tf_keras.layers.Flatten()(tf_keras.layers.Embedding(10, 4)(b))])
    x = tf_keras.layers.Dense(32, activation="relu", kernel_regularizer=tf_keras.regularizers.l2(1e-4))(x)
    model = tf_keras.Model([a, b], tf_keras.layers.Dense(1, activation="sigmoid")(x))
    model.compile(tf_keras.optimizers.experimental.AdamW(1e-3), "binary_crossentropy", metrics=[tf_keras.metrics.AUC()])
model.fit([numbers, kinds], target, batch_size=32)
