"""Layers behind a step without a slope, on TensorFlow, and steps that lead a gradient around it on purpose."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


@tf.custom_gradient
def straight(x):
    return tf.round(x), lambda upstream: upstream


class Codes:
    """A layer of each library with dense layers inside and a function of their scores."""

    def __new__(cls, lib, function, **options):
        class Own(lib.layers.Layer):
            def __init__(self):
                super().__init__()
                self.score, self.again, self.rows = lib.layers.Dense(6), lib.layers.Dense(6), lib.layers.Embedding(6, 6)
                for name in options.get("frozen", ()):
                    getattr(self, name).trainable = False

            def call(self, x):
                return function(self, x)

        return Own()


def hard(x):
    return tf.one_hot(tf.argmax(x, axis=-1), 6)


def added(layer, x):
    scores = layer.score(x)
    layer.add_loss(tf.reduce_mean(tf.square(scores)))
    return x * tf.cast(scores > 0, x.dtype)


LOST = {
    "comparison": lambda layer, x: x * tf.cast(layer.score(x) > 0, x.dtype),
    "choice": lambda layer, x: layer.rows(tf.argmax(layer.score(x), axis=-1)),
    "rounding": lambda layer, x: x + tf.round(layer.again(layer.score(x))),
    "condition": lambda layer, x: tf.where(layer.score(x) > 0, x, tf.zeros_like(x)),
    "whole numbers": lambda layer, x: x * tf.cast(tf.cast(layer.score(x), tf.int32), x.dtype),
}
TRAINED = {
    "smooth": lambda layer, x: x * tf.sigmoid(layer.score(x)),
    "straight through": lambda layer, x: x + (s := layer.score(x)) + tf.stop_gradient(tf.round(s) - s),
    "own gradient": lambda layer, x: x + straight(layer.score(x)),
    "hard choice": lambda layer, x: x * (s := tf.nn.softmax(layer.score(x))) + tf.stop_gradient(hard(s) - s),
    "routed": lambda layer, x: x * tf.reduce_max(s := tf.nn.softmax(layer.score(x)), -1, keepdims=True) * hard(s),
    "condition": lambda layer, x: tf.where((s := layer.score(x)) > 0, s, tf.exp(s) - 1.0),
    "stopped": lambda layer, x: x * tf.stop_gradient(tf.cast(layer.score(x) > 0, x.dtype)),
    "labels of its own": lambda layer, x: layer.score(x) + hard(layer.score(x + 0.1)),
    "loss of its own": added,
}
FROZEN = {"hash": lambda layer, x: x + tf.round(layer.score(x))}


def serious(lib, layer):
    def build():
        i = lib.Input((6,))
        x = lib.layers.Dense(6, activation="relu")(i)
        model = lib.Model(i, lib.layers.Dense(1)(layer(lib)(x)))
        model.compile("sgd", "mse")
        return model

    data = lambda: (np.ones((16, 6), "float32"), np.zeros((16, 1), "float32"))  # noqa: E731
    return [one for one in tpushape.trace(build, data, tpu=None).findings if one.serious]


@BOTH
@pytest.mark.parametrize("name", LOST)
def test_a_layer_behind_a_step_is_named(lib, name):
    (found,) = serious(lib, lambda lib: Codes(lib, LOST[name]))
    assert found.rule == "weights-untrained"


@BOTH
@pytest.mark.parametrize("name", [*TRAINED, *FROZEN])
def test_a_gradient_that_finds_a_way_is_no_finding(lib, name):
    frozen = ("score",) if name in FROZEN else ()
    assert serious(lib, lambda lib: Codes(lib, {**TRAINED, **FROZEN}[name], frozen=frozen)) == []


def _visits(depth: int, monkeypatch) -> int:
    """How many nodes the rule asks about in a chain of layers."""
    from jupyter_tpushape.rules import untrained

    asked, flat = [], untrained._flat
    monkeypatch.setattr(untrained, "_flat", lambda evidence, node: asked.append(node.id) or flat(evidence, node))
    model = keras.Sequential([keras.Input((4,)), *(keras.layers.Dense(4) for _ in range(depth)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert tpushape.trace(model, (np.zeros((8, 4)), np.zeros((8, 1))), tpu=None).ok
    monkeypatch.undo()
    return len(asked)


def test_the_search_grows_with_the_layers_and_not_with_their_square(monkeypatch):
    assert 0 < _visits(40, monkeypatch) <= 2.5 * _visits(20, monkeypatch)
