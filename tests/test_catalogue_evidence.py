"""More of the facts behind docs/catalogue.md, reproduced: what TensorFlow and Keras say and do, each under its number."""

from __future__ import annotations

import os
import subprocess

import jax_beside
import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.ops.op_selector import UnliftableError

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


@pytest.mark.parametrize(("strategy", "cause"), [("tf.distribute.TPUStrategy(R())", "unnamed"), ("tf.distribute.TPUStrategy(R(tpu='local'))", "empty")])
def test_a_set_up_without_a_tpu_is_told_how_to_plan_for_one(strategy, cause):
    def build():
        with eval(strategy, {"tf": tf, "R": Resolver}).scope():
            return model_of(keras)

    (finding,) = [one for one in tpushape.trace(build, pairs().prefetch(1), tpu="v5e-8", fixes=False).findings if one.serious]
    if finding.rule == "no-tpu":
        assert finding.fact.cause == cause
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
    assert finding.rule == "data-misfit" and "drop_remainder=True" in finding.message


def test_b4_another_axis_of_unknown_size_sends_the_true_sizes_along():
    strategy = tpushape.tpu_strategy("v5e-8")

    def inputs_for(pipe):
        @tf.function
        def step(iterator):
            return strategy.run(lambda x: x + 1.0, args=(next(iterator),))

        rows = tf.data.Dataset.from_generator(lambda: iter([[1.0]] * 32), output_signature=tf.TensorSpec((None,)))
        graph = step.get_concrete_function(iter(strategy.experimental_distribute_dataset(pipe(rows)))).graph
        return sum(op.type == "TPUReplicatedInput" for op in graph.get_operations())

    padded = inputs_for(lambda rows: rows.padded_batch(16, padded_shapes=[8], drop_remainder=True))
    assert inputs_for(lambda rows: rows.padded_batch(16, drop_remainder=True)) == padded + 1


def test_b7_b8_rows_that_do_not_divide_are_dealt_without_a_word():
    strategy = tpushape.tpu_strategy("v5e-8")

    def dealt(batch):
        split = strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(batch, drop_remainder=True))
        parts = strategy.experimental_local_results(next(iter(split)))
        return [len(part) for part in parts], split.element_spec._value_specs[0].shape[0]

    assert dealt(12) == ([2, 2, 2, 2, 2, 2, 0, 0], None)
    assert dealt(4) == ([1, 1, 1, 1, 0, 0, 0, 0], None)
    assert dealt(16) == ([2] * 8, 2)


@BOTH
def test_b14_b15_what_fit_knows_of_the_batch(framework):
    def seen_by(*data, **kwargs):
        shapes = []

        class Own(framework.Model):
            def train_step(self, batch):
                shapes.append(tuple(batch[0].shape))
                return {"loss": tf.reduce_mean(batch[0])}

        model = Own()
        model.compile("sgd", "mse")
        model.fit(*data, verbose=0, **kwargs)
        return shapes[-1]

    x, y = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
    assert seen_by(x, y, batch_size=16) == (16, 4)
    assert seen_by(x, y, batch_size=48) == (None, 4), "64 rows do not fill batches of 48"
    generated = seen_by(((x, y) for _ in range(2)), steps_per_epoch=2)
    assert generated == ((None, 4) if framework is keras else (None, None))


@BOTH
def test_b16_more_steps_than_data_end_the_training_early(framework):
    model = model_of(framework)
    model.fit(pairs(), steps_per_epoch=9, epochs=2, verbose=0)
    assert int(np.asarray(model.optimizer.iterations)) < 18, "a warning, and no error"


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
    strategy = tpushape.tpu_strategy("v5e-8")
    data = strategy.experimental_distribute_dataset(pairs())
    with strategy.scope():
        model = model_of(tf_keras)
    with pytest.raises(ValueError, match="When providing a distributed dataset, you must specify the number of steps to run"):
        model.fit(data, verbose=0)
    with pytest.raises(ValueError, match=r"pass the original tf\.data\.Dataset"):
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


@BOTH
def test_v8_fit_alone_inside_the_scope_raises(framework):
    model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(1)])
    model.compile("adam", "mse")
    with tpushape.tpu_strategy("v5e-8").scope(), pytest.raises((RuntimeError, ValueError), match=r"Mixing different|not created in TPUStrategy scope"):
        model.fit(pairs(), verbose=0)


def test_v12_state_is_made_in_the_scope_of_the_variables():
    with tpushape.tpu_strategy("v5e-8").scope():
        model = tf_keras.Sequential([tf_keras.Input((4,)), tf_keras.layers.Dense(1)])
    with tpushape.tpu_strategy("v5e-4").scope():
        legacy = tf_keras.optimizers.legacy.SGD(momentum=0.9)
        with pytest.raises(ValueError, match="different from the scope used for the original variable"):
            legacy._create_slots(model.trainable_variables)
        with pytest.raises(ValueError, match="must only be passed a variable created in this"):
            tf_keras.optimizers.SGD(momentum=0.9).build(model.trainable_variables)


def test_v10_a_bare_variable_from_outside_is_taken_by_tensorflows_python():
    strategy = tpushape.tpu_strategy("v5e-8")
    factor = tf.Variable(2.0)

    @tf.function
    def step(x):
        return strategy.run(lambda v: v * factor, args=(x,))

    captured = step.get_concrete_function(tf.TensorSpec((8, 4))).captured_inputs
    assert [handle is factor.handle for handle in captured] == [True], "one handle, on the host, for all replicas"


