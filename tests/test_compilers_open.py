"""A batch axis that the pipeline leaves open: the last batch's program, and the one whose rows are known when it runs."""

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
    return tf.data.Dataset.from_tensor_slices((np.zeros((rows, *shape), "float32"), np.zeros((rows,), "int32"))).batch(
        64, drop_remainder=drop
    )


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


def opened(model, shape):
    """What is told of the train step with its batch axis open, and nothing else compiled."""
    seen = examine(Program(model, pipeline(shape), target=target("v5e-8")))
    limits = process.limits()
    plan = next(one for one in open_batch.beside(seen, plans(seen)[-1], 0.0, limits.seconds) if one.rows == "open")
    asked = question(seen, plan, limits)
    verdict = Verdict("train", "tpu", True, "v5e-8", "compiles")
    try:
        refused, findings = open_batch.told(seen, verdict, [asked])
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
    assert open_batch.told(seen, verdict, []) == ([], [])
    assert "last batch, 3 per core" in verdict.message and "not compiled" in verdict.message
