"""Loops and branches are one operation each that holds what the user wrote inside; what it holds changes no finding."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import layers, ops

import jupyter_tpushape as tpushape


class Looped(layers.Layer):
    """A scan whose step branches, and a loop after it."""

    def call(self, x):
        def step(state, now):
            state = jnp.tanh(state * now)
            state = ops.cond(jnp.sum(state) > 0, lambda: state * 2, lambda: jnp.where(state > 0, state, -state))
            return state, state

        last = jax.lax.scan(step, jnp.ones((x.shape[0], x.shape[2])), jnp.swapaxes(x, 0, 1))[0]
        return ops.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, h * 0.5), (0, last))[1]


class Gated(layers.Layer):
    """A recurrent layer of built-in layers."""

    def __init__(self, units):
        super().__init__()
        self.units = units
        self.gate = layers.Dense(units, activation="sigmoid")

    def build(self, shape):
        self.gate.build((shape[0], shape[2] + self.units))

    def call(self, x):
        def step(state, now):
            gate = self.gate(jnp.concatenate([now, state], axis=-1))
            return gate * state, None

        return jax.lax.scan(step, jnp.zeros((x.shape[0], self.units)), jnp.swapaxes(x, 0, 1))[0]

    def compute_output_shape(self, shape):
        return (shape[0], self.units)


def traced(layer):
    model = keras.Sequential([keras.Input((5, 4)), layer, layers.Dense(1)])
    model.compile("sgd", "mse")
    report = tpushape.trace(model, (np.zeros((8, 5, 4), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    assert report.ok
    return report.flow


def inside(flow, node):
    return [child for child in flow.nodes if child.parent == node.id]


def test_a_scan_holds_its_step_and_a_step_its_branches():
    flow = traced(Looped())
    (scan,) = [node for node in flow.nodes if node.op == "Scan"]
    assert [edge.spec.shape for edge in flow.into(scan.id)] == [(5, 8, 4)]
    held = inside(flow, scan)
    assert [node.op for node in held] == ["Mul", "Tanh", "Sum", "Greater", "Cond"]
    assert [flow.node(edge.source).op for edge in flow.into(held[1].id)] == ["Mul"]
    assert all(node.called is not None for node in held)
    branches = inside(flow, held[-1])
    assert [[node.op for node in inside(flow, branch)] for branch in branches] == [["Greater", "Neg", "SelectV2"], ["Mul"]]


def test_a_loop_holds_its_condition_and_its_body():
    flow = traced(Looped())
    (loop,) = [node for node in flow.nodes if node.op == "WhileLoop"]
    assert [[node.op for node in inside(flow, part)] for part in inside(flow, loop)] == [["Less"], ["AddV2", "Mul"]]


def test_a_built_in_layer_that_a_step_calls_stands_in_the_scan_between_its_neighbours():
    flow = traced(Gated(3))
    (scan,) = [node for node in flow.nodes if node.op == "Scan"]
    held = inside(flow, scan)
    assert [node.op for node in held] == ["Concat", "Dense", "Mul"]
    assert [edge.spec.shape for edge in flow.into(held[1].id)] == [(8, 7)]
    assert [flow.node(edge.source).name for edge in flow.into(held[2].id)] == [held[1].name]


def test_a_loop_of_the_framework_itself_shows_no_inside():
    flow = traced(layers.LSTM(3))
    assert not [node for node in flow.nodes if node.kind == "op"]
