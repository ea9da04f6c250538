"""The sums over replicas in one replica's program, beside those that a genuine TPUStrategy traces."""

from __future__ import annotations

import importlib

import pytest
import tensorflow as tf
from test_compilers import FRAMEWORKS, needs_libtpu

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers.hlo import of_proto
from jupyter_tpushape.compilers.lowering import lower
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import target

DATA = (tf.TensorSpec((64, 16), tf.int32), tf.TensorSpec((64,), tf.int32))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "sums"))


def compiled(framework, synchronized=False, **options):
    keras = importlib.import_module(framework)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((16,), dtype="int32"),
            layers.Embedding(100, 32, name="table"),
            layers.Conv1D(8, 3, name="conv"),
            layers.BatchNormalization(name="norm", **({"synchronized": True} if synchronized else {})),
            layers.LSTM(7, name="steps"),
            layers.Dense(3, name="head"),
        ]
    )
    model.compile(keras.optimizers.Adam(**options), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def genuine(framework, synchronized):
    """Shapes of the sums that a planned v5e-8 traces. Those of metrics' results, single numbers that tf_keras sums, are left out."""
    strategy = tpushape.tpu_strategy("v5e-8")
    with strategy.scope():
        model = compiled(framework, synchronized)
        model.optimizer.build(model.trainable_variables)

    @tf.function
    def step(x, y):
        def replica(x, y):
            return model.train_step((x, y))

        return strategy.run(replica, args=(x, y))

    graph = step.get_concrete_function(tf.TensorSpec((8, 16), tf.int32), tf.TensorSpec((8,), tf.int32)).graph
    found = [tuple(one.inputs[0].shape) for one in graph.get_operations() if one.type == "CrossReplicaSum"]
    return [shape for shape in found if shape]


def summed(program):
    """Shapes of the sums in a lowered program."""
    from tensorflow.compiler.xla.service import hlo_pb2

    module = hlo_pb2.HloModuleProto.FromString(program.hlo)
    found = [one for computation in module.computations for one in computation.instructions if one.opcode == "all-reduce"]
    assert all(list(group.replica_ids) == list(range(8)) for one in found for group in one.replica_groups)
    return [tuple(one.shape.dimensions) for one in found]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("synchronized", [False, True])
def test_the_sums_are_those_that_a_genuine_strategy_traces(framework, synchronized):
    program = lower(examine(Program(compiled(framework, synchronized), DATA, target=target("v5e-8"))), only="train")[0]
    expected = genuine(framework, synchronized)
    assert len(expected) == (15 if synchronized else 10), expected
    assert program.replicas == 8 and sorted(summed(program)) == sorted(expected)


def test_a_forward_pass_a_single_device_and_no_target_have_no_sums():
    assert [one.replicas for one in lower(examine(Program(compiled("keras"), DATA, target=target("v5e-8"))))] == [1, 8]
    for name in ("v5e-1", None):
        seen = examine(Program(compiled("keras"), DATA, target=target(name) if name else None))
        program = lower(seen, only="train")[0]
        assert (program.replicas, program.apart, "sum_over_replicas" in str(of_proto(program.hlo).names)) == (1, False, False)


def test_where_a_dtype_is_not_summed_the_step_is_lowered_without_and_says_so():
    keras = importlib.import_module("keras")
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(4, dtype="float64")])
    model.compile("sgd", "mse")
    data = (tf.TensorSpec((64, 16)), tf.TensorSpec((64, 4)))
    program = lower(examine(Program(model, data, target=target("v5e-8"))), only="train")[0]
    assert program.error is None and (program.replicas, program.apart) == (1, True)


@needs_libtpu
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_summed_is_told_by_layer(framework):
    report = tpushape.trace(compiled(framework), DATA, tpu="v5e-8", compiler="tpu")
    train = report.verdicts[-1]
    held = dict.fromkeys(("table", "conv", "norm", "steps", "head"), 0)
    for one in train.collectives:
        assert (one.kind, one.group, one.least) == ("all-reduce", 8, False)
        held[one.name] += one.bytes
    gradients = {"table": 100 * 32, "conv": 3 * 32 * 8 + 8, "norm": 16, "steps": 8 * 28 + 7 * 28 + 28, "head": 7 * 3 + 3}
    assert train.ok and train.devices == 8 and held == {name: 4 * number for name, number in gradients.items()}
    assert f" {sum(one.sent for one in train.collectives):,} bytes" in train.message


@needs_libtpu
def test_a_branch_has_its_sums_and_a_scope_is_no_hindrance():
    model = compiled("keras", gradient_accumulation_steps=2)
    strategy = tpushape.tpu_strategy("v5e-8")
    report = tpushape.trace(model, DATA, tpu="v5e-8", compiler="tpu")
    assert {one.name for one in report.verdicts[-1].collectives} == {"table", "conv", "norm", "steps", "head"}
    with strategy.scope():
        report = tpushape.trace(compiled("keras"), DATA, strategy=strategy, compiler="tpu")
    assert [(verdict.program, verdict.ok, verdict.devices) for verdict in report.verdicts] == [("forward", True, 1), ("train", True, 8)], report
