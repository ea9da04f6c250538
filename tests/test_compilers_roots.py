"""Roots that are lowered by a shorter way: the program is the one that the longer way gives."""

from __future__ import annotations

import importlib

import pytest
import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2

from jupyter_tpushape.compilers import lowering, roots, sums
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import target


def model_of(framework, optimizer):
    keras = importlib.import_module(framework)
    layers = keras.layers

    class Scaled(layers.Layer):
        def call(self, x):
            # Roots of a constant, of a shape and of data, and a rounding of the program's own.
            scale = tf.sqrt(tf.constant(3.0)) * tf.sqrt(tf.cast(tf.shape(x)[-1], x.dtype))
            return tf.math.rint(tf.sqrt(tf.abs(x)) / scale) + x

    model = keras.Sequential([keras.Input((6,)), layers.Dense(5), Scaled(), layers.BatchNormalization(), layers.Dense(3)])
    model.compile(getattr(keras.optimizers, optimizer)(), "mse")
    return model


def train_step(model):
    seen = examine(Program(model, (tf.TensorSpec((16, 6)), tf.TensorSpec((16, 3))), target=target("v5e-8")))
    (made,) = lowering.lower(seen, only="train")
    assert made.error is None
    return made


def opcodes(made):
    program = hlo_pb2.HloModuleProto.FromString(made.hlo)
    return [instruction.opcode for computation in program.computations for instruction in computation.instructions]


def entry(made):
    """The instructions of the step: what each does, of what, and how it sums."""
    program = hlo_pb2.HloModuleProto.FromString(made.hlo)
    (step,) = [computation for computation in program.computations if computation.id == program.entry_computation_id]
    # The operation's list of replicas stands there as a constant that nothing reads.
    read = {number for one in step.instructions for number in one.operand_ids}
    kept = [one for one in step.instructions if one.id in read or one.metadata.op_type != "XlaAllReduce" or one.opcode != "constant"]
    place = {instruction.id: number for number, instruction in enumerate(kept)}
    added = {one.id: [(inner.opcode, str(inner.shape)) for inner in one.instructions] for one in program.computations if one is not step}
    return [
        (
            one.opcode, one.metadata.op_type, one.metadata.op_name, str(one.shape), [place[number] for number in one.operand_ids],
            str(one.collective_device_list), [added[number] for number in one.called_computation_ids],
        )
        for one in kept
    ]  # fmt: skip


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("optimizer", ["Adam", "RMSprop", "Adagrad", "SGD"])
def test_the_program_is_the_same_as_without_the_shorter_way(framework, optimizer, monkeypatch):
    model = model_of(framework, optimizer)
    short = train_step(model)
    with monkeypatch.context() as held:
        held.setattr(roots.Roots, "summed", lambda self, tensor, make, name: make())
        again = train_step(model)
        held.setattr(roots.Roots, "kind", lambda self, kind, inputs, graph: kind)
        long = train_step(model)
    assert again.read.key == long.read.key
    # Sums share one addition, where each had its own: the step itself is the same, instruction by instruction.
    assert entry(short) == entry(long)
    assert again.read.names == long.read.names
    # The program's own rounding stays one.
    assert "round-nearest-even" in opcodes(short)


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_the_roots_of_an_update_go_the_shorter_way(framework, monkeypatch):
    asked = []

    class Counted(roots.Roots):
        def noted(self, kind, made):
            asked.append(made.type)
            super().noted(kind, made)

    monkeypatch.setattr(sums, "Roots", Counted)
    made = train_step(model_of(framework, "Adam"))
    assert asked.count("Rint") == 6 + 1  # one for each of the six variables that are trained, and one for all
    assert opcodes(made).count("sqrt") >= asked.count("Rint")
