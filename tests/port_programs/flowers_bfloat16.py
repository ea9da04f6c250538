"""Photographs in bfloat16 over a pretrained kind of network, a function that makes the strategy, a learning rate schedule."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, mixed_precision

AUTO = tf.data.AUTOTUNE


def connect():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


strategy = connect()
mixed_precision.set_global_policy("mixed_bfloat16")


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    return tf.image.resize(image, (64, 64)), label


def data():
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (64, 72, 72, 3)).astype("float32")
    labels = tf.one_hot(np.arange(64) % 5, 5)
    return tf.data.Dataset.from_tensor_slices((images, labels)).map(augment, num_parallel_calls=AUTO).batch(16, drop_remainder=True).prefetch(AUTO)


with strategy.scope():
    base = keras.applications.MobileNetV2(include_top=False, weights=None, input_shape=(64, 64, 3))
    model = keras.Sequential(
        [layers.Rescaling(1 / 127.5, offset=-1), base, layers.GlobalAveragePooling2D(), layers.Dense(5, activation="softmax", dtype="float32")]
    )
    schedule = keras.optimizers.schedules.CosineDecay(1e-3, 100)
    model.compile(keras.optimizers.SGD(schedule, momentum=0.9), "categorical_crossentropy", ["accuracy"])

model.fit(data(), epochs=3)
