"""A residual network with a callback that changes the rate, validation data, and weights that are saved."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import jupyter_tpushape as tpushape

strategy = tpushape.tpu_strategy("v5e-8")
BATCH_SIZE = 4 * strategy.num_replicas_in_sync


def block(x, filters):
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    y = keras.activations.relu(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
    return layers.ReLU()(layers.add([layers.Conv2D(filters, 1)(x), layers.BatchNormalization()(y)]))


def rate(epoch):
    return 0.1 * 0.5 ** (epoch // 10)


def load(train):
    random = np.random.default_rng(int(train))
    made = tf.data.Dataset.from_tensor_slices((random.random((64, 32, 32, 3), dtype="float32"), np.arange(64) % 10))
    return made.repeat().batch(BATCH_SIZE, drop_remainder=True)


with strategy.scope():
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(8, 3, padding="same")(inputs)
    x = block(layers.MaxPooling2D()(x), 16)
    model = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
    model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(load(True), steps_per_epoch=4, validation_data=load(False), validation_steps=2, callbacks=[keras.callbacks.LearningRateScheduler(rate)])
model.save_weights("resnet.h5")
