"""A trace leaves model, data, random states and Keras' counters as they were."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import random
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.trace.frameworks import adapter

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


def fingerprint(lib, model):
    """Everything that a user could notice."""
    layers = [model, *getattr(model, "layers", [])]
    return {
        "weights": [np.asarray(weight).tobytes() for weight in model.weights] if model.built else None,
        "built": [layer.built for layer in layers],
        "attributes": [sorted(vars(layer)) for layer in layers],
        "losses": len(model.losses) if model.built else 0,
        "optimizer": len(model.optimizer.variables if not callable(getattr(model.optimizer, "variables", None)) else model.optimizer.variables())
        if getattr(model, "optimizer", None) is not None
        else None,
        "metrics": [len(metric.variables) for metric in getattr(model, "metrics", [])],
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),
        "counters": repr({key: value for key, value in adapter(lib.__name__).globals().items() if key != "custom_objects_scope_dict"}),
        "tf": tf.random.get_global_generator().state.numpy().tobytes(),
    }


def good(lib):
    model = lib.Sequential([lib.Input((6,)), lib.layers.Dense(4), lib.layers.BatchNormalization(), lib.layers.Dropout(0.5), lib.layers.Dense(2)])
    model.compile("adam", "mse", metrics=["mae"])
    return model


def broken_at_the_loss(lib):
    model = lib.Sequential([lib.Input((6,)), lib.layers.Dense(4), lib.layers.Dropout(0.5), lib.layers.Dense(3)])
    model.compile("adam", "mse", metrics=["mae"])
    return model


def unbuilt(lib):
    model = lib.Sequential([lib.layers.Dense(4), lib.layers.Dropout(0.5), lib.layers.Dense(2)])
    model.compile("adam", "mse")
    return model


def unbuilt_and_broken(lib):
    model = lib.Sequential([lib.layers.Dense(4), lib.layers.LSTM(4), lib.layers.Dense(2)])
    model.compile("adam", "mse")
    return model


def subclassed(lib):
    class Net(lib.Model):
        def __init__(self):
            super().__init__()
            self.a, self.d, self.b = lib.layers.Dense(4), lib.layers.Dropout(0.3), lib.layers.Dense(2)
            self.calls = 0

        def call(self, x, training=False):
            self.calls += 1
            return self.b(self.d(self.a(x), training=training))

    model = Net()
    model.compile("adam", "mse", metrics=["mae"])
    return model


def text(lib):
    model = lib.Sequential([lib.Input((6,), dtype="int32"), lib.layers.Embedding(50, 4, mask_zero=True), lib.layers.LSTM(3, dropout=0.2), lib.layers.Dense(2)])
    model.compile("adam", "mse")
    return model


@BOTH
@pytest.mark.parametrize("make", [good, broken_at_the_loss, unbuilt, unbuilt_and_broken, subclassed, text])
@pytest.mark.parametrize("tpu", [None, "v5e-8"])
def test_nothing_is_changed(lib, make, tpu):
    lib.utils.set_random_seed(3)
    tf.random.get_global_generator()
    model = make(lib)
    x = np.arange(16 * 6).reshape(16, 6).astype("int32" if make is text else "float32") % 50
    data = (x, np.zeros((16, 2), "float32"))
    before = fingerprint(lib, model)
    tpushape.trace(model, data, tpu=tpu)
    after = fingerprint(lib, model)
    for key, value in before.items():
        assert after[key] == value, key
    if make is subclassed:
        assert model.calls == 0


@BOTH
def test_training_goes_on_as_if_nothing_had_been_traced(lib):
    def run(traced):
        lib.utils.set_random_seed(11)
        model = good(lib)
        data = (np.linspace(0, 1, 96).reshape(16, 6).astype("float32"), np.ones((16, 2), "float32"))
        if traced:
            tpushape.trace(model, data, tpu="v5e-8")
        model.fit(*data, epochs=1, batch_size=8, verbose=0)
        return [np.asarray(weight) for weight in model.weights]

    for left, right in zip(run(False), run(True), strict=True):
        np.testing.assert_array_equal(left, right)


@BOTH
def test_a_dataset_keeps_its_place_and_its_functions_their_seeds(lib):
    data = tf.data.Dataset.from_tensor_slices((np.zeros((32, 6), "float32"), np.zeros((32, 2), "float32"))).shuffle(32).batch(8)
    model = good(lib)
    state = random.getstate()
    tpushape.trace(model, data, tpu="v5e-8", fixes=False)
    assert random.getstate() == state
    assert len(list(data)) == 4


def test_a_pipeline_that_fails_as_it_runs_is_looked_at_and_left_as_it_was():
    seen = []

    def mixed(x):
        seen.append(np.random.rand())
        return tf.random.uniform((tf.shape(x)[0], 1)) * x

    data = tf.data.Dataset.from_tensor_slices(np.ones((8, 3, 3, 2), "float32")).batch(4).map(mixed)
    model = keras.Sequential([keras.Input((3, 3, 2)), keras.layers.Flatten(), keras.layers.Dense(1)])
    np.random.seed(3)
    before = list(seen), np.random.get_state()[1].tobytes(), random.getstate()
    finding = tpushape.trace(model, data, tpu=None, fixes=False).findings[0]
    assert (finding.rule, finding.location.text) == ("data-raises", "return tf.random.uniform((tf.shape(x)[0], 1)) * x")
    assert (seen, np.random.get_state()[1].tobytes(), random.getstate()) == before


def test_a_function_that_cannot_be_traced_again_says_nothing_of_sizes():
    traced = []

    def once(x):
        traced.append(x)
        assert len(traced) == 1, "traced again"
        return tf.random.uniform((tf.shape(x)[0], 1)) * x

    data = tf.data.Dataset.from_tensor_slices(np.ones((8, 3, 3, 2), "float32")).batch(4).map(once)
    model = keras.Sequential([keras.Input((3, 3, 2)), keras.layers.Flatten(), keras.layers.Dense(1)])
    finding = tpushape.trace(model, data, tpu=None, fixes=False).findings[0]
    assert (finding.rule, finding.location) == ("data-raises", None)
    assert {finding.fact.first, finding.fact.second} == {(4, 3, 3, 2), (4, 1)}


@BOTH
def test_names_go_on_where_they_were(lib):
    adapter(lib.__name__)
    first = lib.layers.Dense(1).name
    tpushape.trace(lambda: good(lib), (np.zeros((8, 6), "float32"), np.zeros((8, 2), "float32")), tpu=None)
    second = lib.layers.Dense(1).name
    number = int(first.rsplit("_", 1)[1]) if "_" in first else 0
    assert second == f"dense_{number + 1}"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the process's memory as Linux tells it")
def test_traces_with_fixes_leave_no_memory_behind():
    """Also none outside of Python's own objects: 20 traces, and what the process holds stays the same within 6 MB."""
    inputs = keras.Input((28, 28, 3))
    model = keras.Model(inputs, keras.layers.Dense(10)(keras.layers.Conv2D(8, 3)(inputs)))
    model.compile("adam", "sparse_categorical_crossentropy")
    data = (np.zeros((64, 28, 28, 3), "float32"), np.zeros((64,), "int32"))

    def held():
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    tf.function(lambda value: value @ value, jit_compile=True)(tf.zeros((2, 2)))  # XLA's kernels are there from now on
    sizes = []
    for _ in range(4):
        for _ in range(5):
            report = tpushape.trace(model, data)
        assert report.findings[0].fixes
        sizes.append(held())
    assert sizes[-1] - sizes[0] < 6, sizes
