"""Where the core's memory goes: temporaries, the largest tensors, and the layers that they belong to."""

from __future__ import annotations

import importlib
import os

import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge, buffers, hlo
from jupyter_tpushape.compilers.lowering import lower
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import target

needs_libtpu = pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")
FRAMEWORKS = ["keras", "tf_keras"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "verdicts"))


def pictures(framework, first="first", second="second"):
    keras = importlib.import_module(framework)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(12, 3, activation="relu", name=first),
            layers.BatchNormalization(name="norm"),
            layers.Conv2D(24, 3, name=second),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, name="out"),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


DATA = (tf.TensorSpec((512, 32, 32, 3)), tf.TensorSpec((512,), tf.int32))


@needs_libtpu
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_temporaries_are_told_by_layer_and_one_by_one(framework):
    report = tpushape.trace(pictures(framework), DATA, tpu="v5e-8", compiler="tpu")
    forward, train = report.verdicts
    by_name = {layer.name: layer for layer in train.layers}
    # What the first convolution gives is kept for the backward pass: (64, 30, 30, 12), 128 columns and 16 rows a tile.
    kept = 128 * 30 * 30 * 16 * 4
    assert by_name["first"].temporaries >= kept and by_name["second"].temporaries >= kept
    largest = train.buffers[0]
    assert (largest.kind, largest.dtype, largest.shape, largest.bytes, largest.logical) == ("temporary", "f32", (64, 30, 30, 12), kept, 64 * 30 * 30 * 12 * 4)
    assert report.flow.node(largest.node).name in ("first", "second")
    for verdict in (forward, train):
        total = sum(layer.bytes for layer in verdict.layers) + verdict.unmapped
        held = verdict.arguments + verdict.temporaries + verdict.code
        assert held <= total <= held + verdict.outputs
        assert sum(layer.temporaries for layer in verdict.layers) <= verdict.temporaries
        assert verdict.intensity == pytest.approx(verdict.flops / verdict.moved)
    # The same program with other names is the same compilation, and what it says goes to the layers as they are called now.
    again = tpushape.trace(pictures(framework, "second", "first"), DATA, tpu="v5e-8", compiler="tpu").verdicts[0]
    assert again.cached
    assert {layer.name: layer.bytes for layer in again.layers}["second"] == {layer.name: layer.bytes for layer in forward.layers}["first"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_operation_belongs_to_the_layer_that_made_it_whatever_its_scope_is_called(framework):
    keras = importlib.import_module(framework)
    layers = keras.layers
    shared = layers.Dense(4, name="dense")
    x = keras.Input((4,))
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4, name="dense"), layers.Dense(4, name="dense_1")], name="inner")
    # Scopes of the shared layer's calls: dense_1 and dense_3 in Keras 3, where dense_1 is another layer's name.
    model = keras.Model(x, layers.Dense(4, name="dense_1")(inner(shared(shared(x)))))
    seen = examine(Program(model, tf.TensorSpec((64, 4)), target=target("v5e-8")))
    (program,) = lower(seen)
    flow = seen.evidence.flow
    products = [operation.name for operation in program.graph.get_operations() if operation.type == "MatMul"]
    owners = [flow.node(program.scopes.node(name)) for name in products]
    assert [(owner.name, flow.node(owner.parent).name if owner.parent else "") for owner in owners] == [
        ("dense", ""),
        ("dense", ""),
        ("dense", "inner"),
        ("dense_1", "inner"),
        ("dense_1", ""),
    ]
    assert owners[0].id != owners[1].id
    assert program.scopes.node(f"gradient_tape/{products[2]}/MatMul_1") == owners[2].id
    assert program.scopes.node("adam/Cast_2") == ""
    assert keras.layers.Layer.__call__.__module__ != "jupyter_tpushape.compilers.scopes"


RANGES = """\
HloLiveRange (max 9):
  InstructionSequence:
    0:a
  BufferLiveRange:
    a{}:0-3
    b{}:2-5
    c{0}:4-6
    same{}:2-5
    loop{1}:3-9
"""
ASSIGNED = """\
BufferAssignment:
allocation 0: size 512, page 0, parameter 0, shape |f32[3]| at ShapeIndex {}:
 value: <1 p @0> (size=512,offset=0): f32[3]{0:T(128)}
allocation 1: size 64, color 6, page 0, preallocated-temp:
 value: <2 small @6> (size=64,offset=0): f32[]{:T(128)S(6)}
allocation 2: size 9000, page 0, preallocated-temp:
 value: <3 a @0> (size=4000,offset=0): f32[8,125]{1,0}
 value: <4 b @0> (size=4096,offset=4096): f32[8,128]{1,0:T(8,128)}
 value: <5 same @0> (size=4096,offset=4096): f32[8,128]{1,0:T(8,128)}
 value: <6 c{0} @0> (size=1000,offset=0): f32[250]{0}
 value: <7 loop{1} (phi) @0> (size=800,offset=8192): f32[200]{0}
"""
PROGRAM = """\
%inside (q: f32[3]) -> f32[8,128] {
  %q = f32[3]{0} parameter(0)
  ROOT %wide = f32[8,128]{1,0:T(8,128)} broadcast(%q), metadata={op_name="model/dense/MatMul"}
}

ENTRY %main (p: f32[3]) -> f32[8,128] {
  %p = f32[3]{0:T(128)} parameter(0), metadata={op_name="XLA_Args"}
  %a = f32[8,125]{1,0} copy(%p), metadata={op_name="XLA_Args"}
  %loop = (s32[], f32[200]{0}) while(%a), condition=%c, body=%d, metadata={op_name="model/lstm/while"}
  ROOT %b = f32[8,128]{1,0:T(8,128)} fusion(%a), kind=kLoop, calls=%inside
}
"""


