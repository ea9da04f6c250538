"""A subclassed model with two halves; the set-up in main."""

import numpy as np
import tensorflow as tf


class Autoencoder(tf.keras.Model):
    def __init__(self, width):
        super().__init__()
        self.encoder = tf.keras.Sequential([tf.keras.layers.Dense(64, activation=tf.nn.relu), tf.keras.layers.Dense(width)])
        self.decoder = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(100, activation="sigmoid")])

    def call(self, x):
        flat = tf.reshape(x, (-1, 100))
        return tf.reshape(self.decoder(self.encoder(flat)), (-1, 10, 10))


def main():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    with tf.distribute.TPUStrategy(resolver).scope():
        model = Autoencoder(8)
        model.compile(optimizer="adam", loss=tf.keras.losses.MeanSquaredError())
    images = np.random.default_rng(0).random((64, 10, 10)).astype("float32")
    model.fit(images, images, batch_size=32, callbacks=[tf.keras.callbacks.ModelCheckpoint("best", save_weights_only=True)])


if __name__ == "__main__":
    main()
