"""Normalizations along the batch: by a layer whose axis is that of the samples, and by one number for a whole batch."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
SILENT = {"unit": lambda lib: lib.layers.UnitNormalization(axis=0)}
BREAKS = {
    "layer": lambda lib: lib.layers.LayerNormalization(axis=0),
    "layer, from the end": lambda lib: lib.layers.LayerNormalization(axis=-3),
    "several axes": lambda lib: lib.layers.LayerNormalization(axis=[0, 1]),
    "batch": lambda lib: lib.layers.BatchNormalization(axis=0),
    "group": lambda lib: lib.layers.GroupNormalization(4, axis=0),
}
RIGHT = {
    "unit": lambda lib: lib.layers.UnitNormalization(axis=1),
    "layer": lambda lib: lib.layers.LayerNormalization(axis=(1, 2)),
    "batch": lambda lib: lib.layers.BatchNormalization(axis=1),
    "group": lambda lib: lib.layers.GroupNormalization(4),
}
WHOLE = {
    "norm": lambda x: x / tf.norm(x),
    "squares": lambda x: x / tf.sqrt(tf.reduce_sum(x * x) + 1e-6),
    "inverse root": lambda x: x * tf.math.rsqrt(tf.reduce_sum(tf.square(x))),
    "l2": tf.math.l2_normalize,
}
EACH = {
    "norm": lambda x: x / tf.norm(x, axis=-1, keepdims=True),
    "l2": lambda x: tf.math.l2_normalize(x, axis=-1),
    "a scale": lambda x: x * tf.math.rsqrt(tf.cast(tf.shape(x)[-1], x.dtype)),
}


def found(lib, layer):
    def build():
        i = lib.Input((5, 6))
        x = layer(lib)(lib.layers.Dense(8)(i))
        model = lib.Model(i, lib.layers.Dense(1)(lib.layers.Flatten()(x)))
        model.compile("sgd", "mse")
        return model

    data = lambda: (np.zeros((64, 5, 6), "float32"), np.zeros((64, 1), "float32"))  # noqa: E731
    return [one for one in tpushape.trace(build, data, tpu=None).findings if one.serious]


@BOTH
@pytest.mark.parametrize(("case", "severity"), [*((one, "silent") for one in SILENT), *((one, "error") for one in BREAKS)])
def test_a_layer_along_the_batch_gets_the_axis_of_the_features(lib, case, severity):
    (finding,) = found(lib, {**SILENT, **BREAKS}[case])
    assert (finding.rule, finding.severity) == ("normalized-over-batch", severity)
    assert finding.fixes[0].verified
    assert "axis=-1" in finding.fixes[0].title


@BOTH
@pytest.mark.parametrize("case", RIGHT)
def test_a_layer_along_another_axis_is_left_alone(lib, case):
    assert not found(lib, RIGHT[case])


def _own(lib, function):
    class Own(lib.layers.Layer):
        def call(self, x):
            return function(x)

    return Own()


@BOTH
@pytest.mark.parametrize("case", WHOLE)
def test_one_number_for_all_samples_is_told(lib, case):
    (finding,) = found(lib, lambda lib: _own(lib, WHOLE[case]))
    assert (finding.rule, finding.severity) == ("samples-summed", "silent")
    assert "combines all samples" in finding.message


@BOTH
@pytest.mark.parametrize("case", EACH)
def test_one_number_for_each_sample_is_right(lib, case):
    assert not found(lib, lambda lib: _own(lib, EACH[case]))