def test_what_lives_at_the_worst_moment_is_told_once(tmp_path):
    (tmp_path / "m.after_optimizations-buffer-assignment.txt").write_text(ASSIGNED)
    (tmp_path / "m.after_optimizations-live-range.txt").write_text(RANGES)
    (tmp_path / "m.after_optimizations.txt").write_text(PROGRAM)
    found = buffers.of_dump(tmp_path)
    assert found == {
        "live": [["model/dense/MatMul", 4096, "f32[8,128]{1,0:T(8,128)}"], ["parameter:0", 4000, "f32[8,125]{1,0}"], ["model/lstm/while", 800, "f32[200]{0}"]],
        "room": 9000,
    }
    assert buffers.of_dump(tmp_path / "nothing") is None


def test_what_a_loop_carries_is_the_loop_s(tmp_path):
    """The compiler names it after the parameter of the loop's body."""
    body = "%d (carried: (s32[], f32[200])) -> (s32[], f32[200]) {\n  %carried = (s32[], f32[200]{0}) parameter(0)\n}\n\n"
    (tmp_path / "m.after_optimizations-buffer-assignment.txt").write_text(ASSIGNED.replace("loop{1} (phi)", "carried{1} (phi)"))
    (tmp_path / "m.after_optimizations-live-range.txt").write_text(RANGES.replace("loop{1}", "carried{1}"))
    (tmp_path / "m.after_optimizations.txt").write_text(body + PROGRAM)
    assert ["model/lstm/while", 800, "f32[200]{0}"] in buffers.of_dump(tmp_path)["live"]


@needs_libtpu
def test_nearly_all_that_a_long_recurrence_keeps_for_its_gradient_is_its_layer_s():
    """tf_keras puts the loop into a function, whose operations have no layer in their names."""
    keras = importlib.import_module("keras")
    layers = keras.layers
    model = keras.Sequential([keras.Input((64, 1)), layers.LSTM(32, name="steps"), layers.Dense(1)])
    model.compile("sgd", "mse")
    data = (tf.TensorSpec((8 * 2048, 64, 1)), tf.TensorSpec((8 * 2048, 1)))
    train = tpushape.trace(model, data, tpu="v5e-8", compiler="tpu").verdicts[-1]
    steps = next(layer for layer in train.layers if layer.name == "steps")
    assert steps.temporaries > 0.9 * train.temporaries, train


def test_operations_are_kept_by_their_place_in_the_program():
    text = 'HloModule m\n  %a = f32[] add(), metadata={op_name="one/Add"}\n  %b = f32[] add(), metadata={op_name="one/Add_1"}'
    answer = {"buffers": {"live": [["one/Add_1", 4, ""], ["parameter:3", 4, ""], ["elsewhere", 4, ""]]}}
    hlo.unnamed(answer, hlo.of_text(text).names)
    assert [told[0] for told in answer["buffers"]["live"]] == ["line:2", "parameter:3", ""]
    named = hlo.operation_at(hlo.of_text(text.replace("one/", "two/")).names)
    assert [named(told) for told in ("line:2", "parameter:3", "", "line:99")] == ["two/Add_1", "parameter:3", "", ""]


@needs_libtpu
def test_flags_for_another_xla_do_not_end_the_compiler(monkeypatch):
    monkeypatch.setitem(os.environ, "XLA_FLAGS", "--xla_no_such_flag=1")
    monkeypatch.setitem(os.environ, "LIBTPU_INIT_ARGS", "--no_such_flag=1")
    report = tpushape.trace(pictures("keras"), tf.TensorSpec((136, 32, 32, 3)), tpu="v5e-8", compiler="tpu")
    assert [verdict.ok for verdict in report.verdicts] == [True]


@needs_libtpu
def test_a_look_up_on_the_sparse_cores_of_v6e_has_its_verdict():
    keras = importlib.import_module("keras")
    layers = keras.layers
    model = keras.Sequential(
        [layers.Input((100,), dtype="int32"), layers.Embedding(20000, 128, name="words"), layers.GlobalAveragePooling1D(), layers.Dense(2)]
    )
    report = tpushape.trace(model, tf.TensorSpec((128, 100), tf.int32), tpu="v6e-8", compiler="tpu")
    (verdict,) = report.verdicts
    assert verdict.ok, verdict.message
    assert {layer.name: layer.logical for layer in verdict.layers}["words"] >= 20000 * 128 * 4
