"""A training loop of one's own: strategy.run and a tape."""

import keras
import numpy as np
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)


@tf.function
def step(iterator):
    def replica(batch):
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica, args=(next(iterator),)), axis=None)


data = tf.data.Dataset.from_tensor_slices((np.zeros((32, 4), "float32"), np.zeros((32, 1), "float32"))).repeat().batch(8)
batches = iter(strategy.experimental_distribute_dataset(data))
for _ in range(4):
    print(step(batches))
