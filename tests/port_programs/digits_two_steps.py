"""The resolver asked first, the strategy made in an if; tf_keras."""

import numpy as np
import tensorflow as tf
import tf_keras as keras
from tf_keras import layers

try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
except ValueError:
    resolver = None
if resolver is not None:
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
else:
    strategy = tf.distribute.MirroredStrategy()

BATCH = 16 * strategy.num_replicas_in_sync


def make_model():
    inputs = keras.Input((28, 28, 1))
    x = layers.Conv2D(16, 3, activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def dataset():
    images = np.random.default_rng(0).integers(0, 256, (128, 28, 28, 1)).astype("uint8")
    labels = np.arange(128) % 10
    made = tf.data.Dataset.from_tensor_slices((images, labels))
    return made.map(lambda image, label: (tf.cast(image, tf.float32) / 255.0, label)).batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


with strategy.scope():
    model = make_model()
    model.compile(keras.optimizers.Adam(lr=1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])

model.fit(dataset(), epochs=1, workers=4, use_multiprocessing=True)
