"""Data without rows: what a step does with it, and which part of the pipeline leaves none."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

X, Y = np.zeros((3, 4), "float32"), np.zeros((3, 1), "float32")


def rows():
    return tf.data.Dataset.from_tensor_slices((X, Y))


EMPTY = {
    "arrays": (lambda: (X[:0], Y[:0]), "The arrays have no rows, so there is nothing to train on."),
    "nothing": (lambda: tf.data.Dataset.from_tensor_slices((X[:0], Y[:0])).batch(2), "The dataset has no elements, so there is nothing to train on."),
    "dropped": (lambda: rows().batch(4, drop_remainder=True).prefetch(1), "it has fewer rows than one batch, and drop_remainder=True drops them."),
    "skipped": (lambda: rows().batch(2).skip(5).prefetch(1), "skip() leaves none of the 2 elements before it."),
    "taken": (lambda: rows().repeat().batch(2).take(0), "take() leaves none of the elements before it."),
}  # fmt: skip


def model_of(lib):
    model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_the_report_says_what_fit_does_with_no_rows(lib, kind):
    make, words = EMPTY[kind]
    model, data = model_of(lib), make()
    try:
        history = model.fit(*(data if kind == "arrays" else (data,)), verbose=0).history
    except ValueError:
        history = None
    finding = next(one for one in tpushape.trace(model, make(), tpu=None).findings if one.rule == "data-misfit")
    assert finding.severity == ("error" if history is None else "silent")
    assert not history
    assert words in finding.message
    assert not finding.rejected
