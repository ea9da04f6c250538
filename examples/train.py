"""Trains a classifier of flower photographs on a TPU, or means to: it has never reached the first step.

    tpushape check examples/train.py:make_model --data examples/train.py:make_data --tpu v5e-8

says what is wrong, and says it on a laptop.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from keras import layers

CLASSES = ["daisy", "dandelion", "rose", "sunflower", "tulip"]
IMAGE_SIZE = (180, 180)
BATCH_SIZE = 100


def prepare(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Scales a photograph to what the network takes."""
    image = tf.image.resize(image, IMAGE_SIZE)
    return tf.cast(image, tf.float32) / 255.0, label


def make_data() -> tf.data.Dataset:
    """Photographs and the numbers of their classes, in batches. Noise stands in for the photographs: only shapes matter here."""
    random = np.random.default_rng(0)
    photographs = random.integers(0, 256, (640, 96, 96, 3), dtype=np.uint8)
    labels = random.integers(0, len(CLASSES), 640)
    dataset = tf.data.Dataset.from_tensor_slices((photographs, labels))
    return dataset.shuffle(640).map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)


def residual_block(x: keras.KerasTensor, filters: int, *, stride: int = 1) -> keras.KerasTensor:
    """Two convolutions and a way around them."""
    shortcut = x
    if stride != 1:
        shortcut = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(shortcut)
    x = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.add([x, shortcut]))


def make_model() -> keras.Model:
    """A small residual network over the five classes."""
    photograph = keras.Input((*IMAGE_SIZE, 3), name="photograph")
    x = layers.Conv2D(32, 7, strides=2, padding="same", use_bias=False)(photograph)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    for filters in (32, 64, 128):
        x = residual_block(x, filters, stride=1 if filters == 32 else 2)
    x = layers.GlobalAveragePooling2D()(x)
    flower = layers.Dense(len(CLASSES), activation="softmax", name="flower")(x)
    model = keras.Model(photograph, flower)
    model.compile("adam", loss="categorical_crossentropy", metrics=["accuracy"])
    return model


def main() -> None:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    with tf.distribute.TPUStrategy(resolver).scope():
        model = make_model()
    model.fit(make_data(), epochs=20)


if __name__ == "__main__":
    main()
