"""Every layer and operation has a family, and it is read off the class."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from jupyter_tpushape import trace
from jupyter_tpushape.flow.wire import pack, unpack
from jupyter_tpushape.report import Report
from jupyter_tpushape.trace.families import _class_family, layer_family

BY_NAME = {
    "Conv": "convolution", "Dense": "dense", "EinsumDense": "dense", "Embedding": "embedding", "LSTM": "recurrent", "GRU": "recurrent",
    "MultiHeadAttention": "attention", "BatchNormalization": "normalization", "LayerNormalization": "normalization", "ReLU": "activation",
    "Activation": "activation", "MaxPooling2D": "shape", "Flatten": "shape", "Add": "merge", "Concatenate": "merge", "Dropout": "other",
    "Normalization": "other", "Lambda": "other", "Conv2DTranspose": "convolution", "ConvLSTM2D": "recurrent",
}  # fmt: skip


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_every_layer_of_the_framework_has_a_family(library: ModuleType) -> None:
    """Walks what the framework exports, so that a package it adds is noticed."""
    classes = {name: cls for name in dir(library.layers) if isinstance(cls := getattr(library.layers, name), type)}
    layers = {name: cls for name, cls in classes.items() if issubclass(cls, library.layers.Layer)}
    assert len(layers) > 80
    bases = {"Layer", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper", "DenseFeatures", "InputLayer", "Wrapper"}
    unknown = {name for name, cls in layers.items() if name not in bases and _class_family(cls) == "own"}
    assert unknown == set()
    assert {name: _class_family(layers[name]) for name in BY_NAME if name in layers} == {name: family for name, family in BY_NAME.items() if name in layers}


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_family_is_inherited_and_a_wrapper_has_that_of_its_layer(library: ModuleType) -> None:
    class Strange(library.layers.Conv2D):  # type: ignore[misc, name-defined]
        pass

    class Mine(library.layers.Layer):  # type: ignore[misc, name-defined]
        pass

    assert layer_family(Strange(3, 3)) == "convolution"
    assert layer_family(Mine()) == "own"
    assert layer_family(library.layers.TimeDistributed(library.layers.Dense(3))) == "dense"
    assert layer_family(library.layers.Bidirectional(library.layers.LSTM(3))) == "recurrent"
    assert layer_family(library.Sequential([library.layers.Dense(3)])) == "own"


class Moves(keras.layers.Layer):
    def call(self, x: Any) -> Any:
        x = keras.ops.cast(keras.ops.expand_dims(x, 1), "float16")
        return keras.ops.reshape(x[:, 0], (-1, 2, 2)) * 2


def test_an_operation_that_computes_nothing_is_light_and_the_document_keeps_it() -> None:
    model = keras.Sequential([keras.Input((4,)), Moves()])
    report = trace(model, (np.zeros((8, 4), "float32"),), tpu=None)
    families = {node.op: node.family for node in report.flow.nodes if node.kind == "op"}
    assert families.pop("Mul") == "op"
    assert {"Cast", "ExpandDims", "Reshape", "StridedSlice"} <= set(families)
    assert set(families.values()) == {"light"}
    again = Report.from_json(report.to_json())
    assert [node.family for node in again.flow.nodes] == [node.family for node in report.flow.nodes]


def test_two_classes_of_one_name_keep_a_family_each() -> None:
    class Dense(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x + 1

    source = keras.Input((4,))
    model = keras.Model(source, Dense()(keras.layers.Dense(4)(source)))
    flow = trace(model, (np.zeros((8, 4), "float32"),), tpu=None).flow
    assert [node.family for node in flow.nodes if node.op == "Dense"] == ["dense", "own"]
    assert [node.family for node in unpack(pack(flow)).nodes] == [node.family for node in flow.nodes]
