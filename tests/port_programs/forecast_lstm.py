"""Windows of a series through two LSTMs; the legacy optimizer; a reduction by its old name."""

import numpy as np
import tensorflow as tf
import tensorflow.keras as keras
from tensorflow.keras import layers

tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(tpu)
tf.tpu.experimental.initialize_tpu_system(tpu)
tpu_strategy = tf.distribute.TPUStrategy(tpu)

series = np.sin(np.arange(400) / 10).astype("float32")
windows = np.stack([series[i : i + 24] for i in range(320)])[..., None]
following = series[24:344]

with tpu_strategy.scope():
    model = keras.Sequential()
    model.add(layers.LSTM(16, return_sequences=True, input_shape=(24, 1)))
    model.add(layers.LSTM(16))
    model.add(layers.Dense(1))
    loss = keras.losses.Huber(reduction=keras.losses.Reduction.SUM_OVER_BATCH_SIZE)
    model.compile(loss=loss, optimizer=keras.optimizers.legacy.RMSprop(lr=0.01))

history = model.fit(windows, following, batch_size=64, epochs=2, max_queue_size=4)
