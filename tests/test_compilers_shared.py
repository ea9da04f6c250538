"""What an optimizer computes once for all variables is what it computed again for each: the weights are the same to the last bit."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.compilers.roots import Roots, shortened
from jupyter_tpushape.compilers.shared import Shared

X, Y = np.random.default_rng(1).normal(size=(2, 8, 4)).astype("float32")
SPECS = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 4)))


class Whole(Roots):
    """Roots that stay roots, so that the program can run here."""

    def kind(self, kind: str, inputs: Any, graph: Any) -> str:
        return kind

    def noted(self, asked: str, made: Any) -> None:
        pass


OPTIMIZERS = {
    "Adam": {}, "AdamW": {"weight_decay": 0.01}, "Nadam": {}, "Adamax": {}, "Adafactor": {}, "Adadelta": {}, "Adagrad": {}, "Ftrl": {}, "Lion": {},
    "RMSprop": {"momentum": 0.5, "centered": True}, "SGD": {"momentum": 0.9, "nesterov": True, "use_ema": True, "ema_overwrite_frequency": 2},
    "Adam of a schedule": {"learning_rate": "schedule", "amsgrad": True, "clipnorm": 0.5},
}  # fmt: skip


def stepped(lib: Any, name: str, shared: bool) -> tuple[list[Any], int]:
    """The weights after three steps, and how many operations a step has."""
    lib.utils.set_random_seed(1)
    given = dict(OPTIMIZERS[name])
    if "learning_rate" in given:
        given["learning_rate"] = lib.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
    model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(4, "relu"), lib.layers.BatchNormalization(), lib.layers.Dense(4), lib.layers.Dense(4)])
    model.compile(getattr(lib.optimizers, name.split(maxsplit=1)[0])(**given), "mse")
    model.optimizer.build(model.trainable_variables)
    tf.function(lambda x, y: model.train_step((x, y))).get_concrete_function(*SPECS)  # makes the metrics' variables
    roots = Whole()
    if shared:
        roots.within(model.optimizer)
    with shortened(roots):
        step = tf.function(lambda x, y: model.train_step((x, y))).get_concrete_function(*SPECS)
    for _ in range(3):
        step(tf.constant(X), tf.constant(Y))
    return [np.asarray(weight) for weight in [*model.get_weights(), model.optimizer.iterations]], len(step.graph.get_operations())


@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_are_the_same_to_the_last_bit(lib: Any, name: str) -> None:
    (once, few), (again, many) = stepped(lib, name, True), stepped(lib, name, False)
    for one, other in zip(once, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert few <= many
    if name == "Adam":
        assert few < 0.9 * many


def test_a_read_behind_a_write_is_another_one() -> None:
    state, graph = tf.Variable(1.0), tf.Graph()
    shared = Shared()

    @tf.function
    def reads() -> Any:
        handle = state.handle
        made = []
        for kind in ("read", "read", "write", "read"):
            if kind == "write":
                graph = tf.compat.v1.get_default_graph()
                shared.operation(graph, "AssignAddVariableOp", [handle], lambda: state.assign_add(1.0).op)
            else:
                graph = tf.compat.v1.get_default_graph()
                made.append(shared.operation(graph, "ReadVariableOp", [handle], lambda: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)))
        assert made[0] is made[1] and made[2] is not made[0]
        return made[0], made[2]

    assert [float(one) for one in reads()] == [1.0, 2.0]
    assert graph is not None


def test_what_is_not_the_same_is_not_shared() -> None:
    shared = Shared()
    with tf.Graph().as_default() as graph:

        def constant(*given: Any) -> Any:
            return shared.constant(graph, given, object)

        assert constant(1, "float32", None) is constant(1, "float32", None)
        different = [
            constant(*one)
            for one in ((1, "float32", None), (1.0, "float32", None), (True, "float32", None), (0.0, None, None), (-0.0, None, None), (1, "int32", None))
        ]
        assert len({id(one) for one in different}) == len(different)
        assert constant([1], None, None) is not constant([1], None, None)
        with graph.control_dependencies([tf.no_op()]):
            assert constant(1, "float32", None) is not constant(1, "float32", None)
        x = tf.constant([1.0, 2.0])
        random = [shared.result(graph, "RandomUniform", {"shape": x}, object) for _ in range(2)]
        assert random[0] is not random[1]
    with tf.Graph().as_default() as other:
        assert shared.constant(other, (1, "float32", None), object) is not different[0]
