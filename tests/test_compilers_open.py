"""Sizes that the pipeline leaves open: the last batch's program, and the one whose sizes are known when it runs."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge, open_batch, process
from jupyter_tpushape.compilers.lowering import plans
from jupyter_tpushape.compilers.tpu import question
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.flow import Verdict
from jupyter_tpushape.replicas import target

pytestmark = pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")
FRAMEWORKS = ["keras", "tf_keras"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "open"))


def pipeline(shape, rows=88, *, drop=False):
    return tf.data.Dataset.from_tensor_slices((np.zeros((rows, *shape), "float32"), np.zeros((rows,), "int32"))).batch(64, drop_remainder=drop)


def compiled(framework, *layers):
    keras = importlib.import_module(framework)
    model = keras.Sequential([*layers, keras.layers.Dense(4, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


@pytest.mark.parametrize("drop", [False, True])
def test_the_verdict_on_an_open_batch_says_what_was_compiled(drop):
    keras = importlib.import_module("keras")
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64)])
    data = pipeline((64,), drop=drop).map(lambda x, y: x)
    (verdict,) = tpushape.trace(model, data, tpu="v5e-8", compiler="tpu").verdicts
    parts = verdict.message.split("; ")
    assert verdict.ok and any("8 rows per core" in part for part in parts) is not drop
    if not drop:
        last, opened = parts[-2:]
        assert "last batch, 3 rows per core" in last
        assert "unknown batch size" in opened


def opened(model, shape, data=None):
    """What is told of the train step with its sizes open, and nothing else compiled."""
    seen = examine(Program(model, data or pipeline(shape), target=target("v5e-8")))
    limits, full = process.limits(), plans(seen)[-1]
    plan = next(one for one in open_batch.beside(seen, full, 0.0, limits.seconds) if one.sizes)
    asked = question(seen, plan, limits)
    verdict = Verdict("train", "tpu", True, "v5e-8", "compiles")
    try:
        refused, findings = open_batch.told(seen, verdict, full, [asked])
    finally:
        asked.close()
    return refused, findings, verdict.message


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_b2_a_squeeze_of_everything_does_not_take_an_open_batch(framework):
    keras = importlib.import_module(framework)

    class Own(keras.layers.Layer):
        def call(self, x):
            return tf.reshape(tf.squeeze(x), (-1, 16))

        def compute_output_shape(self, shape):
            return (shape[0], 16)

    (refused,), (finding,), said = opened(compiled(framework, keras.layers.Input((1, 16)), Own(name="own")), (1, 16))
    assert (refused.program, refused.ok, finding.rule) == ("train-open", False, "xla-refused")
    assert (finding.fact.node.name, finding.fact.what) == ("own", "Squeeze")
    assert "drop_remainder=True" in finding.why and "unknown batch size" in said and said.endswith("rejected")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_b2_a_dilated_convolution_does_not_learn_from_an_open_batch(framework):
    """The users' own text, from the gradient: forward it compiles."""
    keras = importlib.import_module(framework)
    layers = keras.layers
    model = compiled(framework, layers.Input((16, 16, 3)), layers.Conv2D(4, 3, dilation_rate=2, name="wide"), layers.GlobalMaxPooling2D())
    (refused,), (finding,), _ = opened(model, (16, 16, 3))
    assert (refused.ok, finding.rule, finding.severity) == (False, "tpu-refused", "tpu")
    assert "Dynamic Spatial Convolution is not supported" in finding.message and "wide" in finding.message


def test_what_took_long_is_not_compiled_twice_more():
    model = compiled("keras", importlib.import_module("keras").Input((16,)))
    seen = examine(Program(model, pipeline((16,)), target=target("v5e-8")))
    plan = plans(seen)[-1]
    assert [one.rows for one in open_batch.beside(seen, plan, 59.0, 120.0)] == ["last", "open"]
    assert list(open_batch.beside(seen, plan, 61.0, 120.0)) == []
    verdict = Verdict("train", "tpu", True, "v5e-8", "compiles")
    assert open_batch.told(seen, verdict, plan, []) == ([], [])
    assert "last batch, 3 per core" in verdict.message and "not compiled" in verdict.message


