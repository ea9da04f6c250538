"""More of the facts behind docs/catalogue.md, reproduced: what TensorFlow and Keras say and do, each under its number."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])
Resolver = tf.distribute.cluster_resolver.TPUClusterResolver


def pairs(rows=64, batch=16, drop=True):
    x, y = np.zeros((rows, 4), "float32"), np.zeros((rows, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch, drop_remainder=drop)


def model_of(framework, **compiled):
    model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(1)])
    model.compile("sgd", "mse", **compiled)
    return model


def test_e1_no_name_no_tpu():
    with pytest.raises(ValueError, match=r"^Please provide a TPU Name to connect to\.$"):
        Resolver()
    with pytest.raises(ValueError, match=r"^Please provide a TPU Name to connect to\.$"):
        tf.distribute.TPUStrategy()


def test_e2_this_tensorflow_has_no_tpu_kernels():
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        tf.distribute.TPUStrategy(Resolver(tpu="local"))
    with pytest.raises(tf.errors.NotFoundError, match="TPUs not found in the cluster"):
        Resolver.connect(tpu="local")


@pytest.mark.parametrize(
    ("strategy", "says"),
    [
        ("tf.distribute.TPUStrategy(R())", "No TPU is named, and this machine has none: TPUClusterResolver finds nothing to connect to."),
        ("tf.distribute.TPUStrategy(R(tpu='local'))", "TPUStrategy was given a cluster without a single TPU core."),
    ],
)
def test_a_set_up_without_a_tpu_is_told_how_to_plan_for_one(strategy, says):
    def build():
        with eval(strategy, {"tf": tf, "R": Resolver}).scope():
            return model_of(keras)

    (finding,) = [one for one in tpushape.trace(build, pairs().prefetch(1), tpu="v5e-8", fixes=False).findings if one.serious]
    if finding.rule == "no-tpu":
        assert finding.message == says
        assert "strategy = tpushape.tpu_strategy('v5e-8')" in finding.why
    else:
        assert finding.rule == "code-raises", "the line is not one that names a TPU"


def test_e10_e11_variables_that_a_step_may_not_have():
    strategy = tpushape.tpu_strategy("v5e-8")
    with strategy.scope():
        factor = tf.Variable(1.0)

    @tf.function
    def given():
        return strategy.run(lambda *rest: rest[0] * 2.0, args=(factor,))

    with pytest.raises(ValueError, match=r"cannot handle Variables passed to \*args"):
        given.get_concrete_function()

    @tf.function
    def made(x):
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError, match=r"singleton tf\.Variables created on the first call"):
        made(tf.constant(1.0))


def test_e9_next_is_called_outside():
    strategy = tpushape.tpu_strategy("v5e-8")

    @tf.function
    def step(iterator):
        return strategy.run(lambda: next(iterator))

    with pytest.raises(ValueError, match=r"next\(iterator\) should be called from outside of replica_fn"):
        step.get_concrete_function(iter(strategy.experimental_distribute_dataset(pairs())))


def test_v6_a_metric_from_outside():
    strategy = tpushape.tpu_strategy("v5e-8")
    with strategy.scope():
        model = tf_keras.Sequential([tf_keras.Input((4,)), tf_keras.layers.Dense(1)])
    metric = tf_keras.metrics.MeanAbsoluteError()
    with strategy.scope(), pytest.raises(ValueError, match="was created inside a different distribution strategy scope"):
        model.compile("sgd", "mse", metrics=[metric])


@BOTH
def test_v7_v9_a_layer_made_outside_and_built_inside_is_fine(framework):
    strategy = tpushape.tpu_strategy("v5e-8")
    layer = framework.layers.Dense(1)
    with strategy.scope():
        model = framework.Sequential([framework.Input((4,)), layer])
    model.compile("sgd", "mse")
    report = tpushape.trace(model, pairs().prefetch(1), tpu="v5e-8")
    assert report.ok
    assert {finding.rule for finding in report.findings} <= {"metric-outside"}, "Keras 3 makes the loss tracker where compile is called"


@BOTH
def test_b13_no_batch_at_all(framework):
    data = pairs(rows=6, batch=8)
    if framework is tf_keras:
        with pytest.raises(ValueError, match=r"Expected input data to be non-empty\."):
            model_of(framework).fit(data, verbose=0)
    else:
        model = model_of(framework)
        before = [np.array(weight) for weight in model.get_weights()]
        model.fit(data, verbose=0)
        assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True)), "only a warning, and nothing is learned"
    (finding,) = tpushape.trace(model_of(framework), data.prefetch(1), tpu="v5e-8", fixes=False).findings
    assert (finding.rule, finding.message) == (
        "data-misfit",
        "The dataset has no batch: it holds fewer rows than one batch, and drop_remainder=True drops what there is.",
    )


@BOTH
def test_b18_many_steps_in_one_program_trace_under_the_strategy(framework):
    strategy = tpushape.tpu_strategy("v5e-8")
    with strategy.scope():
        model = model_of(framework, steps_per_execution=4)
    model.make_train_function()
    # Traced to the end: only the device is missing.
    with pytest.raises(tf.errors.OpError, match="TPUReplicate"):
        model.train_function(iter(strategy.experimental_distribute_dataset(pairs().repeat())))


def test_b19_b20_a_distributed_dataset_is_sent_back_to_where_it_came_from():
    data = tpushape.tpu_strategy("v5e-8").experimental_distribute_dataset(pairs())
    with pytest.raises(ValueError, match=r"pass the tf\.data\.Dataset that it was made from"):
        tpushape.trace(model_of(keras), data, tpu="v5e-8")


def test_v13_no_batch_of_a_generator_is_lost():
    drawn = []

    def batches():
        for number in range(3):
            drawn.append(number)
            yield np.full((8, 4), number, "float32"), np.zeros((8, 1), "float32")

    class Seen(keras.callbacks.Callback):
        steps = 0

        def on_train_batch_end(self, batch, logs=None):
            Seen.steps += 1

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(batches(), verbose=0, callbacks=[Seen()])
    assert (drawn, Seen.steps) == ([0, 1, 2], 3)


def test_o8_the_gradient_of_a_loop_needs_a_bound():
    def looped(x, most=None):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda v: tf.reduce_sum(v) < 9.0, lambda v: (tf.sin(v) + v,), (x,), maximum_iterations=most)[0]
        return tape.gradient(y, x)

    with pytest.raises(tf.errors.OpError, match=r"fixed tensor list size|maximum_iteration"):
        tf.function(looped, jit_compile=True)(tf.ones(3))
    assert tf.function(lambda x: looped(x, 5), jit_compile=True)(tf.ones(3)).shape == (3,)


def test_p3_p4_sharding_by_file_wants_files(tmp_path):
    from tensorflow.python.data.experimental.ops import distribute

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    with pytest.raises(tf.errors.NotFoundError, match="Found an unshardable source dataset"):
        list(distribute._AutoShardDataset(pairs().with_options(options), 2, 0))
    (tmp_path / "one.txt").write_text("x\n")
    lines = tf.data.TextLineDataset([str(tmp_path / "one.txt")]).with_options(options)
    with pytest.raises(tf.errors.InvalidArgumentError, match="which is not enough for the required 2 shards"):
        list(distribute._AutoShardDataset(lines, 2, 0))
