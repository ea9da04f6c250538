"""The example of a decoder with LoRA, made small: it traces clean on its mesh, trains, and every key of its map fits."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import keras
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.replicas.layouts import planned

NAME = "decoder_lora_jax.py"
PLACES = [Path(__file__).with_name(NAME), *(parent / "examples" / NAME for parent in Path(__file__).parents[1:4])]


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("decoder_lora_jax", next(place for place in PLACES if place.exists()))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.VOCABULARY, module.WIDTH, module.HEADS, module.HIDDEN, module.BLOCKS, module.LENGTH = 96, 64, 4, 128, 2, 16
    policy = keras.config.dtype_policy()
    yield module
    keras.config.set_dtype_policy(policy)


def test_the_decoder_lies_on_its_mesh_as_its_map_says(example):
    report = tpushape.trace(example.build, example.data, tpu="v5e-8", strategy=planned({"batch": 2, "model": 4}, example.LAYOUT))
    assert report.ok, report
    assert not [finding for finding in report.findings if finding.rule.startswith("layout-")]
    gate = next(node for node in report.flow.nodes if node.name == "gate")
    assert {weight.name: weight.shard for weight in gate.weights} == {"kernel": (64, 32), "lora_kernel_a": (64, 8), "lora_kernel_b": (8, 128)}
    assert [edge.layout for edge in report.flow.out_of(gate.id)] == [("batch", "", "model")]


def test_and_it_trains(example):
    model = example.build()
    x, y = example.data()
    assert model.fit(x, y, batch_size=16, verbose=0).history["loss"][0] > 0
    assert len(model.trainable_variables) == 2 * 3 * example.BLOCKS
