"""What the optimizer does behind the loss is part of a step of fit: schedules, constraints and the variables that it was built for."""

from __future__ import annotations

import pytest
from strangers import serious, traced
from test_jax_steps import repaired

import jupyter_tpushape as tpushape

BUILD = """
def build():
    model = keras.Sequential([keras.Input((10,)), layers.Dense(8, activation="relu"{more}), layers.Dense(1)])
    model.compile({optimizer}, "mse")
    return model
def data():
    return np.random.rand(64, 10).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
SCHEDULE = """
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        {0}
    def get_config(self):
        return {{}}
"""
CONSTRAINT = """
class Bounded(keras.constraints.Constraint):
    def __call__(self, w):
        {0}
"""


def scheduled(*lines):
    return SCHEDULE.format("\n        ".join(lines)) + BUILD.format(more="", optimizer="keras.optimizers.Adam(WarmUp())")


def test_a_branch_on_the_step_becomes_a_choice(tmp_path):
    code = scheduled("if step < 100:", "    return 1e-3 * (step + 1) / 100", "return 1e-3 * (100 / (step + 1)) ** 0.5")
    patch, _ = repaired(tmp_path, code, "value-asked")
    assert "+        return ops.where(step < 100, 1e-3 * (step + 1) / 100, 1e-3 * (100 / (step + 1)) ** 0.5)" in patch


def test_the_node_of_the_optimizer_stands_behind_the_loss(tmp_path):
    report = traced(tmp_path, scheduled("return float(step) * 1e-3"))
    (finding,) = serious(report)
    assert (finding.rule, finding.location.text) == ("value-asked", "return float(step) * 1e-3")
    (node,) = finding.nodes
    assert (report.flow.node(node).op, report.flow.node(node).status) == ("Adam", "failed")


def test_a_schedule_as_it_should_be_is_ok(tmp_path):
    assert traced(tmp_path, scheduled("return ops.where(step < 100, 1e-3, 1e-4)")).ok


def test_a_constraint_runs_as_well(tmp_path):
    lines = ["if ops.norm(w) > 2.0:", "    w = 2.0 * w / ops.norm(w)", "return w"]
    code = CONSTRAINT.format("\n        ".join(lines)) + BUILD.format(more=", kernel_constraint=Bounded()", optimizer='"sgd"')
    patch, _ = repaired(tmp_path, code, "value-asked")
    # A constraint is given the variable itself, which where does not take.
    assert "+        w = ops.where(ops.norm(w) > 2.0, 2.0 * w / ops.norm(w), ops.convert_to_tensor(w))" in patch


FROZEN = """
def build():
    base = keras.Sequential([keras.Input((16,)), layers.Dense(8), layers.Dense(8)])
    {first}
    model = keras.Sequential([keras.Input((16,)), base, layers.Dense(4)])
    model.compile("adam", "mse")
    model.fit(np.zeros((8, 16)), np.zeros((8, 4)), verbose=0)
    {then}
    return model
def data():
    return np.random.rand(64, 16).astype("float32"), np.random.rand(64, 4).astype("float32")
"""
CHANGED = {
    "unfrozen": ("base.trainable = False", "base.trainable = True", (2, 6)),
    "frozen": ("pass", "base.trainable = False", (6, 2)),
    "in a loop": ("base.trainable = False", "for layer in base.layers[-1:]:\n        base.trainable = True", (2, 6)),
}


@pytest.mark.parametrize(("first", "then", "counted"), CHANGED.values(), ids=CHANGED)
def test_layers_that_are_frozen_after_training_need_another_compile(tmp_path, first, then, counted):
    (finding,) = serious(traced(tmp_path, FROZEN.format(first=first, then=then)))
    assert (finding.rule, finding.fact.built, finding.fact.trained) == ("optimizer-of-another-model", *counted)
    assert finding.fixes[0].proof == "source"
    assert '+    model.compile("adam", "mse")' in finding.fixes[0].patch


def test_an_optimizer_that_was_built_for_the_same_variables_is_ok(tmp_path):
    assert traced(tmp_path, FROZEN.format(first="pass", then="pass")).ok


def test_the_optimizer_is_left_as_it_was(tmp_path):
    import keras
    import numpy as np

    class Halved(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.5 ** keras.ops.cast(step, "float32")

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(Halved()), "mse")
    before = dict(vars(model.optimizer))
    assert tpushape.trace(model, (np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")), tpu=None).ok
    assert vars(model.optimizer) == before
    assert not model.optimizer.built
