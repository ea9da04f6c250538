"""A classifier of digits: tf.keras, the resolver in a try, arrays."""

import numpy as np
import tensorflow as tf

try:
    tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
    print("Running on TPU", tpu.master())
    tf.config.experimental_connect_to_cluster(tpu)
    tf.tpu.experimental.initialize_tpu_system(tpu)
    strategy = tf.distribute.TPUStrategy(tpu)
except ValueError:
    strategy = tf.distribute.get_strategy()

print("Replicas:", strategy.num_replicas_in_sync)
tf.random.set_seed(1)
images = np.random.default_rng(0).random((64, 28, 28)).astype("float32")
labels = np.arange(64) % 10

with strategy.scope():
    model = tf.keras.models.Sequential(
        [tf.keras.layers.Flatten(input_shape=(28, 28)), tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dropout(0.2), tf.keras.layers.Dense(10)]
    )
    model.compile(optimizer="adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"], steps_per_execution=2)

model.fit(images, labels, batch_size=8 * strategy.num_replicas_in_sync, epochs=2)
model.save("digits")
