"""What strangers posted of both Kerases: labels out of an activation's range, weights that act as one, and their correct twins."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])


def floats(*shape):
    return np.random.default_rng(0).random(shape).astype("float32")


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def findings(build, data, rule):
    found = tpushape.trace(build, data, tpu=None, fixes=False).findings
    return [one for one in found if one.rule == rule]


def _model(framework, layers, shape, loss="mse"):
    def build():
        model = framework.Sequential([framework.layers.Input(shape), *layers()])
        model.compile("sgd", loss)
        return model

    return build


@BOTH
@pytest.mark.parametrize(
    ("activation", "labels", "out"),
    [
        ("relu", normal(8, 1), True),
        ("relu", floats(8, 1), False),
        ("sigmoid", 300 * floats(8, 1), True),
        ("sigmoid", floats(8, 1), False),
        ("tanh", 3 * normal(8, 1), True),
        ("tanh", 2 * floats(8, 1) - 1, False),
        ("softplus", normal(8, 1), True),
        ("elu", normal(8, 1), False),
        (None, normal(8, 1), False),
        ("relu", np.full((8, 1), -1.0, "float32"), False),
        ("relu", np.linspace(-0.01, 5, 8, dtype="float32")[:, None], False),
    ],
)
def test_labels_out_of_the_last_activations_range_are_noted(framework, activation, labels, out):
    layers = framework.layers
    found = findings(_model(framework, lambda: [layers.Dense(1, activation=activation)], (3,), "mae"), lambda: (floats(8, 3), labels), "activation-range")
    assert bool(found) is out
    assert all((one.severity, one.fact.activation) == ("note", activation) for one in found)


@BOTH
@pytest.mark.parametrize("end", ["Activation", "Reshape", "TimeDistributed"])
def test_the_last_activation_is_found_in_a_layer_of_its_own_or_before_a_reshape(framework, end):
    layers = framework.layers

    def chain():
        if end == "Activation":
            return [layers.Dense(1), layers.Activation("sigmoid")]
        if end == "Reshape":
            return [layers.Flatten(), layers.Dense(4, activation="relu"), layers.Reshape((4, 1))]
        return [layers.TimeDistributed(layers.Dense(1, activation="relu"))]

    found = findings(_model(framework, chain, (4, 3)), lambda: (floats(8, 4, 3), normal(8, 4, 1)), "activation-range")
    assert len(found) == 1 and found[0].fact.lowest < 0


@BOTH
def test_a_cross_entropy_says_itself_what_labels_it_takes(framework):
    layers = framework.layers
    build = _model(framework, lambda: [layers.Dense(1, activation="sigmoid")], (3,), "binary_crossentropy")
    assert not findings(build, lambda: (floats(8, 3), 2 * floats(8, 1)), "activation-range")


@BOTH
@pytest.mark.parametrize("head", [(3, "relu"), (2, None)], ids=["many", "two"])
@pytest.mark.parametrize("way", ["mean", "whole", "scalar"])
def test_weights_of_classes_that_multiply_one_value_are_told(framework, way, head):
    layers = framework.layers
    weights = tf.constant([0.1, 0.9])

    def loss(t, p):
        error = tf.square(t - p)
        if way == "scalar":
            return tf.reduce_sum(tf.reduce_mean(error) * weights)
        error = tf.reduce_mean(error, axis=[0, 1]) if way == "mean" else error
        return tf.reduce_sum(error * weights, axis=-1)

    def chain():
        return [layers.Dense(head[0], activation=head[1]), layers.Dense(1)]

    (found,) = findings(_model(framework, chain, (5, 3), loss), lambda: (floats(8, 5, 3), floats(8, 5, 1)), "weights-as-one")
    assert (found.severity, found.fact.weights, found.fact.channels) == ("silent", 2, 1)


@BOTH
@pytest.mark.parametrize("way", ["classes", "bins", "label", "number"])
def test_weights_with_a_value_of_their_own_are_left_alone(framework, way):
    layers = framework.layers
    units = 2 if way == "classes" else 1

    def loss(t, p):
        error = tf.square(t - p)
        if way == "classes":
            return tf.reduce_sum(tf.reduce_mean(error, axis=0) * tf.constant([0.1, 0.9]))
        if way == "bins":
            return tf.reduce_mean(tf.reduce_sum(tf.exp(-error * tf.constant([1.0, 2.0, 4.0])), axis=-1))
        if way == "label":
            return tf.reduce_mean(error * (0.9 * t + 0.1 * (1 - t)))
        return tf.reduce_sum(0.5 * error, axis=-1)

    build = _model(framework, lambda: [layers.Dense(units)], (3,), loss)
    assert not findings(build, lambda: (floats(8, 3), np.round(floats(8, units))), "weights-as-one")


@BOTH
@pytest.mark.parametrize("target", [(3, 48), (48, 3), (4, 36), (8, 18)])
def test_a_reshape_takes_channels_for_the_first_axis_only_if_it_says_so(framework, target):
    layers = framework.layers
    build = _model(framework, lambda: [layers.Conv2D(3, 1), layers.Reshape(target), layers.Permute((2, 1)), layers.Flatten(), layers.Dense(1)], (8, 6, 1))
    found = findings(build, lambda: (floats(4, 8, 6, 1), floats(4, 1)), "reshape-interleaves")
    assert bool(found) is (target == (3, 48))


@BOTH
def test_halves_of_an_image_are_no_channels(framework):
    layers = framework.layers
    build = _model(framework, lambda: [layers.Conv2D(2, 1), layers.Reshape((2, 48)), layers.LSTM(3), layers.Dense(1)], (8, 6, 1))
    assert not findings(build, lambda: (floats(4, 8, 6, 1), floats(4, 1)), "reshape-interleaves")


@BOTH
@pytest.mark.parametrize("whole", [True, False])
def test_ids_that_are_floats_are_ids_if_they_are_whole(framework, whole):
    layers = framework.layers
    values = np.floor(9 * floats(8, 4)) if whole else 9 * floats(8, 4)
    build = _model(framework, lambda: [layers.Embedding(10, 3), layers.Flatten(), layers.Dense(1)], (4,))
    found = findings(build, lambda: (values, floats(8, 1)), "embedding-range")
    assert [one.severity for one in found] == ([] if whole else ["silent"])


@BOTH
def test_float_ids_without_a_row_are_told(framework):
    layers = framework.layers
    build = _model(framework, lambda: [layers.Embedding(5, 3), layers.Flatten(), layers.Dense(1)], (4,))
    (found,) = findings(build, lambda: (np.full((8, 4), 9.0, "float32"), floats(8, 1)), "embedding-range")
    assert (found.severity, found.fact.highest) == ("error", 9)


@BOTH
@pytest.mark.parametrize("kept", [True, False])
def test_a_dataset_that_is_never_batched_is_told_to_keep_its_batches(framework, kept):
    layers = framework.layers

    def data():
        dataset = tf.data.Dataset.from_tensor_slices((floats(40, 3), floats(40, 1)))
        batched = dataset.batch(8)
        return batched if kept else dataset

    found = findings(_model(framework, lambda: [layers.Dense(1)], (3,)), data, "missing-batch-axis")
    assert [one.fact.pipeline for one in found] == ([] if kept else [True])


@BOTH
def test_rows_of_positions_are_told_by_their_axes(framework):
    layers = framework.layers
    build = _model(framework, lambda: [layers.Conv2D(3, 1, activation="softmax")], (8, 6, 1), "categorical_crossentropy")
    (found,) = findings(build, lambda: (floats(4, 8, 6, 1), np.eye(3)[np.arange(192) % 3]), "data-misfit")
    assert (found.fact.flat, found.fact.positions) == (("y",), (8, 6))
    (found,) = findings(build, lambda: (floats(4, 8, 6, 1), np.eye(3)[np.arange(191) % 3]), "data-misfit")
    assert not found.fact.flat
