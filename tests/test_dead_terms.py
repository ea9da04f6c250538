"""Terms of a loss without a gradient, sums over the samples of labels and predictions, and what looks like them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape

L = keras.layers


def square(y, p):
    return tf.reduce_mean(tf.square(y - p), axis=-1)


def hits(y, p):
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(y, -1), tf.argmax(p, -1)), tf.float32))


@tf.custom_gradient
def straight(x):
    return tf.round(x), lambda upstream: upstream


def noted(y, p):
    tf.debugging.assert_less(p, 1e9)
    tf.print(hits(y, p))
    return square(y, p)


DEAD = {
    "accuracy": lambda y, p: square(y, p) + 0.5 * (1.0 - hits(y, p)),
    "threshold": lambda y, p: square(y, p) + tf.reduce_mean(tf.abs(y - tf.cast(p > 0.5, tf.float32)), axis=-1),
    "rounding": lambda y, p: tf.reduce_mean(square(y, p)) - tf.reduce_mean(tf.round(p)) / 3.0,
    "scaled": lambda y, p: 0.5 * (square(y, p) + hits(y, p)),
    "penalty": lambda y, p: square(y, p) + tf.reduce_sum(tf.where(p > 1.0, tf.ones_like(y), tf.zeros_like(y)), axis=-1),
}
ALIVE = {
    "plain": square,
    "weighted by hits": lambda y, p: square(y, p) * (2.0 - hits(y, p)),
    "mean of some": lambda y, p: tf.reduce_sum(tf.square(y - p) * (m := tf.cast(p > 0.1, p.dtype))) / (1.0 + tf.reduce_sum(m)),
    "quantile": lambda y, p: tf.reduce_mean((0.9 - tf.cast(y < p, p.dtype)) * (y - p), axis=-1),
    "huber": lambda y, p: tf.reduce_mean(tf.where(tf.abs(y - p) < 1.0, 0.5 * (y - p) ** 2, tf.abs(y - p) - 0.5), axis=-1),
    "angle": lambda y, p: tf.reduce_mean(tf.square((d := y - p) - tf.round(d)), axis=-1),
    "angle by itself": lambda y, p: tf.reduce_mean((d := y - p - tf.round(y - p)) * d, axis=-1),
    "angle by a power": lambda y, p: tf.reduce_mean(((d := y - p) - tf.round(d)) ** 2, axis=-1),
    "angle with itself": lambda y, p: tf.reduce_mean((w := y - p - tf.round(y - p)) * w, axis=-1),
    "margin": lambda y, p: tf.reduce_mean(tf.maximum(square(y, p)[:, None] + tf.cast(p > 0.5, p.dtype), 0.2)),
    "inverse": lambda y, p: 1.0 / (0.1 + tf.reduce_mean(p * y) + tf.reduce_mean(tf.cast(p > 0.5, p.dtype))),
    "straight through": lambda y, p: square(y, p) + tf.reduce_mean(p + tf.stop_gradient(tf.round(p) - p), axis=-1),
    "stopped": lambda y, p: square(y, p) + tf.stop_gradient(hits(y, p)),
    "own gradient": lambda y, p: square(y, p) + tf.reduce_mean(straight(p), axis=-1),
    "labels": lambda y, p: square(y, p) + tf.reduce_mean(tf.cast(y > 0.5, p.dtype), axis=-1),
    "noted": noted,
    "a loss inside": lambda y, p: keras.losses.MeanSquaredError()(y, p) * (1.0 + tf.reduce_mean(tf.cast(p > 0.5, p.dtype))),
}
IN_ORDER = {"both": lambda y, p: square(tf.cumsum(y, axis=0), tf.cumsum(p, axis=0)), "one": lambda y, p: square(tf.cumsum(y, axis=-1), tf.cumsum(p))}
ALONG = {
    "scores": lambda y, p: square(tf.cumsum(y, axis=-1), tf.cumsum(p, axis=1)),
    "risk sets": lambda y, p: tf.reduce_mean((tf.math.log(tf.cumsum(tf.exp(p[:, :1]))) - p[:, :1]) * y[:, :1]),
    "risk sets of several": lambda y, p: tf.reduce_mean((tf.math.log(tf.cumsum(tf.exp(p))) - p) * y),
    "sorted": lambda y, p: square(tf.cumsum(tf.sort(y, axis=0)), tf.cumsum(tf.sort(p, axis=0))),
}


def rules(loss):
    def build():
        model = keras.Sequential([keras.Input((6,)), L.Dense(8, activation="relu"), L.Dense(4, activation="softmax")])
        model.compile("sgd", loss)
        return model

    data = lambda: (np.ones((64, 6), "float32"), np.eye(4, dtype="float32")[np.arange(64) % 4])  # noqa: E731
    return [one.rule for one in tpushape.trace(build, data, tpu=None).findings if one.serious]


@pytest.mark.parametrize("name", DEAD)
def test_a_term_without_a_gradient_is_named(name):
    assert rules(DEAD[name]) == ["no-gradient"]


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_sum_over_the_samples_of_both_sides_is_named(name):
    assert set(rules(IN_ORDER[name])) == {"samples-in-order"}


@pytest.mark.parametrize("name", [*ALIVE, *ALONG])
def test_what_looks_like_it_is_no_finding(name):
    assert rules({**ALIVE, **ALONG}[name]) == []