def test_v11_a_variable_from_a_tensor_inside_a_step_raises():
    def step(x):
        return tf.Variable(tf.reduce_sum(x)) * 2.0

    with pytest.raises((ValueError, UnliftableError), match=r"init_scope|singleton tf\.Variables|Unable to lift"):
        tf.function(step).get_concrete_function(tf.constant([1.0]))


def test_o4_a_run_inside_a_run_is_refused():
    strategy = tpushape.tpu_strategy("v5e-8")

    @tf.function
    def step(x):
        return strategy.run(lambda v: strategy.run(lambda w: w, args=(v,)), args=(x,))

    with pytest.raises(RuntimeError, match="Method requires being in cross-replica context"):
        step.get_concrete_function(tf.constant([1.0]))


@BOTH
def test_o15_keras_3_puts_xla_around_the_whole_step_and_tf_keras_inside(framework):
    with tpushape.tpu_strategy("v5e-8").scope():
        model = model_of(framework, jit_compile=True)
    # Without a TPU both end at its operations: Keras 3 in XLA's compiler already, tf_keras where the device is asked.
    with pytest.raises(tf.errors.OpError, match="tf2xla conversion failed" if framework is keras else "No OpKernel was registered"):
        model.fit(pairs(), verbose=0)


@pytest.mark.parametrize(
    ("make", "op"),
    [
        (lambda: keras.layers.RandomRotation(0.5), "ImageProjectiveTransformV3"),
        (lambda: tf_keras.layers.RandomZoom(0.5), "ImageProjectiveTransformV3"),
        (lambda: lambda x, training: (tf.print(x), x)[1], "StringFormat|PrintV2"),
    ],
    ids=["rotation", "zoom", "print"],
)
def test_o13_o16_preprocessing_and_prints_have_no_kernel(make, op):
    layer = make()

    @tf.function(jit_compile=True)
    def step(x):
        return layer(x, training=True)

    with pytest.raises(tf.errors.OpError, match=op):
        step(tf.ones((2, 4, 4, 1)))


def test_o3_a_summary_in_the_step_has_no_kernel(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))

    @tf.function(jit_compile=True)
    def step(x):
        with writer.as_default(step=0):
            tf.summary.write("x", x)

    with pytest.raises(tf.errors.OpError, match="WriteSummary"):
        step(tf.constant(1.0))


def test_o8_the_gradient_of_a_loop_needs_a_bound():
    def looped(x, most=None):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda v: tf.reduce_sum(v) < 9.0, lambda v: (tf.sin(v) + v,), (x,), maximum_iterations=most)[0]
        return tape.gradient(y, x)

    with pytest.raises(tf.errors.OpError, match=r"fixed tensor list size|maximum_iteration"):
        tf.function(looped, jit_compile=True)(tf.ones(3))
    assert tf.function(lambda x: looped(x, 5), jit_compile=True)(tf.ones(3)).shape == (3,)


def test_p9_the_pipeline_is_no_part_of_the_tpus_program():
    strategy = tpushape.tpu_strategy("v5e-8")
    images = tf.data.Dataset.from_tensor_slices(np.zeros((16, 8, 8, 3), "float32"))
    small = images.map(lambda image: tf.image.resize(image, (4, 4))).batch(16, drop_remainder=True)

    def operations(data, replica):
        @tf.function
        def step(iterator):
            return strategy.run(replica, args=(next(iterator),))

        graph = step.get_concrete_function(iter(strategy.experimental_distribute_dataset(data))).graph
        return {op.type for op in graph.get_operations() if "_tpu_replicate" in op.node_def.attr}

    assert "ResizeBilinear" not in operations(small, tf.identity)
    whole = images.batch(16, drop_remainder=True)
    assert "ResizeBilinear" in operations(whole, lambda image: tf.image.resize(image, (4, 4)))


ON_JAX = """
import keras, numpy as np
keras.distribution.set_distribution(keras.distribution.DataParallel())
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.zeros((16, 5)), np.zeros((16, 1)), batch_size=16, verbose=0)
for x in (np.zeros((12, 5)), np.array([["a"] * 5] * 16)):
    try:
        model.fit(x, np.zeros((len(x), 1)), batch_size=len(x), verbose=0)
        print("taken")
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""


@pytest.mark.skipif(not jax_beside.python(), reason="JAX is not installed")
def test_b17_d10_what_keras_3_on_jax_does_not_take():
    names = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    done = subprocess.run([jax_beside.python(), "-c", ON_JAX], capture_output=True, text=True, check=True, env={**os.environ, **names})
    uneven, text = done.stdout.strip().splitlines()[-2:]
    assert "axis 0 is partitioned 8 times, but the dimension size is 12" in uneven
    assert text != "taken"


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


def test_o17_a_constant_of_two_gibibytes_is_no_part_of_a_graph():
    """The array is one number that is read again and again: it takes no memory."""
    table = np.broadcast_to(np.float32(0), (2**15, 2**14))

    @tf.function
    def step(x):
        return x + tf.constant(table)[0]

    with pytest.raises(ValueError, match="Cannot create a tensor proto whose content is larger than 2GB"):
        step.get_concrete_function(tf.TensorSpec((2**14,)))
