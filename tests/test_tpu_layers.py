"""The table of layers that the TPU compiler took, one by one, and what reads it."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.graph import program

TABLE = json.loads((Path(program.__file__).parent / "tpu_layers.json").read_text(encoding="utf-8"))
# Base classes, containers, and what carries code of the user's own: no layer by itself.
NONE = {"Layer", "Model", "Functional", "Sequential", "Lambda", "InputLayer"}


@pytest.mark.parametrize("package", ["keras", "tf_keras"])
def test_every_layer_stands_in_the_table_once(package):
    lib, told = importlib.import_module(package), TABLE[package]
    if f"{package} {lib.__version__}" not in TABLE["about"].split(", "):
        pytest.skip(f"the table is of another {package}")
    names = {
        name for name, value in vars(lib.layers).items() if inspect.isclass(value) and issubclass(value, lib.layers.Layer) and not inspect.isabstract(value)
    }
    held = [*told["compiled"], *told["refused"], *told["untried"]]
    assert len(held) == len(set(held)) and names - NONE - set(held) == set()


@pytest.mark.parametrize("package", ["keras", "tf_keras"])
def test_an_answer_is_the_compiler_s_and_names_no_file(package):
    answers = [*TABLE[package]["refused"].values(), *TABLE[package]["untried"].values()]
    assert answers and not [text for text in answers if "in user code" in text or 'File "' in text]


def images(keras, layer):
    def build():
        model = keras.Sequential([keras.Input((8, 8, 3)), layer, keras.layers.Flatten(), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    found = tpushape.trace(build, (np.zeros((64, 8, 8, 3), "float32"), np.zeros((64, 1), "float32")), tpu="v5e-8", fixes=False)
    return {finding.rule: finding.message for finding in found.findings if finding.serious}


def test_a_layer_that_was_refused_is_looked_into():
    keras, older = importlib.import_module("keras"), importlib.import_module("tf_keras")
    assert "ImageProjectiveTransformV3" in images(keras, keras.layers.RandAugment(value_range=(0, 1)))["tpu-kernel"]
    model = older.Sequential([older.Input((4,)), older.layers.CategoryEncoding(4, "multi_hot"), older.layers.Dense(1)])
    model.compile("sgd", "mse")
    found = tpushape.trace(model, (np.zeros((64, 4), "int32"), np.zeros((64, 1), "float32")), tpu="v5e-8", fixes=False)
    assert "shape-from-data" in [finding.rule for finding in found.findings], found


def test_a_layer_that_compiled_is_not_looked_into():
    keras = importlib.import_module("keras")
    model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(2, 3), keras.layers.GroupNormalization(1)])
    assert not program._doubtful(model, "keras")
    mixed = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.RandAugment(value_range=(0, 1))])
    assert program._doubtful(mixed, "keras")
