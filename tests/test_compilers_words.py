"""XLA's refusals in words: which layer and line, why, what to do."""

from __future__ import annotations

import importlib

import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape

FRAMEWORKS = ["keras", "tf_keras"]


def refused(framework, body):
    keras = importlib.import_module(framework)

    class Own(keras.layers.Layer):
        def call(self, x):
            return body(x)

        def compute_output_shape(self, shape):
            return shape

    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(8), Own(name="own")])
    report = tpushape.trace(model, tf.TensorSpec((64, 8)), tpu="v5e-8", compiler="xla", fixes=False)
    (finding,) = [finding for finding in report.findings if finding.rule == "xla-refused"]
    (verdict,) = report.verdicts
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
def test_a_size_that_is_computed_from_the_data(framework):
    _, finding = refused(framework, lambda x: tf.reshape(x, [tf.cast(tf.reduce_sum(x), tf.int32), -1]))
    assert finding.message.startswith("own: XLA refuses Reshape: Input 1 to node `") and finding.message.endswith(
        "must be a compile-time constant."
    )
    assert finding.why == "XLA compiles for sizes that it knows: take the size from static shapes, or pad to a fixed size and mask."
    assert "tf.reshape" in finding.location.text
