"""An encoder of TensorFlow Hub."""

import tensorflow as tf
import tensorflow_hub as hub
import tf_keras as keras

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = keras.Sequential(
        [
            hub.KerasLayer("https://tfhub.dev/google/imagenet/mobilenet_v2_100_224/feature_vector/5", trainable=True, input_shape=(224, 224, 3)),
            keras.layers.Dense(5, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
model.fit(tf.zeros((8, 224, 224, 3)), tf.zeros((8,), tf.int32))
