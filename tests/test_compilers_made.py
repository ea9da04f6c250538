"""A program whose answer is known by what it is made of: any one change is another program, and what cannot be told has no key."""

from __future__ import annotations

import importlib

import msgspec
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge, lowering, made
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import target

FRAMEWORKS = ["keras", "tf_keras"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path))


def pictures(framework, *, units=10, activation="relu", loss="mse", optimizer="adam", policy=None, name="a", drop=0.1, trainable=True, metrics=None):
    keras = importlib.import_module(framework)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Conv2D(4, 3, activation=activation, dtype=policy, name=name),
            layers.BatchNormalization(trainable=trainable),
            layers.Dropout(drop),
            layers.GlobalAveragePooling2D(),
            layers.Dense(units),
        ]
    )
    model.compile(optimizer, loss, metrics=metrics)
    return model


def keys(model, rows=64, units=10, dtype="float32", place="v5e"):
    seen = examine(Program(model, (tf.TensorSpec((rows, 16, 16, 3), dtype), tf.TensorSpec((rows, units))), target=target("v5e-8")))
    return [made.key(seen, plan, place) for plan in lowering.plans(seen)]


CHANGES = {
    "units": {"units": 12},
    "an activation": {"activation": "gelu"},
    "a rate": {"drop": 0.2},
    "a policy": {"policy": "mixed_bfloat16"},
    "a name": {"name": "b"},
    "a frozen layer": {"trainable": False},
}
OF_TRAINING = {
    "a loss": lambda keras: {"loss": "mae"},
    "a loss's number": lambda keras: {"loss": keras.losses.Huber(2.0)},
    "a loss's option": lambda keras: {"loss": keras.losses.CategoricalCrossentropy(from_logits=True)},
    "an optimizer": lambda keras: {"optimizer": "sgd"},
    "an optimizer's number": lambda keras: {"optimizer": keras.optimizers.Adam(beta_1=0.5)},
    "an optimizer's option": lambda keras: {"optimizer": keras.optimizers.Adam(amsgrad=True)},
    "a learning rate": lambda keras: {"optimizer": keras.optimizers.Adam(0.5)},
    "a metric": lambda keras: {"metrics": ["mae"]},
    "a metric's number": lambda keras: {"metrics": [keras.metrics.TopKCategoricalAccuracy(3)]},
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_same_model_made_again_has_the_same_keys_and_any_change_others(framework):
    forward, train = keys(pictures(framework))
    assert forward and train and forward != train
    importlib.import_module(framework).backend.clear_session()
    assert keys(pictures(framework)) == [forward, train]
    for what, change in CHANGES.items():
        importlib.import_module(framework).backend.clear_session()
        changed = keys(pictures(framework, **change), units=change.get("units", 10))
        assert all(changed) and not {forward, train} & set(changed), what
    keras = importlib.import_module(framework)
    found = {train: "the model itself", keys(pictures(framework, loss=keras.losses.Huber(1.0)))[1]: "another number of the loss"}
    for what, change in OF_TRAINING.items():
        keras.backend.clear_session()
        key = keys(pictures(framework, **change(keras)))[1]
        assert key and key not in found, (what, found.get(key))
        found[key] = what
    model = pictures(framework)
    for change in ({"rows": 128}, {"dtype": "uint8"}, {"place": "v6e"}):
        assert not {forward, train} & set(keys(model, **change)), change
    model.layers[0].trainable = False
    assert train not in keys(model)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_code_of_ones_own_has_no_key(framework, monkeypatch):
    keras = importlib.import_module(framework)
    layers = keras.layers

    class Own(layers.Layer):
        def call(self, x):
            return x * 2

    class Model(keras.Model):
        def train_step(self, data):
            return super().train_step(data)

    def own(x):
        return x * 3

    def of(*more):
        model = keras.Sequential([keras.Input((16, 16, 3)), *more, layers.Flatten(), layers.Dense(10)])
        model.compile("sgd", "mse")
        return model

    assert keys(of(Own())) == ["", ""]
    assert keys(of(layers.Lambda(lambda x: x * 2))) == ["", ""]
    assert keys(of(layers.Activation(own))) == ["", ""]
    lookup = layers.IntegerLookup(vocabulary=[1, 2], output_mode="int")
    assert keys(of(layers.Rescaling(1.0), lookup, layers.Rescaling(1.0)), dtype="int64") == ["", ""]
    inputs = keras.Input((16, 16, 3))
    model = Model(inputs, layers.Dense(10)(layers.Flatten()(inputs)))
    model.compile("sgd", "mse")
    assert keys(model) == ["", ""]
    model = of()
    model.compile("sgd", lambda y, p: tf.reduce_mean((y - p) ** 2))
    assert keys(model)[1] == ""
    model = of()
    call = model.layers[-1].call
    model.layers[-1].call = lambda inputs, training=None: call(inputs) * 2
    assert keys(model) == ["", ""]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_layers_and_operations_of_the_framework_s_own_have_keys_whether_or_not_they_compile(framework):
    keras = importlib.import_module(framework)
    layers = keras.layers

    def of(more):
        keras.backend.clear_session()
        inputs = keras.Input((16, 16, 3))
        model = keras.Model(inputs, layers.Dense(10)(layers.Flatten()(more()(inputs))))
        model.compile("sgd", "mse")
        return keys(model)

    every = [
        lambda: layers.UpSampling2D(2),
        lambda: layers.UpSampling2D(2, interpolation="bilinear"),
        lambda: layers.Resizing(8, 8),
        lambda: layers.RandomFlip("horizontal"),
        lambda: lambda x: x * 2.0,
        lambda: lambda x: x * 3.0,
        lambda: lambda x: x[:, 1:],
        lambda: lambda x: x[:, :1],
        lambda: lambda x: x + x * x,
        lambda: lambda x: x * x - x,
    ]
    found = [key for more in every for key in of(more)]
    assert all(found) and len(set(found)) == 2 * len(every)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_a_layer_has_adapted_to_is_part_of_the_key(framework):
    keras = importlib.import_module(framework)

    def of(values=None, **options):
        keras.backend.clear_session()
        layer = keras.layers.Normalization(**options)
        if values is not None:
            layer.adapt(values)
        model = keras.Sequential([keras.Input((16, 16, 3)), layer, keras.layers.Flatten(), keras.layers.Dense(10)])
        model.compile("sgd", "mse")
        return keys(model)

    ones, twos = (np.full((4, 16, 16, 3), value, "float32") for value in (1, 2))
    assert all(of(ones)) and of(ones) == of(ones)
    found = [of(ones), of(twos), of(mean=0.0, variance=1.0), of(mean=0.0, variance=2.0), of()]
    assert all(map(all, found)) and len({one for pair in found for one in pair}) == 10


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("name", ["ResNet50", "EfficientNetB0", "MobileNetV2"])
def test_published_models_have_keys(framework, name):
    keras = importlib.import_module(framework)
    model = getattr(keras.applications, name)(weights=None)
    model.compile("adam", "sparse_categorical_crossentropy")
    seen = examine(Program(model, (tf.TensorSpec((64, 224, 224, 3)), tf.TensorSpec((64,), tf.int32)), target=target("v5e-8")))
    assert all(made.key(seen, plan, "") for plan in lowering.plans(seen))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_program_is_traced_and_lowered_once(framework, monkeypatch):
    keras = importlib.import_module(framework)
    model = pictures(framework)
    seen = examine(Program(model, (tf.TensorSpec((64, 16, 16, 3)), tf.TensorSpec((64, 10))), target=target("v5e-8")))
    lowerings, steps = [], []
    lower, step = context.Context.get_compiler_ir, keras.Model.train_step

    def counted(self, *args, **kwargs):
        lowerings.append(1)
        return lower(self, *args, **kwargs)

    def traced(self, *args):
        steps.append(1)
        return step(self, *args)

    monkeypatch.setattr(context.Context, "get_compiler_ir", counted)
    monkeypatch.setattr(keras.Model, "train_step", traced)
    assert [made.error for made in lowering.lower(seen)] == [None, None]
    assert (len(lowerings), len(steps)) == (2, 1)


@pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_second_search_for_the_largest_batch_lowers_nothing(framework, monkeypatch):
    data = (tf.TensorSpec((64, 16, 16, 3)), tf.TensorSpec((64, 10)))
    model = pictures(framework)
    first = tpushape.fit_batch(model, data, tpu="v5e-8", most=32)

    def never(*_):
        raise AssertionError("it was lowered")

    monkeypatch.setattr("jupyter_tpushape.compilers.tpu.lowered", never)
    assert tpushape.fit_batch(model, data, tpu="v5e-8", most=32) == first
    with pytest.raises(AssertionError, match="lowered"):
        tpushape.fit_batch(model, data, tpu="v5e-8", most=64)


@pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_second_verdict_is_the_first_one_and_lowers_nothing(framework, monkeypatch):
    data = (tf.TensorSpec((64, 16, 16, 3)), tf.TensorSpec((64, 10)))
    model = pictures(framework)
    first = tpushape.trace(model, data, tpu="v5e-8", compiler="tpu")
    assert [verdict.cached for verdict in first.verdicts] == [False, False]

    def never(*_):
        raise AssertionError("it was lowered")

    with monkeypatch.context() as held:
        held.setattr("jupyter_tpushape.compilers.tpu.lowered", never)
        second = tpushape.trace(model, data, tpu="v5e-8", compiler="tpu")
    assert [verdict.cached for verdict in second.verdicts] == [True, True]
    for one, two in zip(first.verdicts, second.verdicts, strict=True):
        assert msgspec.structs.replace(one, cached=True, seconds=0.0) == msgspec.structs.replace(two, seconds=0.0)
    assert [finding.message for finding in first.findings] == [finding.message for finding in second.findings]
    # A file that holds something else is asked anew.
    for file in made.cache.folder().glob("*.json"):
        file.write_text('{"parameters": [], "operations": {}, "answer": {"kind": "compiled", "ok": true}}', encoding="utf-8")
    third = tpushape.trace(model, data, tpu="v5e-8", compiler="tpu")
    assert [verdict.arguments for verdict in third.verdicts] == [verdict.arguments for verdict in first.verdicts]
