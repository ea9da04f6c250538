"""XLA's refusals in words: which layer and line, why, what to do."""

from __future__ import annotations

import importlib
import os

import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import lowering_tf

FRAMEWORKS = ["keras", "tf_keras"]


def refused(framework, body, trains=False):
    keras = importlib.import_module(framework)

    class Own(keras.layers.Layer):
        def call(self, x):
            return body(x)

        def compute_output_shape(self, shape):
            return shape

    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(8), Own(name="own")])
    model.compile("sgd", "mse")
    data = (tf.TensorSpec((64, 8)), tf.TensorSpec((64, 8))) if trains else tf.TensorSpec((64, 8))
    report = tpushape.trace(model, data, tpu="v5e-8", compiler="xla", fixes=False)
    (finding,) = [finding for finding in report.findings if finding.rule == "xla-refused"]
    *_, verdict = report.verdicts
    assert not verdict.ok and verdict.message == finding.message
    assert finding.severity == "tpu" and "Failed getting" not in finding.message + finding.why
    return report, finding


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_operation_without_a_kernel(framework):
    report, finding = refused(framework, lambda x: tf.strings.to_number(tf.strings.as_string(x)))
    assert finding.message == "own: XLA has no kernel for AsString."
    assert finding.why.endswith("Move the operation into dataset.map, where the host runs it, or replace it.")
    assert "tf.strings.as_string" in finding.location.text
    # TensorFlow's own list for TPUs says it too.
    assert "tpu-kernel" in [other.rule for other in report.findings]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("within", [False, True])
def test_a_table_of_words_of_which_xla_says_only_that_a_check_failed(framework, within):
    keras = importlib.import_module(framework)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), 0)
    find = tf.function(table.lookup) if within else table.lookup

    class Own(keras.layers.Layer):
        def call(self, x):
            return tf.cast(find(tf.cast(x, tf.int32)), tf.float32)

        def compute_output_shape(self, shape):
            return shape

    model = keras.Sequential([keras.layers.Input((8,)), Own(name="own")])
    report = tpushape.trace(model, tf.TensorSpec((64, 8)), tpu="v5e-8", compiler="xla", fixes=False)
    (finding,) = [finding for finding in report.findings if finding.rule == "xla-refused"]
    assert finding.message == "own: XLA has no kernel for LookupTableFindV2."
    assert finding.why == "Move the operation into dataset.map, where the host runs it, or replace it."


def test_a_refusal_is_not_written_to_the_error_stream_as_well(capfd):
    refused("keras", lambda x: tf.reshape(x, [tf.cast(tf.reduce_sum(x), tf.int32), -1]))
    assert "Stack trace for op definition" not in capfd.readouterr().err

    def refuses():
        os.write(2, b"refused\n")
        raise KeyError

    with pytest.raises(KeyError), lowering_tf._unsaid_twice():
        refuses()
    with lowering_tf._unsaid_twice():
        os.write(2, b"worth knowing\n")
    assert capfd.readouterr().err == "worth knowing\n"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_loop_whose_gradient_has_no_end(framework):
    def body(x):
        return tf.while_loop(lambda h: tf.reduce_sum(h) < 10.0, lambda h: [h * 2.0], [x])[0]

    _, finding = refused(framework, body, trains=True)
    assert (finding.fact.what, finding.fact.said) == ("accumulator", "XLA compilation requires a fixed tensor list size.")
    assert "maximum_iterations" in finding.why
    # The gradient has no line of its own: the layer's stands for it, and not the one that asked.
    assert "tpushape.trace" not in finding.location.text


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("EagerPyFunc", lambda x: tf.ensure_shape(tf.py_function(lambda a: a, [x], tf.float32), x.shape)),
        ("HistogramFixedWidth", lambda x: x + tf.cast(tf.reduce_sum(tf.histogram_fixed_width(x, [0.0, 1.0])), tf.float32)),
        ("Eig", lambda x: x + tf.math.real(tf.linalg.eigvals(tf.matmul(x, x, transpose_a=True)))),
    ],
)
def test_other_operations_without_a_kernel(framework, kind, body):
    _, finding = refused(framework, body)
    assert (finding.fact.node.name, finding.fact.what, finding.fact.kernel) == ("own", kind, True)
    assert "lambda x: " in finding.location.text


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_size_that_is_computed_from_the_data(framework):
    _, finding = refused(framework, lambda x: tf.reshape(x, [tf.cast(tf.reduce_sum(x), tf.int32), -1]))
    assert (finding.fact.node.name, finding.fact.what) == ("own", "Reshape")
    assert finding.fact.said.startswith("Input 1 to node `") and finding.fact.said.endswith("must be a compile-time constant.")
    assert "static shapes" in finding.why
    assert "tf.reshape" in finding.location.text
