"""A model on JAX whose first step raised while it held the weights: they are lost, and the next ``fit`` raises all the same."""

from __future__ import annotations

import jax
import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules.facts.training import WeightsLost

X, Y = np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x, training=False):
        return self.dense(x)

    def train_step(self, state, data):
        trainable, rest, slots, metrics = state
        x, y = data

        def loss(trainable):
            p, _ = self.stateless_call(trainable, rest, x, training=True)
            return keras.ops.mean(keras.ops.square(y - p) if y.shape == p.shape else y @ p)

        value, grads = jax.value_and_grad(loss)(trainable)
        trainable, slots = self.optimizer.stateless_apply(slots, grads, trainable)
        return {"value": value}, (trainable, rest, slots, metrics)


def found(model, data=(X, Y)):
    return [one for one in tpushape.trace(model, data).findings if one.rule == "half-built"]


def test_the_weights_that_a_step_took_with_it_are_missed():
    model = Own()
    model.compile("adam")
    with pytest.raises(TypeError):
        model.fit(X, np.zeros((64, 3), "float32"), verbose=0)
    (one,) = found(model)
    assert isinstance(one.fact, WeightsLost) and one.severity == "error"
    with pytest.raises(TypeError):
        model.fit(X, Y, verbose=0)


def test_a_step_that_raises_later_leaves_the_model_as_it_was():
    model, new = Own(), Own()
    for one in (model, new):
        one.compile("adam")
    model.fit(X, Y, verbose=0)
    assert not found(model) and not found(new)
    model.fit(X, Y, verbose=0)
    new.fit(X, Y, verbose=0)
