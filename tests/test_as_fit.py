"""What a report says is what a real step does: nothing ok that raises, nothing broken that runs."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.examine import Program, examine

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
X, ONES = np.ones((16, 3), "float32"), np.ones((16, 1), "float32")


def serious(report):
    return [finding.rule for finding in report.findings if finding.severity in ("error", "tpu", "silent")]


def runs(model, *data):
    try:
        model.fit(*data[:2], sample_weight=data[2] if len(data) > 2 else None, verbose=0)
    except Exception:
        return False
    return True


def own(lib, parts):
    """A model with a training step of its own, for batches of this many parts, and a metric of its own."""

    class Own(lib.Model):
        def __init__(self):
            super().__init__()
            self.dense = lib.layers.Dense(1)
            self.seen = lib.metrics.Mean(name="seen")

        def call(self, x):
            return self.dense(x)

        @property
        def metrics(self):
            return [self.seen]

        def train_step(self, data):
            x, y, *rest = data
            assert len(rest) == parts - 2
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x) - y) ** 2)
                for part in rest:
                    loss *= tf.reduce_mean(part)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.seen.update_state(loss)
            return {"loss": self.seen.result()}

    model = Own()
    model.compile("sgd")
    return model


@BOTH
@pytest.mark.parametrize("tpu", [None, "v5e-8"])
@pytest.mark.parametrize("parts", [2, 3, 5])
def test_a_step_of_the_models_own_gets_the_batch_as_it_is(lib, tpu, parts):
    data = tf.data.Dataset.from_tensor_slices((X, *[ONES] * (parts - 1))).batch(8, drop_remainder=True)
    assert serious(tpushape.trace(own(lib, parts), data, tpu=tpu)) == []
    assert runs(own(lib, parts), data)


@BOTH
def test_fit_itself_takes_three_parts_at_most(lib):
    model = lib.Sequential([lib.Input((3,)), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((X, ONES, ONES, ONES)).batch(8)
    assert "data-misfit" in serious(tpushape.trace(model, data, tpu=None))
    assert not runs(model, data)


@BOTH
@pytest.mark.parametrize(
    "labels",
    [np.array(["a", "b"] * 8), np.array(["a", "b"] * 8, object), np.array([1, 2] * 8, "datetime64[D]"), np.arange(16) % 2],
    ids=["text", "objects", "dates", "numbers"],
)
def test_labels_that_no_loss_reads_are_said(lib, labels):
    model = lib.Sequential([lib.Input((3,)), lib.layers.Dense(2, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    report = tpushape.trace(model, (X, labels), tpu=None)
    assert report.ok == runs(model, X, labels) == (labels.dtype.kind == "i")
    assert not any("rank" in rule for rule in serious(report))


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float8_e4m3fn", "bfloat16"])
@pytest.mark.parametrize("place", ["x", "y", "sample_weight"])
@BOTH
def test_arrays_of_small_dtypes_are_taken_where_fit_takes_them(lib, dtype, place):
    parts = {"x": X, "y": ONES, "sample_weight": ONES[:, 0]}
    parts[place] = parts[place].astype(getattr(pytest.importorskip("ml_dtypes"), dtype))

    def model():
        made = lib.Sequential([lib.Input((3,)), lib.layers.Dense(1)])
        made.compile("sgd", "mse")
        return made

    report = tpushape.trace(model(), tuple(parts.values()), tpu=None)
    assert report.ok == runs(model(), *parts.values())
    if lib is tf_keras and not report.ok:
        assert serious(report) == ["data-misfit"] and report.findings[0].fixes[0].verified


@BOTH
@pytest.mark.parametrize("declared", ["float32", "int32"])
def test_text_where_numbers_are_declared_is_an_error(lib, declared):
    model = lib.Sequential([lib.Input((3,), dtype=declared), lib.layers.Rescaling(2.0)])
    report = tpushape.trace(model, (tf.constant([["a"] * 3] * 4), None), tpu=None)
    assert serious(report) == ["input-dtype"]


@BOTH
def test_tensors_of_unknown_rank_are_refused_where_fit_refuses_them(lib):
    def batches():
        for _ in range(4):
            yield X[:4], ONES[:4]

    data = tf.data.Dataset.from_generator(batches, output_types=("float32", "float32"))
    model = lib.Sequential([lib.Input((3,)), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert tpushape.trace(model, data, tpu=None).ok == runs(model, data)


@BOTH
def test_a_model_that_is_built_from_a_tensor_of_unknown_rank_is_refused(lib):
    def halved(x, y):
        return tf.py_function(lambda rows: rows / 2, [x], tf.float32), y

    data = tf.data.Dataset.from_tensor_slices((X, ONES)).map(halved).batch(4)
    model = lib.Sequential([lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    report = tpushape.trace(model, data, tpu=None)
    assert serious(report) == ["unknown-rank"] and not runs(model, data)


@BOTH
@pytest.mark.parametrize("sizes", [(-1, -1), (2, -1, -1), (-1, 3)])
def test_a_reshape_that_leaves_two_sizes_open_is_refused(lib, sizes):
    class Folded(lib.layers.Layer):
        def call(self, x):
            return x + tf.reduce_sum(tf.reshape(x, sizes))

    door = lib.Input((3,))
    model = lib.Model(door, lib.layers.Dense(1)(Folded()(door)))
    model.compile("sgd", "mse")
    report = tpushape.trace(model, (X, ONES), tpu=None)
    assert report.ok == runs(model, X, ONES) == (sizes.count(-1) < 2)


LAYERS = {
    "conv": lambda layers: layers.Conv1D(2, 3),
    "dropout": lambda layers: layers.Dropout(0.5),
    "pooling": lambda layers: layers.AveragePooling1D(2),
    "batch": lambda layers: layers.BatchNormalization(),
    "layer": lambda layers: layers.LayerNormalization(),
    "dense": lambda layers: layers.Dense(2),
    "noise": lambda layers: layers.GaussianNoise(0.1),
    "activation": lambda layers: layers.Activation("relu"),
    "lstm": lambda layers: layers.LSTM(2),
    "flatten": lambda layers: layers.Flatten(),
}


@BOTH
@pytest.mark.parametrize("dtype", ["int32", "bool", "float16"])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_built_layer_is_not_believed_about_its_dtype(lib, kind, dtype):
    door = lib.Input((6, 4), dtype=dtype)
    x = np.ones((4, 6, 4), dtype)
    try:
        model = lib.Model(door, LAYERS[kind](lib.layers)(door))
    except Exception:
        # Then a builder of it is broken for the same reason.
        assert not tpushape.trace(lambda: lib.Model(door, LAYERS[kind](lib.layers)(door)), (x, None), tpu=None).ok
        return
    model.run_eagerly = True
    try:
        model(tf.constant(x), training=True)
        ran = True
    except Exception:
        ran = False
    assert tpushape.trace(model, (x, None), tpu=None).ok == ran


@BOTH
def test_a_function_of_the_users_own_in_a_layer_is_run(lib):
    def build(activation):
        before = lib.mixed_precision.global_policy() if lib is tf_keras else lib.mixed_precision.dtype_policy()
        lib.mixed_precision.set_global_policy("mixed_float16")
        try:
            door = lib.Input((3,))
            return lib.Model(door, lib.layers.Dense(2, activation=activation)(door))
        finally:
            lib.mixed_precision.set_global_policy(before)

    assert tpushape.trace(lambda: build(lambda x: x * tf.cast(2.0, x.dtype)), (X, None), tpu=None).ok
    assert not tpushape.trace(lambda: build(lambda x: x * tf.constant(2.0)), (X, None), tpu=None).ok


@BOTH
def test_nothing_of_a_layer_is_changed_by_asking_it(lib):
    door = lib.Input((3,), dtype="int32")
    layers = [lib.layers.Embedding(9, 4), lib.layers.Dropout(0.5), lib.layers.BatchNormalization()]
    model = lib.Sequential([door, *layers]) if lib is keras else lib.Model(door, layers[2](layers[1](layers[0](door))))
    weights = [value.copy() for value in model.get_weights()]
    held = [dict(vars(layer)) for layer in layers]
    assert tpushape.trace(model, (np.ones((4, 3), "int32"), None), tpu=None).ok
    assert all(vars(layer).keys() == kept.keys() for layer, kept in zip(layers, held, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(weights, model.get_weights(), strict=True))


@BOTH
def test_one_layer_is_shown_with_its_output_and_its_weights(lib):
    report = tpushape.trace(lib.layers.Dense(4, name="one"), X, tpu=None)
    (node,) = [node for node in report.flow.nodes if node.kind == "layer"]
    assert (node.name, node.params) == ("one", 16)
    assert [report.flow.node(edge.target).kind for edge in report.flow.out_of(node.id)] == ["output"]
    (edge,) = report.flow.into(node.id)
    assert report.flow.node(edge.source).kind == "input"


def learner(lib, way):
    """A model whose gradients arrive at a weight, or do not, for one reason or another."""

    class Held(lib.layers.Layer):
        def __init__(self, used, regularizer=None):
            super().__init__()
            self.used = used
            self.scale = self.add_weight(name="scale", shape=(3,), initializer="ones", regularizer=regularizer)

        def call(self, x):
            return x * self.scale if self.used else x

    class Made(lib.Model):
        def __init__(self):
            super().__init__()
            self.dense = lib.layers.Dense(3, kernel_initializer="ones", trainable=way == "made")
            self.other = Held(False)

        def call(self, x):
            return self.other(self.dense(x))

    layers = lib.layers
    ways = {
        "used": [Held(True)], "unused": [Held(False)], "regularized": [Held(False, "l2")], "dense": [layers.Dense(3)],
        "rounded": [layers.Dense(3), layers.Lambda(tf.round)], "whole": [layers.Dense(3), layers.Lambda(lambda x: tf.cast(tf.cast(x, "int32"), "float32"))],
        "after": [layers.Lambda(tf.round), layers.Dense(3)], "stopped": [layers.Dense(3), layers.Lambda(tf.stop_gradient)],
        "frozen": [Held(False), layers.Dense(3, trainable=False)], "normalized": [layers.LayerNormalization()], "looked up": [layers.Embedding(4, 3)],
        "recurrent": [layers.Reshape((3, 1)), layers.LSTM(3)],
    }  # fmt: skip
    if way in ("made", "made frozen"):
        return Made()
    whole = way in ("normalized", "looked up")
    return lib.Sequential([lib.Input((3,), dtype="int32" if whole else "float32"), *ways[way]])


@BOTH
@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
@pytest.mark.parametrize(
    "way",
    ["used", "unused", "regularized", "dense", "rounded", "whole", "after", "stopped", "frozen", "normalized", "looked up", "recurrent", "made",
     "made frozen"],
)  # fmt: skip
def test_a_loss_whose_gradients_reach_no_weight_is_an_error(lib, way, policy):
    def build():
        before = (lib.config.dtype_policy if lib is keras else lib.mixed_precision.global_policy)()
        lib.mixed_precision.set_global_policy(policy)
        try:
            model = learner(lib, way)
            model.compile("sgd", lambda y, found: tf.reduce_mean((tf.cast(found, "float32") - 0.5) ** 2))
        finally:
            lib.mixed_precision.set_global_policy(before)
        return model

    x = (X * 3).astype("int32") if way in ("normalized", "looked up") else X
    real = runs(build(), x, ONES)
    for model in (build, build()):
        report = tpushape.trace(model, (x, ONES), tpu=None, fixes=False)
        assert (serious(report) == []) == real
        assert real or serious(report) == ["no-gradient"]


@BOTH
@pytest.mark.parametrize(("axes", "holds"), [(8, True), (9, False)])
def test_values_of_different_shapes_are_chosen_along_eight_axes(lib, axes, holds):
    chosen = lib.layers.Lambda(lambda x: tf.where(tf.reshape(x, (-1, 3) + (1,) * (axes - 2)) > 0.5, 1.0, 0.0))
    model = lib.Sequential([lib.Input((3,)), chosen, lib.layers.Flatten(), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert tpushape.trace(model, (X, ONES), tpu=None, fixes=False).ok == runs(model, X, ONES) == holds


@BOTH
@pytest.mark.parametrize(("mode", "size", "holds"), [("REFLECT", 2, True), ("REFLECT", 3, False), ("SYMMETRIC", 3, True), ("SYMMETRIC", 4, False)])
def test_a_mirror_is_no_wider_than_what_it_mirrors(lib, mode, size, holds):
    model = lib.Sequential([lib.Input((3,)), lib.layers.Lambda(lambda x: tf.pad(x, [[0, 0], [size, 0]], mode)), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert tpushape.trace(model, (X, ONES), tpu=None, fixes=False).ok == runs(model, X, ONES) == holds


def by_the_batch(x):
    """An activation that only a call with a known number of rows runs into."""
    return tf.reshape(x, (7, 4)) if x.shape[0] is not None else x


def held(lib, kind, activation):
    """A layer that calls the activation inside of something that it holds."""
    layers = lib.layers
    frames = lib.Sequential([lib.Input((6, 6, 3)), layers.Flatten(), layers.Dense(4, activation=activation)])
    return {
        "cell": lambda: layers.LSTM(4, activation=activation),
        "cells": lambda: layers.RNN([layers.GRUCell(4), layers.GRUCell(4, activation=activation)]),
        "step": lambda: layers.TimeDistributed(layers.Dense(4, activation=activation)),
        "steps of a model": lambda: layers.TimeDistributed(frames),
    }[kind]()


@BOTH
@pytest.mark.parametrize("kind", ["cell", "cells", "step", "steps of a model"])
def test_a_function_of_the_program_is_called_also_inside_of_what_a_layer_holds(lib, kind):
    shape = (5, 6, 6, 3) if kind == "steps of a model" else (5, 3)

    def build(activation):
        inputs = lib.Input(shape)
        model = lib.Model(inputs, lib.layers.Dense(1)(lib.layers.Flatten()(held(lib, kind, activation)(inputs))))
        model.compile("sgd", "mse")
        return model

    data = tf.data.Dataset.from_tensor_slices((np.ones((16, *shape), "float32"), ONES)).batch(8, drop_remainder=True)
    assert not runs(build(by_the_batch), data)
    assert serious(tpushape.trace(build(by_the_batch), data, tpu=None, fixes=False)) == ["op-shapes"]
    assert runs(build("tanh"), data)
    assert serious(tpushape.trace(build("tanh"), data, tpu=None)) == []


@BOTH
def test_a_model_that_is_applied_to_each_step_is_traced_for_one_step_alone(lib):
    frames = lib.Sequential([lib.Input((6, 6, 3)), lib.layers.Conv2D(2, 3), lib.layers.Flatten(), lib.layers.Dense(4)])
    inputs = lib.Input((30, 6, 6, 3))
    steps = lib.layers.Bidirectional(lib.layers.GRU(4))(lib.layers.TimeDistributed(frames)(inputs))
    model = lib.Model(inputs, lib.layers.Dense(1)(steps))
    model.compile("sgd", "mse")
    seen = examine(Program(model, (np.ones((8, 30, 6, 6, 3), "float32"), np.ones((8, 1), "float32"))))
    assert seen.run.fast
    calls = [call for call in seen.recorder.calls if call.kind == "layer"]
    assert [call.op for call in calls] == ["TimeDistributed", "Bidirectional", "Dense"]
    assert [port.spec.shape[1:] for call in calls for port in call.outputs] == [(30, 4), (8,), (1,)]


@BOTH
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_layer_of_the_program_inside_of_a_model_of_one_step_is_called(lib, dtype):
    class Centred(lib.layers.Layer):
        def call(self, x):
            return x - tf.reduce_mean(x, axis=0, keepdims=True)

    first = [lib.layers.Embedding(5, 4)] if dtype == "int32" else []
    step = lib.Sequential([lib.Input((6,), dtype=dtype), *first, Centred(), lib.layers.Flatten()])
    inputs = lib.Input((3, 6), dtype=dtype)
    model = lib.Model(inputs, lib.layers.Dense(1)(lib.layers.Flatten()(lib.layers.TimeDistributed(step)(inputs))))
    model.compile("sgd", "mse")
    seen = examine(Program(model, (np.ones((8, 3, 6), dtype), np.ones((8, 1), "float32"))))
    assert seen.error is None
    assert not seen.run.fast
