"""The evidence behind the TPU rules, reproduced here: the genuine strategy's own errors, XLA's, and what replicas really compute.

Tags as in the rules' sources: a genuine TPUStrategy that traces, XLA on a CPU, MirroredStrategy on virtual CPUs.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape


def distribute(data, name="v5e-8"):
    return tpushape.tpu_strategy(name).experimental_distribute_dataset(data)


def traced_step(model, data):
    """The concrete train step of a tf_keras or Keras 3 model under its strategy, traced and not run."""
    model.make_train_function()
    return model.train_function.get_concrete_function(iter(distribute(data)))


def pairs(rows=64, batch=16, drop=True):
    return tf.data.Dataset.from_tensor_slices((np.zeros((rows, 4), "float32"), np.zeros((rows, 1), "float32"))).batch(batch, drop_remainder=drop)


def replicated_inputs(step):
    graphs = [step.graph, *(function.graph for function in step.graph._functions.values() if getattr(function, "graph", None) is not None)]
    return [op.outputs[0] for graph in graphs for op in graph.get_operations() if op.type == "TPUReplicatedInput"]


def model_in_scope(framework, name="v5e-8"):
    with tpushape.tpu_strategy(name).scope():
        model = framework.Sequential([framework.Input((4,)), framework.layers.Dense(1)])
        model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize("framework", [keras, tf_keras])
def test_b1_a_dynamic_batch_adds_the_true_sizes_as_inputs(framework):
    """B1: the padder sends an int32 size along for each dynamic tensor."""
    if framework is keras:
        static, dynamic = (distribute(pairs(drop=drop)).element_spec[0]._value_specs[0].shape[0] for drop in (True, False))
        assert (static, dynamic) == (2, None)
        return
    static, dynamic = (replicated_inputs(traced_step(model_in_scope(framework), pairs(drop=drop))) for drop in (True, False))
    assert len(dynamic) == len(static) + 2
    assert [tuple(tensor.shape) for tensor in static if tensor.dtype == tf.float32] == [(2, 4), (2, 1)]


def test_b5_unknown_rank_is_refused_by_the_strategy():
    data = pairs().map(lambda x, y: (tf.numpy_function(lambda v: v, [x], tf.float32), y))
    with pytest.raises(ValueError, match="has unknown rank, which is not allowed"):
        traced_step(model_in_scope(tf_keras), data)


def test_b11_without_batch_the_feature_axis_is_cut():
    split = tpushape.tpu_strategy("v5e-8").experimental_local_results(next(iter(distribute(tf.data.Dataset.from_tensor_slices(np.zeros((9, 5)))))))
    assert [tuple(part.shape) for part in split] == [(1,)] * 5 + [(0,)] * 3


def test_b12_single_numbers_raise_an_index_error():
    with pytest.raises(IndexError, match="list index out of range"):
        distribute(tf.data.Dataset.range(16))


@pytest.mark.parametrize("kind", ["ragged", "sparse"])
def test_d7_composite_tensors_are_refused(kind):
    rows = tf.ragged.constant([[1], [2, 3]] * 4) if kind == "ragged" else tf.sparse.from_dense(np.eye(8, dtype="float32"))
    with pytest.raises(ValueError, match="does not support distributed datasets with device prefetch when using sparse or ragged tensors"):
        distribute(tf.data.Dataset.from_tensor_slices(rows).batch(8, drop_remainder=True))


def test_d8_text_itself_is_handed_over_by_the_strategy():
    strategy = tpushape.tpu_strategy("v5e-8")

    @tf.function
    def step(iterator):
        return strategy.run(tf.identity, args=(next(iterator),))

    words = tf.data.Dataset.from_tensor_slices(["a"] * 20)
    step.get_concrete_function(iter(distribute(words.batch(8, drop_remainder=True))))
    graph = step.get_concrete_function(iter(distribute(words.batch(16)))).graph
    types = {op.type for op in graph.get_operations()}
    assert "TPUReplicateMetadata" in types


def test_d5_mixed_float16_is_refused_by_tf_keras():
    try:
        tf_keras.mixed_precision.set_global_policy("mixed_float16")
        with tpushape.tpu_strategy("v5e-8").scope(), pytest.raises(ValueError, match=r"Mixed precision is not supported with the tf\.distribute\.Strategy"):
            tf_keras.Sequential([tf_keras.Input((4,)), tf_keras.layers.Dense(1)]).compile("sgd", "mse")
    finally:
        tf_keras.mixed_precision.set_global_policy("float32")


def test_e7_e8_lambdas_and_eager_steps_are_refused():
    strategy = tpushape.tpu_strategy("v5e-8")
    with pytest.raises(NotImplementedError, match="does not support pure eager execution"):
        strategy.run(lambda: tf.constant(1.0))
    with pytest.raises(ValueError, match="is not a valid root scope name"):
        tf.function(lambda: strategy.run(tf.function(lambda: tf.constant(1.0)))).get_concrete_function()


def test_v1_outside_variables_say_so_in_tf_keras_and_nothing_in_keras_3():
    strategy = tpushape.tpu_strategy("v5e-8")
    legacy = tf_keras.Sequential([tf_keras.Input((4,)), tf_keras.layers.Dense(1)])
    with strategy.scope(), pytest.raises(ValueError, match="was not created in the distribution strategy scope"):
        legacy.compile("sgd", "mse")
    for optimizer, says in (("sgd", "'ResourceVariable' object has no attribute '_packed_variable'"), ("adam", r"inside \"with strategy\.scope\(\)\"")):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        with strategy.scope():
            model.compile(optimizer, "mse")
        with pytest.raises((AttributeError, RuntimeError), match=says):
            model.fit(pairs(), verbose=0)


def test_v2_all_outside_trains_on_the_default_device_without_a_word():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(pairs(), verbose=0)
    assert int(model.optimizer.iterations.numpy()) == 4


@pytest.mark.parametrize("inside", [True, False])
def test_v4_an_optimizer_object_from_outside_is_refused_by_keras_3(inside):
    strategy = tpushape.tpu_strategy("v5e-8")
    optimizer = keras.optimizers.Adam()
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile(optimizer, "mse")
    with strategy.scope() if inside else contextlib.nullcontext(), pytest.raises(RuntimeError, match=r"Mixing different tf\.distribute\.Strategy"):
        model.fit(pairs(), verbose=0)


def test_a_right_set_up_fails_only_because_there_is_no_tpu():
    """The planned strategy traces a whole fit; what is missing is the device."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered to support Op 'TPUReplicatedInput'"):
        model_in_scope(keras).fit(pairs(), verbose=0)


