"""Examples written and read as records; parsing on the host."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)
FILE = os.path.join(tempfile.mkdtemp(), "rows.tfrecord")


def write():
    random = np.random.default_rng(0)
    with tf.io.TFRecordWriter(FILE) as writer:
        for _ in range(64):
            row = random.random(8)
            feature = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=row)), "y": tf.train.Feature(float_list=tf.train.FloatList(value=[row.sum()]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(record):
    read = tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([8], tf.float32), "y": tf.io.FixedLenFeature([1], tf.float32)})
    return tf.math.log1p(read["x"]), read["y"]


write()
rows = tf.data.TFRecordDataset([FILE]).map(parse, num_parallel_calls=tf.data.AUTOTUNE).cache().batch(16, drop_remainder=True).prefetch(2)
with strategy.scope():
    model = models.Sequential([layers.InputLayer(input_shape=(8,)), layers.Dense(32, "relu"), layers.Dense(1)])
    model.compile("adam", "mae", metrics=["mse"])
model.fit(rows, epochs=2)
