"""What a fixed program computes: dependence on inputs and labels, samples apart, no constants, and nothing of the user's touched."""

from __future__ import annotations

import importlib
import random

import numpy as np
import pytest
import tensorflow as tf
from computed_programs import PROGRAMS, floats, kinds

import jupyter_tpushape as tpushape
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.repair.computed import VALUES, facts

FRAMEWORKS = ("keras", "tf_keras")


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_say_what_counts(name, framework):
    keras = importlib.import_module(framework)
    assert kinds(keras, name) == PROGRAMS[name][-1]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_nothing_of_the_users_changes(framework):
    keras = importlib.import_module(framework)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    keras.utils.set_random_seed(3)
    before = [model.get_weights(), random.getstate(), np.random.get_state()[1].tolist()]
    drawn = tf.random.normal((3,)).numpy()
    keras.utils.set_random_seed(3)
    assert facts(examine(Program(model, (floats(8, 6), floats(8, 1))))) == frozenset()
    assert all(np.array_equal(a, b) for a, b in zip(before[0], model.get_weights(), strict=True))
    assert [random.getstate(), np.random.get_state()[1].tolist()] == before[1:]
    assert np.array_equal(tf.random.normal((3,)).numpy(), drawn)


def test_a_large_program_is_left_to_the_graph():
    import keras

    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(VALUES // 6), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert facts(examine(Program(model, (floats(8, 6), floats(8, 1))))) is None


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_fix_that_makes_a_constant_is_a_question(framework):
    """Ids with an axis of size 1 would be normalized alone, each to zero."""
    keras = importlib.import_module(framework)
    layers = keras.layers

    def build():
        ids = keras.Input((6,), dtype="int32")
        x = layers.LayerNormalization()(layers.Add()([ids, layers.MultiHeadAttention(2, 4)(ids, ids)]))
        model = keras.Model(ids, layers.Dense(1, activation="sigmoid")(layers.GlobalAveragePooling1D()(x)))
        model.compile("sgd", "binary_crossentropy")
        return model

    report = tpushape.trace(build, ((np.arange(240) % 12).reshape(40, 6), np.arange(40)[:, None] % 2), tpu=None)
    fixes = report.findings[0].fixes
    assert fixes[0].verified
    assert not any(fix.verified and edit.kind == "data-transform" for fix in fixes for edit in fix.edits)