@pytest.mark.parametrize("framework", [keras, tf_keras])
def test_v5_an_optimizer_of_another_model_raises(framework):
    first, second = (framework.Sequential([framework.Input((4,)), framework.layers.Dense(1)]) for _ in range(2))
    optimizer = framework.optimizers.SGD(momentum=0.9)
    optimizer.build(first.trainable_variables)
    second.compile(optimizer, "mse")
    with pytest.raises((ValueError, KeyError), match=r"Unknown variable|cannot recognize variable"):
        second.fit(np.zeros((8, 4)), np.zeros((8, 1)), verbose=0)


def test_o7_xla_wants_constants_for_sizes():
    def sized(x):
        return tf.zeros((tf.cast(tf.matmul(x[None], x[:, None])[0, 0], tf.int32),))

    function = tf.function(sized, jit_compile=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a compile-time constant"):
        function(tf.constant([3.0]))


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x: tf.py_function(lambda v: v, [x], tf.float32), "EagerPyFunc"),
        (lambda x: tf.image.resize(x[None, :, :, None], (2, 2), "bicubic"), "ResizeBicubic"),
        (tf.strings.as_string, "AsString"),
        (lambda x: tf.random.gamma((2,), x), "RandomGamma"),
        (tf.linalg.det, "MatrixDeterminant"),
    ],
)
def test_o1_operations_without_a_kernel_fail_in_xla(function, op):
    from jupyter_tpushape.graph.program import kernels

    assert op not in kernels()
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnimplementedError), match=op):
        tf.function(function, jit_compile=True)(tf.ones((4, 4)))


def test_o1_the_packaged_list_is_what_this_tensorflow_registers():
    from jupyter_tpushape.graph.program import kernels, registered

    tf.function(lambda x: x + 1, jit_compile=True)(tf.ones(2))
    here = registered()
    assert len(here) > 400
    assert len(set(kernels()) - here) <= 21, "only what a TPU's own runtime adds"
    assert here <= set(kernels())


def test_o5_o9_o10_o11_what_xla_does_without_a_word():
    masked = tf.function(lambda x: tf.boolean_mask(x, x > 0), jit_compile=True)
    assert masked(tf.constant([1.0, -1.0, 2.0])).numpy().tolist() == [1.0, 2.0]

    @tf.function(jit_compile=True)
    def checked(x):
        tf.debugging.assert_positive(x)
        return x

    assert float(checked(tf.constant(-1.0))) == -1.0
    gathered = tf.function(tf.gather, jit_compile=True)
    assert gathered(tf.range(5.0), tf.constant([9])).numpy().tolist() == [4.0]
    loss = tf.function(tf.nn.sparse_softmax_cross_entropy_with_logits, jit_compile=True)
    assert np.isnan(loss(tf.constant([5]), tf.zeros((1, 3))).numpy()).all()


def test_p7_a_cache_keeps_the_random_values():
    noisy = tf.data.Dataset.range(4).map(lambda n: tf.random.uniform(()))
    before, behind = ([float(value) for value in ds] for ds in (noisy.cache().repeat(2), noisy.repeat(2)))
    assert before[:4] == before[4:]
    assert behind[:4] != behind[4:]


MIRRORED = """
import json, sys, numpy as np, tensorflow as tf
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 8)
import tf_keras
def weight(replicas, batch):
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
    x, y = np.zeros((batch, 1), "float32"), np.zeros((batch, 1), "float32")
    x[-2:], y[-2:] = 1.0, 1.0
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
    with strategy.scope():
        model = tf_keras.Sequential([tf_keras.Input((1,)), tf_keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
        model.compile(tf_keras.optimizers.SGD(1.0), "mse")
    model.fit(data, verbose=0)
    return float(model.get_weights()[0][0, 0])
print("OUT" + json.dumps([weight(1, 12), weight(8, 12), weight(1, 16), weight(8, 16)]))
"""


def test_b9_uneven_replicas_give_another_gradient():
    """B9: tf_keras sums per-replica losses over the global batch or averages them; even batches agree with one device."""
    done = subprocess.run([sys.executable, "-c", MIRRORED], capture_output=True, text=True, check=True)
    one_uneven, eight_uneven, one_even, eight_even = json.loads(done.stdout.rsplit("OUT", 1)[1])
    assert one_even == pytest.approx(eight_even)
    assert one_uneven != pytest.approx(eight_uneven)
