"""Programs of Keras on JAX lowered for a TPU that is not there, and found back in the layers."""

from __future__ import annotations

import re

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge
from jupyter_tpushape.compilers.lowering import CannotLower, lower
from jupyter_tpushape.diagnose import _target
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas.layouts import planned

L = keras.layers


def build():
    inputs = keras.Input((64,))
    x = L.Dropout(0.1)(L.BatchNormalization()(L.Dense(512, activation="relu", name="up")(inputs)))
    model = keras.Model(inputs, L.Dense(10, name="head")(x))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def seen(rows=256, data=True, strategy=None):
    given = (np.zeros((rows, 64), "float32"), np.zeros((rows,), "int64"))
    target, live = _target("v5e-8", strategy)
    return examine(Program(build, given if data else (given[0], None), target, live, rows))


def test_the_forward_pass_and_the_train_step_of_one_device_are_lowered():
    look = seen()
    forward, train = lower(look)
    assert (forward.program, train.program) == ("forward", "train")
    assert forward.error is None and train.error is None
    names = {node.id: node.name for node in look.evidence.flow.nodes}
    held = {one.name: (names.get(one.node, ""), one.shape) for one in train.parameters}
    assert held["x"] == ("input", (32, 64))
    assert held["y"][1] == (32,)
    assert next(value for name, value in held.items() if name.endswith("up/kernel")) == ("up", (64, 512))
    slots = [value for name, value in held.items() if "up_kernel" in name]
    assert slots == [("up", (64, 512))] * 2
    assert all(variable._value is None for variable in look.model.trainable_variables)


def test_operations_find_back_to_the_layers_in_whose_scope_they_were_made():
    look = seen()
    train = lower(look, only="train")[0]
    names = {node.id: node.name for node in look.evidence.flow.nodes}
    made = {names.get(train.scopes.node(name), "") for name in re.findall(r'op_name="([^"]*dot_general[^"]*)"', train.text)}
    assert {"up", "head"} <= made


def test_a_batch_that_does_not_divide_has_no_program():
    with pytest.raises(CannotLower, match=r"12 .*8 devices"):
        lower(seen(rows=12))


def test_on_a_mesh_each_parameter_is_the_share_of_one_device_and_slots_lie_as_their_variables():
    train = lower(seen(strategy=planned({"batch": 2, "model": 4}, {"up/kernel": (None, "model"), "head/kernel": ("model",)})), only="train")[0]
    assert train.error is None
    assert train.form == "stablehlo" and train.partitions == 8
    held = [(one.name.rsplit("/", 1)[-1] if "adam" in one.name else one.name, one.shape) for one in train.parameters]
    assert ("x", (128, 64)) in held and ("up/kernel", (64, 128)) in held and ("head/kernel", (128, 10)) in held
    assert [shape for name, shape in held if "up_kernel" in name] == [(64, 128)] * 2
    assert [shape for name, shape in held if "head_kernel" in name] == [(128, 10)] * 2


def test_a_mesh_of_another_size_than_the_slice_is_a_line():
    with pytest.raises(ValueError, match=r"v5e-8 has 8 devices, but the mesh \(batch 2 × model 2\) has 4"):
        _target("v5e-8", planned({"batch": 2, "model": 2}))


@pytest.mark.skipif(bool(bridge.check()), reason="the TPU compiler is not installed")
def test_what_devices_exchange_is_told_by_layer_as_compiled():
    layout = {"up/kernel": (None, "model"), "head/kernel": ("model", None)}
    report = tpushape.trace(
        build, (np.zeros((256, 64), "float32"), np.zeros((256,), "int64")), batch_size=256, compiler="tpu", fixes=False, tpu="v5e-8",
        strategy=planned({"batch": 2, "model": 4}, layout),
    )  # fmt: skip
    forward, train = report.verdicts
    assert forward.ok and train.ok and train.devices == 8
    # The sum over the shares of a contracted axis, on the 128 rows of a device.
    assert ("all-reduce", "head", 128 * 10 * 4, 4) in [(one.kind, one.name, one.bytes, one.group) for one in forward.collectives]
    gradients = {one.name: one.bytes for one in train.collectives if one.kind == "all-reduce" and one.group == 2}
    assert gradients["up"] >= 64 * 512 // 4 * 4


@pytest.mark.skipif(bool(bridge.check()), reason="the TPU compiler is not installed")
def test_the_tpu_compiler_takes_the_genuine_step():
    report = tpushape.trace(build, (np.zeros((256, 64), "float32"), np.zeros((256,), "int64")), batch_size=256, compiler="tpu", fixes=False)
    assert [(verdict.program, verdict.ok) for verdict in report.verdicts] == [("forward", True), ("train", True)]
    assert {layer.name for layer in report.verdicts[1].layers} >= {"up", "head"}


@pytest.mark.skipif(bool(bridge.check()), reason="the TPU compiler is not installed")
@pytest.mark.parametrize(("name", "batch"), [("v5e-16", 4), ("v5e-256", 64), ("v5p-32", 4), ("v6e-16", 4)])
def test_slices_of_several_hosts_have_one_program(name, batch):
    layout = {"up/kernel": (None, "model"), "head/kernel": ("model", None)}
    report = tpushape.trace(
        build, (np.zeros((1024, 64), "float32"), np.zeros((1024,), "int64")), batch_size=1024, compiler="tpu", fixes=False, tpu=name,
        strategy=planned({"batch": batch, "model": 4}, layout),
    )  # fmt: skip
    forward, train = report.verdicts
    assert report.target.hosts > 1 and forward.ok and train.ok
    assert forward.devices == train.devices == 4 * batch
    # The sum over the shares of a contracted axis stays within one copy of the model; gradients are summed over the copies.
    assert ("all-reduce", "head", 1024 // batch * 10 * 4, 4) in [(one.kind, one.name, one.bytes, one.group) for one in forward.collectives]
    gradients = {one.name: one.bytes for one in train.collectives if one.kind == "all-reduce" and one.group == batch}
    assert batch == 4 or gradients["up"] >= 64 * 512 // 4 * 4
