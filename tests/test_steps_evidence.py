"""What a step of one's own really learns on two CPUs, for each way to scale its loss: the evidence of the rules on gradients."""

from __future__ import annotations

import json
import subprocess
import sys

MIRRORED = """
import json, numpy as np, tensorflow as tf
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
import keras, tf_keras
out = {}
def weight(framework, replicas, scaled, compiled=None):
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
    x, y = np.ones((8, 1), "float32"), np.ones((8, 1), "float32")
    with strategy.scope():
        model = framework.Sequential([framework.Input((1,)), framework.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
        optimizer = framework.optimizers.SGD(0.1)
        per_row = framework.losses.MeanSquaredError(reduction="none")
        mean = framework.losses.MeanSquaredError()
    def replica(batch):
        x, y = batch
        with tf.GradientTape() as tape:
            p = model(x)
            loss = {"mean": lambda: tf.reduce_mean(per_row(y, p)), "average": lambda: tf.nn.compute_average_loss(per_row(y, p), global_batch_size=8),
                    "masked": lambda: tf.reduce_sum(per_row(y, p) * y[:, 0]) / tf.reduce_sum(y), "clipped": lambda: tf.reduce_mean(per_row(y, p)),
                    "object": lambda: mean(y, p)}[scaled]()
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients = tf.clip_by_global_norm(gradients, 9.0)[0] if scaled == "clipped" else gradients
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    @tf.function
    def step(batch):
        strategy.run(replica, args=(batch,))
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(8, drop_remainder=True))
    try:
        step(next(iter(data)))
    except ValueError as error:
        return str(error).strip().splitlines()[-1][-400:] if "Reduction" not in str(error) else "Reduction"
    return round(float(model.get_weights()[0][0, 0]), 4)
def compiled(framework, replicas, reduction):
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
    with strategy.scope():
        model = framework.Sequential([framework.Input((1,)), framework.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
        model.compile(framework.optimizers.SGD(0.1), framework.losses.MeanSquaredError(reduction=reduction))
    model.fit(np.ones((8, 1), "float32"), np.ones((8, 1), "float32"), batch_size=8, verbose=0)
    return round(float(model.get_weights()[0][0, 0]), 4)
def gamma_is_finite(framework):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())
    with strategy.scope():
        model = framework.Sequential([framework.Input((2,)), framework.layers.BatchNormalization(), framework.layers.Dense(1)])
        optimizer = framework.optimizers.SGD(0.1)
    def replica(batch):
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x, training=True) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    @tf.function
    def step(batch):
        strategy.run(replica, args=(batch,))
    one_row = tf.data.Dataset.from_tensor_slices((np.ones((1, 2), "float32"), np.ones((1, 1), "float32"))).batch(1)
    step(next(iter(strategy.experimental_distribute_dataset(one_row))))
    return bool(np.isfinite(np.array(model.layers[0].gamma)).all())
for name, framework in (("keras", keras), ("tf_keras", tf_keras)):
    out["finite " + name] = gamma_is_finite(framework)
    out[name] = {how: weight(framework, 2, how) for how in ("mean", "average", "object", "masked", "clipped")}
    out[name].update({how + "-fit": compiled(framework, 2, how) for how in ("none", "sum", "sum_over_batch_size")})
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model, optimizer = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]), keras.optimizers.SGD(0.1)
def replica(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
def step(batch):
    strategy.run(replica, args=batch)
import jupyter_tpushape as tpushape
data = tf.data.Dataset.from_tensor_slices((np.ones((14, 1), "float32"), np.ones((14, 1), "float32"))).batch(7, drop_remainder=True).prefetch(1)
report = tpushape.trace(step, data)
split = next(node for node in report.flow.nodes if node.kind == "split")
out["live"] = [report.target.name, report.target.live, split.config["rows"], sorted(finding.rule for finding in report.findings)]
print("OUT" + json.dumps(out))
"""


def test_l1_l2_l3_l4_b10_what_replicas_really_learn():
    """Weights after one step on two CPUs, for each way to scale a loss: what the rules say is what happens."""
    done = subprocess.run([sys.executable, "-c", MIRRORED], capture_output=True, text=True, check=True)
    held = json.loads(done.stdout.rsplit("OUT", 1)[1])
    # A step of SGD(0.1) by the gradient of the mean over the whole batch takes the weight from 0 to 0.2, by that of the sum over 8 rows to 1.6.
    for framework in ("keras", "tf_keras"):
        one = held[framework]
        assert (one["average"], one["sum_over_batch_size-fit"]) == (0.2, 0.2)
        assert one["mean"] == one["masked"] == one["clipped"] == 0.4, "L3: as many times too large as there are replicas"
        assert (one["none-fit"], one["sum-fit"]) == (1.6, 1.6), "L4: the sum over the rows"
    assert held["keras"]["object"] == 0.2, "L2: a Keras 3 loss divides by the replicas itself"
    assert held["tf_keras"]["object"] == "Reduction", "L1"
    assert held["live"] == ["MirroredStrategy", True, "4,3", ["gradient-scale", "uneven-replicas"]], "a live strategy is the one that is asked"
    assert (held["finite keras"], held["finite tf_keras"]) == (False, True), "B10: Keras 3 makes NaN of a replica without rows"
