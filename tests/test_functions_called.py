"""Operations inside the functions that a program calls, at any depth and by either way to call one; XLA's own word beside each."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.function import Defun

import jupyter_tpushape as tpushape

FRAMEWORKS = ["keras", "tf_keras"]


def text(x):
    return tf.strings.to_number(tf.strings.as_string(x))


def from_data(x):
    return tf.reshape(x, (tf.cast(tf.reduce_sum(x), tf.int32), -1))


def fine(x):
    return x * 2.0


def by_attribute(inner):
    """As TensorFlow 2 calls a function: PartitionedCall, and If with its branches."""

    @tf.function
    def first(x):
        return inner(x)

    @tf.function
    def second(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: first(x), lambda: first(x + 1.0))

    return second


def by_name(inner):
    """As TensorFlow 1 does: the operation has the function's name."""

    @Defun(tf.float32)
    def first(x):
        return inner(x)

    @Defun(tf.float32)
    def second(x):
        return first(x + 1.0)

    return second


CALLS = pytest.mark.parametrize("call", [by_attribute, by_name])


def found(framework, function):
    keras = importlib.import_module(framework)

    class Own(keras.layers.Layer):
        def call(self, x):
            y = function(x)
            return tf.reshape(y, (-1, 4))

        def compute_output_shape(self, shape):
            return shape

    model = keras.Sequential([keras.Input((4,)), Own(name="own"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    report = tpushape.trace(model, (np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")), tpu="v5e-8", fixes=False)
    return [finding for finding in report.findings if finding.serious]


def refusal(function):
    made = tf.function(function, jit_compile=True, autograph=False)
    with pytest.raises(Exception, match=r".") as error:
        made.experimental_get_compiler_ir(tf.TensorSpec((8, 4)))(stage="hlo")
    return str(error.value)


@CALLS
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_function_of_operations_that_have_kernels_is_taken(framework, call):
    assert found(framework, call(fine)) == []
    tf.function(call(fine), jit_compile=True, autograph=False).experimental_get_compiler_ir(tf.TensorSpec((8, 4)))(stage="hlo")


@CALLS
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_operation_without_a_kernel_is_found_with_its_layer_and_line(framework, call):
    (finding,) = found(framework, call(text))
    assert finding.rule == "tpu-kernel" and "AsString" in finding.message and finding.fact.node.name == "own"
    assert finding.location is not None and finding.location.file.endswith("test_functions_called.py")
    assert "AsString" in refusal(call(text))


@CALLS
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_size_that_the_data_decides_is_found_with_its_layer(framework, call):
    (finding,) = found(framework, call(from_data))
    assert finding.rule == "shape-from-data" and "Reshape" in finding.message and finding.fact.node.name == "own"
    assert "must be a compile-time constant" in refusal(call(from_data))
