"""Rows in which the samples are merged with frames, views or copies: what takes them for another order mixes samples, and nothing raises."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape

FRAMES, SIZE = 5, 4


class Own(keras.layers.Layer):
    """A layer that computes a function, with one Dense layer on the way."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.dense = keras.layers.Dense(SIZE)

    def call(self, x):
        return self.function(x, self.dense)


def found(function, *shape):
    def build():
        i = keras.Input(shape)
        model = keras.Model(i, keras.layers.Dense(1)(keras.layers.Flatten()(Own(function)(i))))
        model.compile("sgd", "mse")
        return model

    def data():
        return np.zeros((8, *shape), "float32"), np.zeros((8, 1), "float32")

    return [(one.rule, one.fact.outer) for one in tpushape.trace(build, data, tpu=None, fixes=False).findings]


def merged(x):
    return tf.reshape(x, (-1, x.shape[-1]))


def frames_first(x, dense):
    return dense(merged(tf.transpose(x, (1, 0, 2))))


def copies_beside(x, dense):
    return dense(merged(tf.transpose(x, (1, 0, 2)))) + merged(x)


def heads(x, dense):
    """The heads of an attention in the rows, as older programs have them, and a mask for each of them."""
    rows = tf.concat(tf.split(dense(x), 2, axis=2), axis=0)
    rows *= tf.tile(x[:, :, :1], (2, 1, 1))
    return tf.concat(tf.split(rows, 2, axis=0), axis=2)


def in_blocks(x, dense):
    """Blocks of steps merged with the samples, and taken apart further."""
    rows = dense(tf.reshape(x, (-1, 2, SIZE)))
    return tf.reshape(tf.reshape(rows, (-1, SIZE)), (-1, 3, 2, SIZE))


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x, dense: tf.reshape(dense(merged(x)), (-1, FRAMES, SIZE)), (FRAMES, SIZE)),
        (lambda x, dense: tf.transpose(tf.reshape(frames_first(x, dense), (FRAMES, -1, SIZE)), (1, 0, 2)), (FRAMES, SIZE)),
        (lambda x, dense: tf.reshape(dense(tf.repeat(x, 3, axis=0)) + tf.repeat(x, 3, axis=0), (-1, 3, SIZE)), (SIZE,)),
        (lambda x, dense: tf.add_n(tf.split(dense(tf.concat([x, -x], axis=0)), 2)), (SIZE,)),
        (heads, (FRAMES, SIZE)),
        (in_blocks, (6, SIZE)),
    ],
    ids=["merged and split", "frames first", "repeated", "views", "heads", "blocks"],
)
def test_rows_that_are_taken_apart_as_they_were_merged_are_left_alone(function, shape):
    assert found(function, *shape) == []


@pytest.mark.parametrize(
    ("function", "shape", "outer"),
    [
        (lambda x, dense: tf.reshape(frames_first(x, dense), (-1, FRAMES, SIZE)), (FRAMES, SIZE), FRAMES),
        (lambda x, dense: tf.transpose(tf.reshape(dense(merged(x)), (FRAMES, -1, SIZE)), (1, 0, 2)), (FRAMES, SIZE), 1),
        (lambda x, dense: tf.reshape(dense(tf.concat([x, -x], axis=0)), (-1, 2, SIZE)), (SIZE,), 2),
        (lambda x, dense: tf.reshape(dense(tf.tile(x, (3, 1))), (-1, 3, SIZE)), (SIZE,), 3),
        (lambda x, dense: tf.reshape(copies_beside(x, dense), (-1, FRAMES, SIZE)), (FRAMES, SIZE), (FRAMES, 1)),
    ],
    ids=["frames first", "samples first", "views", "tiled", "both orders"],
)
def test_rows_that_are_taken_for_another_order_are_found(function, shape, outer):
    assert ("rows-regrouped", outer) in found(function, *shape)


def test_rows_that_a_lookup_or_a_sort_puts_in_order_are_left_alone():
    def sorted_again(x, dense):
        rows = frames_first(x, dense)
        count = tf.shape(x)[0]
        return tf.reshape(tf.gather(rows, tf.reshape(tf.transpose(tf.reshape(tf.range(FRAMES * count), (FRAMES, -1))), (-1,))), (-1, FRAMES, SIZE))

    assert found(sorted_again, FRAMES, SIZE) == []


PROGRAM = """
import keras, numpy as np, tensorflow as tf
class Frames(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(4)
    def call(self, x):
        frames = x.shape[1]
        rows = self.dense(tf.reshape(tf.transpose(x, (1, 0, 2)), (-1, 3)))
        return tf.reshape(rows, (-1, frames, 4))
def build():
    model = keras.Sequential([keras.Input((5, 3)), Frames(), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((8, 5, 3), "float32"), np.zeros((8, 1), "float32")
"""


def test_the_fix_splits_the_rows_in_their_order_and_then_transposes(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    names: dict = {"__name__": "program"}
    exec(compile(PROGRAM, str(file), "exec"), names)
    (found,) = tpushape.trace(names["build"], names["data"], tpu=None).findings
    (fix,) = found.fixes
    assert fix.verified
    assert "+        return tf.transpose(tf.reshape(rows, (frames, -1, 4)), (1, 0, 2))" in str(fix.patch)
