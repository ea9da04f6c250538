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
from jupyter_tpushape.repair.computed import VALUES, _traced, facts

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


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_does_not_follow_from_the_change_is_as_it_was_and_all_else_as_in_a_run_of_its_own(framework):
    keras = importlib.import_module(framework)
    left, right = keras.Input((4, 3)), keras.Input((4, 3))
    layers = keras.layers
    joined = layers.Concatenate()([layers.LSTM(5)(left), layers.BatchNormalization()(layers.Flatten()(right))])
    model = keras.Model([left, right], layers.Dense(1)(layers.Dropout(0.5)(joined)))
    model.compile("sgd", "mse")
    seen = examine(Program(model, ((floats(8, 4, 3), floats(8, 4, 3)), floats(8, 1))))
    traced = _traced(seen, 7)
    keys = {path: id(tensor) for path, tensor in traced.fed.items()}

    def fresh():
        return seen.adapter.backend.values(traced.recorder, traced.graph, traced.graph.ends, seen.adapter.variables(model))

    draw = np.random.default_rng(0)
    data = {key: draw.normal(size=(7, *leaf.spec.shape[1:])).astype("float32") for leaf in (*traced.x, *traced.y) for key in [keys[leaf.path]]}
    values = fresh()
    first = values.compute(data, 1)
    for key, value in data.items():
        changed = data | {key: value + 1}
        again, alone = values.compute(changed, 1), fresh().compute(changed, 1)
        assert again.keys() == alone.keys()
        assert all(np.allclose(again[one], alone[one], atol=1e-6) for one in again)
        kept = sum(again[one] is first[one] for one in again)
        assert 0 < kept < len(again)
    assert any(not np.allclose(first[one], other) for one, other in values.compute(data, 2).items())
