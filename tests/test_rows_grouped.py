"""Reshapes that put several samples into one row: groups of a batch on purpose, or rows of a written size that is no sample's."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules.facts.mixing import RowsGrouped, RowsJoined

L = keras.layers


def traced(loss, shape=(10,), rows=64, batch=16, head=None):
    def build():
        model = keras.Sequential([keras.Input(shape), head or L.Dense(8)])
        model.compile("sgd", loss)
        return model

    x = np.random.default_rng(0).random((rows, *shape), "float32")
    y = build()(x[:1]).shape[1:]
    return tpushape.trace(build, tf.data.Dataset.from_tensor_slices((x, np.ones((rows, *y), "float32"))).batch(batch), tpu=None, fixes=False)


def triplets(_, e):
    a, p, n = tf.unstack(tf.reshape(e, (-1, 4, 8))[:, :3], axis=1)
    return tf.reduce_mean(tf.maximum(0.0, tf.reduce_sum((a - p) ** 2 - (a - n) ** 2, -1) + 0.3))


def test_groups_of_a_batch_are_a_note_that_says_their_size():
    (finding,) = traced(triplets).findings
    assert isinstance(finding.fact, RowsGrouped) and not finding.serious
    assert finding.fact.size == 4


def test_a_last_batch_that_the_groups_do_not_divide_is_an_error():
    assert [finding.severity for finding in traced(triplets, rows=62).findings if finding.rule == "fixed-batch"] == ["error"]


@pytest.mark.parametrize("size", [4 * 36, 16 * 36])
def test_rows_of_a_written_size_join_samples(size):
    def apart(t, p):
        return tf.reduce_mean(tf.square(tf.reshape(t, (-1, size)) - tf.reshape(p, (-1, size))), -1)

    (finding,) = traced(apart, (6, 6, 1), head=L.Conv2D(1, 1)).findings
    assert isinstance(finding.fact, RowsJoined) and finding.severity == "silent"


def test_rows_of_one_sample_and_parts_of_it_are_clean():
    for size in (36, 12, 4):

        def apart(t, p, size=size):
            return tf.reduce_mean(tf.square(tf.reshape(t, (-1, size)) - tf.reshape(p, (-1, size))), -1)

        assert traced(apart, (6, 6, 1), head=L.Conv2D(1, 1)).ok


@pytest.mark.parametrize("width", [16, 5])
def test_a_width_that_is_the_batch_size_by_chance_is_not_the_batch(width):
    def build():
        i = keras.Input((12, 4))
        rows = L.Lambda(lambda t: tf.reshape(t, (-1, 3, 4)), output_shape=(3, 4))(i)
        model = keras.Model(i, L.Dense(2)(L.LSTM(width)(rows)))
        model.compile("sgd", "mse")
        return model

    x = np.zeros((64, 12, 4), "float32")
    (finding,) = tpushape.trace(build, tf.data.Dataset.from_tensor_slices((x, x[:, 0, :2])).batch(16), tpu=None, fixes=False).findings
    assert finding.rule == "batch-axis-merged" and finding.fact.maker.op == "Reshape"


@pytest.mark.parametrize("target", [(2, 6), (6, 2)])
def test_parts_that_hold_whole_rows_are_clean(target):
    def build():
        i = keras.Input((4,))
        model = keras.Model(i, L.Reshape(target)(L.Concatenate()([L.Dense(6)(i), L.Dense(6)(i)])))
        model.compile("sgd", "mse")
        return model

    assert tpushape.trace(build, (np.ones((8, 4), "float32"), np.ones((8, *target), "float32")), tpu=None, fixes=False).ok
