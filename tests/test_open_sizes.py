"""Sizes that a pipeline leaves unknown: ``fit`` traces without them, whatever size the batches have."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
ROWS, STEPS = 16, 12


def serious(report):
    return [finding.rule for finding in report.findings if finding.severity in ("error", "tpu", "silent")]


def unknown(x, y, size=4, inner=True):
    """Batches from a generator; ``inner``: of unknown sizes behind the batch axis."""

    def batches():
        for i in range(0, len(x), size):
            yield x[i : i + size], y[i : i + size]

    def declared(value):
        return tf.TensorSpec((None, *([None] * (value.ndim - 2) if inner else value.shape[1:-1]), *value.shape[1:][-1:]), value.dtype)

    return tf.data.Dataset.from_generator(batches, output_signature=(declared(x), declared(y)))


def sequences(length=STEPS):
    return np.random.default_rng(0).normal(size=(ROWS, length, 3)).astype("float32"), np.zeros((ROWS, 1), "float32")


def pictures():
    return np.zeros((ROWS, 16, 16, 3), "float32"), np.zeros((ROWS, 1), "float32")


def ended(lib, shape, *layers):
    pooling = lib.layers.GlobalAveragePooling1D if len(shape) == 2 else lib.layers.GlobalAveragePooling2D
    model = lib.Sequential([lib.Input(shape), *layers, pooling(), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def runs(build, data):
    try:
        build().fit(data, verbose=0)
    except Exception:
        return False
    return True


def unrolled(lib):
    return ended(lib, (None, 3), lib.layers.LSTM(4, return_sequences=True, unroll=True))


def looped(lib):
    return ended(lib, (None, 3), lib.layers.LSTM(4, return_sequences=True))


def enlarged(lib):
    return ended(lib, (None, None, 3), lib.layers.UpSampling2D(interpolation="bilinear"))


def cropped(lib):
    return ended(lib, (None, None, 3), lib.layers.RandomCrop(8, 8))


def of_known_size(lib):
    return ended(lib, (STEPS, 3), lib.layers.Flatten(), lib.layers.Reshape((STEPS, 3)))


@BOTH
@pytest.mark.parametrize(
    ("build", "made"),
    [(unrolled, sequences), (looped, sequences), (of_known_size, sequences), (enlarged, pictures), (cropped, pictures)],
    ids=lambda value: value.__name__,
)
@pytest.mark.parametrize("inner", [True, False], ids=["unknown", "known"])
def test_a_report_says_what_fit_does_without_the_sizes(lib, build, made, inner):
    report = tpushape.trace(lambda: build(lib), unknown(*made(), inner=inner), tpu=None)
    assert bool(serious(report)) == (not runs(lambda: build(lib), unknown(*made(), inner=inner)))


def of_sequences():
    return unknown(*sequences())


def recurrent():
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4, unroll=True), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def test_the_layer_and_the_declared_shape_are_named():
    report = tpushape.trace(recurrent, of_sequences, tpu=None)
    (finding,) = [one for one in report.findings if one.serious]
    assert finding.rule == "data-size-unknown"
    assert "lstm" in finding.message and "x is declared as (?, ?, 3)" in finding.message
    assert "(4, 12, 3)" in finding.why
    assert [fix.title for fix in finding.fixes if fix.verified] == ["Set unroll=False in lstm", "Set the shape in the pipeline: (?, 12, 3)"]


class Positions(keras.Model):
    """Asks for the number of steps while it is traced."""

    def __init__(self):
        super().__init__()
        self.positions = keras.layers.Embedding(30, 3)
        self.out = keras.layers.Dense(1)

    def call(self, x):
        steps = x.shape[1]
        return self.out(tf.reduce_mean(x + self.positions(tf.range(steps)), axis=1))


def with_positions():
    model = Positions()
    model.compile("sgd", "mse")
    return model


def test_a_size_that_code_asks_for_is_computed_as_it_runs():
    report = tpushape.trace(with_positions, of_sequences, tpu=None)
    (finding,) = [one for one in report.findings if one.serious]
    assert "`tf.range(steps)`" in finding.message
    assert finding.fixes[0].verified and "+        steps = tf.shape(x)[1]" in finding.fixes[0].patch
    assert serious(tpushape.trace(with_positions, unknown(*sequences(), inner=False), tpu=None)) == []


def distributed():
    return ended(keras, (None, 3), keras.layers.TimeDistributed(keras.layers.Dense(4)))


def twice():
    inner = [keras.layers.TimeDistributed(keras.layers.Dense(4, activation="relu")), keras.layers.TimeDistributed(keras.layers.Dense(2))]
    return ended(keras, (None, 3), *inner)


def steps_that_count(model, rows):
    """How many steps of one batch change what the model gives, where the number of steps is unknown."""
    call = tf.function(model, input_signature=[tf.TensorSpec((None, None, 3))])
    x = np.ones((rows, STEPS, 3), "float32")
    before, changed = call(x), 0
    for step in range(STEPS):
        other = x.copy()
        other[:, step] = -5
        changed += bool(np.any(np.abs(call(other) - before) > 1e-6))
    return changed


def test_time_distributed_loses_the_steps_that_really_do_not_count():
    report = tpushape.trace(distributed, of_sequences, tpu=None)
    (finding,) = [one for one in report.findings if one.serious]
    assert (finding.rule, finding.severity) == ("steps-by-rows", "silent")
    counted = steps_that_count(distributed(), 4)
    assert f"the first {counted} steps of {STEPS} only" in finding.message


class Own(keras.Model):
    """A training step of its own, over a time axis of unknown length."""

    def __init__(self):
        super().__init__()
        self.inner = keras.layers.TimeDistributed(keras.layers.Dense(1))

    def call(self, x):
        return self.inner(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.reduce_mean(self(x, training=True), axis=1) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def with_a_step():
    model = Own()
    model.compile("sgd")
    return model


@pytest.mark.parametrize(("inner", "said"), [(True, ["steps-by-rows"]), (False, [])], ids=["unknown", "known"])
def test_a_training_step_of_the_models_own_is_run_without_the_sizes_too(inner, said):
    report = tpushape.trace(with_a_step, unknown(*sequences(), inner=inner), tpu=None)
    assert serious(report) == said


def test_more_rows_than_steps_are_an_error_as_in_fit():
    def data():
        return unknown(*sequences(3), size=8)

    (finding,) = [one for one in tpushape.trace(twice, data, tpu=None).findings if one.serious]
    assert (finding.severity, len(finding.nodes)) == ("error", 2)
    assert not runs(twice, data())


def test_without_time_distributed_every_step_counts():
    report = tpushape.trace(twice, of_sequences, tpu=None)
    (finding,) = [one for one in report.findings if one.serious]
    first, second = [fix for fix in finding.fixes if fix.verified]
    assert 'keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)]' in first.patch
    assert second.title == "Set the shape in the pipeline: (?, 12, 3)"


@pytest.mark.parametrize("lib", [tf_keras, keras], ids=["tf_keras", "keras"])
def test_time_distributed_of_a_known_length_is_no_fault(lib):
    def build():
        return ended(lib, (None, 3), lib.layers.TimeDistributed(lib.layers.Dense(4)))

    assert serious(tpushape.trace(build, unknown(*sequences(), inner=lib is tf_keras), tpu=None)) == []


def test_the_last_map_of_a_pipeline_takes_up_a_second_shape():
    def build():
        i = keras.Input((None, None, 3))
        model = keras.Model(i, keras.layers.UpSampling2D(interpolation="bilinear")(i))
        model.compile("sgd", "mse")
        return model

    def data():
        x = np.zeros((8, 8, 8, 3), "float32")
        shapes = tf.TensorSpec((None, None, None, 3)), tf.TensorSpec((None, None, None, 3))
        batches = [(x, np.zeros((8, 16, 16, 3), "float32"))] * 3
        return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=shapes)

    (finding,) = [one for one in tpushape.trace(build, data, tpu=None).findings if one.serious]
    fix = finding.fixes[0]
    assert fix.verified and fix.patch.count(".map(lambda") == 1
    assert "(tf.ensure_shape(x, (None, 8, 8, 3)), tf.ensure_shape(y, (None, 16, 16, 3)))" in fix.patch
