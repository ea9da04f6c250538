"""Labels that are names of classes, in whatever holds them: a fix that numbers them in alphabetical order, and trains."""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape

NAMES = ["low", "mid", "high"] * 20
HELD = {
    "an array": np.array(NAMES),
    "an array of objects": np.array(NAMES, object),
    "an array of bytes": np.array(NAMES).astype("S"),
    "a list": NAMES,
    "a column": pd.Series(NAMES),
    "a column of objects": pd.Series(NAMES, dtype=object),
    "a column of categories": pd.Series(NAMES).astype("category"),
    "a table": pd.DataFrame({"level": NAMES}),
    "a tensor": tf.constant(NAMES),
}


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
@pytest.mark.parametrize("held", HELD)
def test_names_of_classes_become_numbers(lib, held):
    keras = importlib.import_module(lib)
    labels = HELD[held]

    def build():
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    report = tpushape.trace(build, lambda: (np.zeros((60, 6), "float32"), labels), tpu=None)
    fix = next(finding for finding in report.findings if finding.serious).fixes[0]
    assert (fix.title, fix.verified) == ("Convert the labels to class indices: high is 0, low is 1, mid is 2", True)
    model, (x, y) = fix.rebuild()
    assert np.asarray(y).reshape(-1)[:3].tolist() == [1, 2, 0]
    model.fit(x, y, verbose=0)