def test_a_last_batch_of_a_row_a_core_is_padded_to_two():
    model = compiled("keras", importlib.import_module("keras").Input((16,)))
    seen = examine(Program(model, pipeline((16,), rows=72), target=target("v5e-8")))
    limits, plan = process.limits(), plans(seen)[-1]
    last = next(one for one in open_batch.beside(seen, plan, 0.0, limits.seconds) if one.rows == "last")
    verdict = Verdict("train", "tpu", True, "v5e-8", "compiles")
    asked = question(seen, last, limits)
    try:
        open_batch.told(seen, verdict, plan, [asked])
    finally:
        asked.close()
    assert "the last batch, 1 row per core that a TPU pads to 2, compiles too" in verdict.message


def sequences(lengths, *, drop=True, shape=()):
    def elements():
        for length in lengths:
            yield np.zeros((length, *shape), "float32"), np.zeros((), "int32")

    open_shape = (None, *shape)
    specs = tf.TensorSpec(open_shape), tf.TensorSpec((), tf.int32)
    return tf.data.Dataset.from_generator(elements, output_signature=specs).padded_batch(16, drop_remainder=drop)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("drop", [True, False])
def test_the_verdict_on_an_open_length_says_for_which_and_compiles_the_open_one(framework, drop):
    keras = importlib.import_module(framework)
    model = compiled(framework, keras.layers.Input((None, 3)), keras.layers.Dense(4), keras.layers.GlobalMaxPooling1D())
    data = sequences([7, 9] * 20, drop=drop, shape=(3,))
    refused, findings, said = opened(model, None, data)
    parts = said.split("; ")
    assert (refused, findings) == ([], []) and "the size of axis 1 of x is unknown: this is the program for 9" in parts
    assert any(part.startswith("the batch size is unknown") for part in parts) is not drop
    assert parts[-1].startswith("the program for unknown sizes, as on a TPU, compiles too")


def test_a_convolution_over_an_open_length_that_ends_the_compiler_gets_no_verdict():
    keras = importlib.import_module("keras")
    model = compiled("keras", keras.layers.Input((None, 3)), keras.layers.Conv1D(4, 3), keras.layers.GlobalMaxPooling1D())
    refused, findings, said = opened(model, None, sequences([7, 9] * 20, shape=(3,)))
    assert (refused, findings) == ([], []) and said.endswith("got no verdict (the compiler crashed)")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_squeeze_of_everything_does_not_take_an_open_length(framework):
    keras = importlib.import_module(framework)

    class Own(keras.layers.Layer):
        def call(self, x):
            return tf.reduce_max(tf.reshape(tf.squeeze(x), (2, -1, 3)), 1)

        def compute_output_shape(self, shape):
            return (2, 3)

    data = sequences([7, 9] * 20, shape=(3,))
    (refused,), (finding,), said = opened(compiled(framework, keras.layers.Input((None, 3)), Own(name="own")), None, data)
    assert (refused.program, finding.rule, finding.fact.what) == ("train-axes", "xla-refused", "Squeeze")
    assert "pad or resize" in finding.why and said.endswith("the program for unknown sizes, as on a TPU, is rejected")


def test_a_step_that_cannot_be_traced_with_an_open_batch_says_what_was_raised():
    keras = importlib.import_module("keras")
    own = keras.layers.Lambda(tf.squeeze, output_shape=(16,))
    refused, _, said = opened(compiled("keras", keras.layers.Input((1, 16)), own), (1, 16))
    assert refused == [] and said.endswith("cannot be traced (as_list() is not defined on an unknown TensorShape.)")


def test_a_static_size_has_nothing_beside_it():
    model = compiled("keras", importlib.import_module("keras").Input((16,)))
    seen = examine(Program(model, pipeline((16,), drop=True), target=target("v5e-8")))
    plan = plans(seen)[-1]
    verdict = Verdict("train", "tpu", True, "v5e-8", "compiles")
    assert list(open_batch.beside(seen, plan, 0.0, 100.0)) == []
    assert open_batch.told(seen, verdict, plan, []) == ([], []) and verdict.message == "compiles"
