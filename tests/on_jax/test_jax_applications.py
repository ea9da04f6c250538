"""Every constructor of ``keras.applications``: traced clean, by its declaration and through JAX, with the shapes that JAX itself computes.

A few of each family; TPUSHAPE_SOAK runs them all.
"""

from __future__ import annotations

import inspect
import os

import jax
import keras
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Spec
from jupyter_tpushape.trace.build import build
from jupyter_tpushape.trace.frameworks import adapter
from jupyter_tpushape.trace.recorder import Recorder
from jupyter_tpushape.trace.run import run

EVERY = sorted(name for name, made in inspect.getmembers(keras.applications) if callable(made) and name[:1].isupper())
SLICE = ("ConvNeXtTiny", "EfficientNetB0", "MobileNetV3Small", "NASNetMobile", "ResNet50V2")
SOME = EVERY if "TPUSHAPE_SOAK" in os.environ else SLICE


class Sample:
    """What a trace is given in place of data."""

    def __init__(self, x):
        self.x, self.y, self.weight = x, None, None


def test_there_are_as_many_as_keras_documents():
    assert len(EVERY) >= 38
    assert set(SLICE) <= set(EVERY)


@pytest.mark.parametrize("name", SOME)
def test_an_application_has_the_shapes_that_jax_computes(name):
    model, error = build(lambda: getattr(keras.applications, name)(weights=None), Recorder(), hollow=True)
    assert error is None
    spec = Spec((2, *(224 if size is None else size for size in model.input_shape[1:])), "float32")
    report = tpushape.trace(model, (spec, None), tpu=None)
    assert report.ok, report
    held = [[jax.ShapeDtypeStruct(v.shape, v.dtype) for v in group] for group in (model.trainable_variables, model.non_trainable_variables)]
    x = jax.ShapeDtypeStruct(spec.shape, spec.dtype)
    wanted = jax.eval_shape(lambda *given: model.stateless_call(*given, training=True)[0], *held, x)
    (output,) = [node for node in report.flow.nodes if node.kind == "output"]
    assert [(edge.spec.shape, edge.spec.dtype) for edge in report.flow.into(output.id)] == [(wanted.shape, str(wanted.dtype))]
    made = run(adapter("keras"), model, Sample(spec), shape=lambda leaf: leaf.shape, fast=False)
    assert made.error is None
    declared = {node.name: [edge.spec.shape for edge in report.flow.into(node.id)] for node in report.flow.nodes if node.kind == "layer"}
    traced = {call.name: [port.spec.shape for port in call.inputs] for call in made.recorder.calls if call.kind == "layer" and call.obj is not model}
    # A model inside a model has no edges of its own: its layers have them.
    assert {name: traced[name] for name, shapes in declared.items() if shapes} == {name: shapes for name, shapes in declared.items() if shapes}
