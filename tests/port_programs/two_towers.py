"""Two inputs by name, two outputs with a loss each, a dict pipeline."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model, layers

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())


def data():
    random = np.random.default_rng(0)
    x = {"left": random.random((64, 12), "float32"), "right": random.random((64, 20), "float32")}
    y = {"score": random.random((64, 1), "float32"), "kind": np.arange(64) % 3}
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(8, seed=1).batch(16, drop_remainder=True)


with strategy.scope():
    left, right = Input((12,), name="left"), Input((20,), name="right")
    x = layers.concatenate([layers.Dense(16)(left), layers.Dense(16)(right)])
    x = layers.BatchNormalization()(x)
    score, kind = layers.Dense(1, name="score")(x), layers.Dense(3, activation="softmax", name="kind")(x)
    model = Model({"left": left, "right": right}, {"score": score, "kind": kind})
    model.compile("sgd", loss={"score": "mse", "kind": "sparse_categorical_crossentropy"}, loss_weights={"score": 1.0, "kind": 0.5})

model.fit(data(), epochs=2)
