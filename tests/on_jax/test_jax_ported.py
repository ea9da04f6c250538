"""Programs that were written for Keras 2 or TensorFlow, and what JAX asks of random numbers, positions and cells."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

HEAD = """
import keras
import numpy as np
from keras import backend as K
from keras import layers, ops
"""
SEQUENCE = """
def build():
    inputs = keras.Input((10, 8))
    x = Own()(layers.Dense(6)(inputs))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 10, 8), "float32"), np.zeros((16, {0}1), "float32")
"""
ATTENTION = """
class Own(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 1))
    def call(self, x):
        a = K.softmax(K.squeeze(K.dot(x, self.w), axis=-1))
        return K.sum(x * K.expand_dims(a), axis=1)
"""
NOISE = """
class Own(layers.Layer):
    def call(self, x):
        return x + keras.random.normal(ops.shape(x))
"""
LATENT = """
class Own(layers.Layer):
    def __init__(self, stddev=0.1):
        super().__init__()
        self.stddev = stddev
    def call(self, x):
        self.add_loss(ops.mean(ops.square(x), axis=(1, 2)))
        return x + self.stddev * keras.random.uniform(ops.shape(x), seed=None)
"""
CELL = """
class Cell(layers.Layer):
    def __init__(self):
        super().__init__()
        self.state_size = 4
        self.dense, self.out = layers.Dense(4), layers.Dense(1)
    def call(self, x, states):
        y = self.out(self.dense(x) + states[0])
        return y, [y]
def Own():
    return layers.RNN(Cell())
"""
POSITIONS = """
class Own(layers.Layer):
    def __init__(self, length={0}):
        super().__init__()
        self.table = layers.Embedding(length, 6)
    def call(self, x):
        return x + self.table({1})
"""
SIZED = """
class Table(layers.Layer):
    def __init__(self, length, width):
        super().__init__()
        self.length, self.table = length, layers.Embedding(length, width)
    def call(self, x):
        return x + self.table(ops.arange(self.length))
def Own():
    return Table(12, 6)
"""


def serious(tmp_path, code, labels="10, "):
    path = tmp_path / "program.py"
    text = HEAD + code + SEQUENCE.format(labels)
    path.write_text(text, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    return [one for one in tpushape.trace(scope["build"], scope["data"], tpu=None).findings if one.serious]


def test_functions_of_the_old_backend_become_keras_ops_throughout(tmp_path):
    (finding,) = serious(tmp_path, ATTENTION, "")
    fix = finding.fixes[0]
    assert fix.proof == "source"
    assert "a = ops.softmax(ops.squeeze(ops.dot(x, self.w), axis=-1))" in fix.patch.replace("keras.ops", "ops")
    assert "ops.expand_dims(a, axis=-1), axis=1)" in fix.patch


def test_a_layer_keeps_the_seed_of_its_random_numbers(tmp_path):
    (finding,) = serious(tmp_path, NOISE)
    assert finding.rule == "unseeded-random"
    assert finding.fixes[0].proof == "source"
    patch = finding.fixes[0].patch
    assert "+    def __init__(self, **kwargs):" in patch
    assert "+        self.seed_generator = keras.random.SeedGenerator()" in patch
    assert "+        return x + keras.random.normal(ops.shape(x), seed=self.seed_generator)" in patch


def test_a_fault_behind_a_fix_that_adds_lines_is_mended_where_it_then_stands(tmp_path):
    finding = serious(tmp_path, LATENT)[0]
    assert finding.rule == "unseeded-random"
    assert finding.fixes[0].proof == "source"
    patch = finding.fixes[0].patch
    assert "seed=self.seed_generator)" in patch
    assert "+        self.add_loss(ops.mean(ops.mean(ops.square(x), axis=(1, 2))))" in patch.replace("keras.ops", "ops")


def test_a_cell_that_returns_another_state_is_told_as_one(tmp_path):
    (finding,) = serious(tmp_path, CELL, "")
    assert (finding.fact.before, finding.fact.after) == ((16, 4), (16, 1))


@pytest.mark.parametrize("made", ["ops.arange(x.shape[1])", "ops.expand_dims(ops.arange(ops.shape(x)[1]), 0) + 1", "ops.arange(0, 20, 2)"])
def test_positions_that_a_table_has_no_row_for_are_found(tmp_path, made):
    (finding,) = serious(tmp_path, POSITIONS.format(7, made))
    assert finding.rule == "embedding-range"
    assert finding.fact.nan
    assert finding.fixes[0].verified


def test_positions_that_a_table_has_rows_for_are_left_alone(tmp_path):
    assert not serious(tmp_path, POSITIONS.format(10, "ops.arange(x.shape[1])"))


def test_a_written_size_is_told_at_the_addition_in_a_layer_as_anywhere(tmp_path):
    (finding,) = serious(tmp_path, SIZED)
    assert finding.rule == "op-shapes"
    assert all(fix.verified for fix in finding.fixes[:2])
    assert finding.fixes[0].title == "Replace self.length (12) with the length of x in Table.call"
    assert "+        return x + self.table(ops.arange(ops.shape(x)[1]))" in finding.fixes[0].patch
    assert "+    return Table(10, 6)" in finding.fixes[1].patch
