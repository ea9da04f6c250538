"""Shapes that vary from batch to batch make JAX compile again; one smaller batch at the end is no such thing."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

import jupyter_tpushape as tpushape


class Batches(keras.utils.PyDataset):
    """Batches of these numbers of rows and steps."""

    def __init__(self, rows, steps):
        super().__init__()
        self.rows, self.steps = rows, steps

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        rows, steps = self.rows[index], self.steps[index]
        return np.zeros((rows, steps, 4), "float32"), np.zeros((rows, 1), "float32")


def found(data, **compiled):
    model = keras.Sequential([keras.Input((None, 4)), layers.GRU(3), layers.Dense(1)])
    model.compile("sgd", "mse", **compiled)
    report = tpushape.trace(model, data, tpu=None)
    assert report.ok
    return [finding for finding in report.findings if finding.rule == "recompiled-shapes"]


@pytest.mark.parametrize(
    ("rows", "steps", "axis", "sizes"), [((32, 16, 8), (5, 5, 5), 0, (32, 16, 8)), ((16, 32, 32), (5, 5, 5), 0, (16, 32)), ((8, 8, 8), (5, 9, 7), 1, (5, 9, 7))]
)
def test_sizes_that_vary_are_named(rows, steps, axis, sizes):
    (finding,) = found(Batches(rows, steps))
    assert (finding.severity, finding.fact.axis, finding.fact.sizes) == ("slow", axis, sizes)


@pytest.mark.parametrize("rows", [(32, 32, 7), (32, 7), (32,), (32, 32, 32)])
def test_one_smaller_batch_at_the_end_is_no_alarm(rows):
    assert not found(Batches(rows, (5,) * len(rows)))
    assert not found((np.zeros((sum(rows), 5, 4), "float32"), np.zeros((sum(rows), 1), "float32")))


def test_nothing_is_compiled_where_the_model_runs_eagerly():
    assert not found(Batches((32, 16, 8), (5, 5, 5)), run_eagerly=True)
