"""A small U-Net in functions, operations between layers, a pipeline from a generator."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())


def down(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return x, layers.MaxPooling2D()(x)


def up(x, skip, filters):
    x = layers.Conv2DTranspose(filters, 2, strides=2)(x)
    x = tf.concat([x, skip], axis=-1)
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


def make():
    inputs = keras.Input((32, 32, 3))
    first, x = down(inputs, 8)
    second, x = down(x, 16)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = up(up(x, second, 16), first, 8)
    return keras.Model(inputs, layers.Conv2D(2, 1)(x))


def examples():
    random = np.random.default_rng(0)
    for _ in range(32):
        yield random.random((32, 32, 3), dtype="float32"), random.integers(0, 2, (32, 32)).astype("int32")


def pipeline():
    kinds = (tf.TensorSpec((32, 32, 3), tf.float32), tf.TensorSpec((32, 32), tf.int32))
    return tf.data.Dataset.from_generator(examples, output_signature=kinds).batch(8, drop_remainder=True)


with strategy.scope():
    model = make()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(pipeline(), epochs=1)
