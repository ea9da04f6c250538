"""A generator of images: upsampling, LeakyReLU with its old argument, tanh."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential, layers, losses, optimizers

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
with strategy.scope():
    model = Sequential(
        [
            layers.Dense(7 * 7 * 32, use_bias=False, input_shape=(50,)),
            layers.BatchNormalization(),
            layers.LeakyReLU(alpha=0.2),
            layers.Reshape((7, 7, 32)),
            layers.Conv2DTranspose(16, 5, strides=2, padding="same", use_bias=False),
            layers.LeakyReLU(0.2),
            layers.UpSampling2D(interpolation="bilinear"),
            layers.Conv2D(1, 5, padding="same", activation="tanh"),
        ]
    )
    model.compile(optimizers.Adam(2e-4, beta_1=0.5), losses.MeanAbsoluteError())
noise = np.random.default_rng(0).normal(size=(32, 50)).astype("float32")
model.fit(noise, np.zeros((32, 28, 28, 1), "float32"), batch_size=16)
