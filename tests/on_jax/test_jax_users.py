"""Programs as users of Keras on JAX write them: the cause is told, and a fix that holds is in their own line."""

from __future__ import annotations

import pytest
from strangers import AROUND

import jupyter_tpushape as tpushape

HEAD = """
import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import layers
"""


def traced(tmp_path, code, around=AROUND, shape=(4,)):
    path = tmp_path / "program.py"
    text = HEAD + code + around.format(shape=shape, rows="5, " if len(shape) > 1 else "")
    path.write_text(text, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    return tpushape.trace(scope["build"], scope["data"], tpu=None)


NOISE = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.key = jax.random.PRNGKey(0)
    def call(self, x):
        self.key, now = jax.random.split(self.key)
        return x + jax.random.normal(now, x.shape)
"""
BROKEN = {
    "numpy in a call": (
        "value-asked",
        "class Own(layers.Layer):\n    def call(self, x):\n        return np.log(1.0 + x) * np.sqrt(2.0)",
        "return keras.ops.log(1.0 + x) * np.sqrt(2.0)",
    ),
    "an item assigned": (
        "item-assigned",
        "class Own(layers.Layer):\n    def call(self, x):\n        x[:, 0] = 0.0\n        return x",
        "x = x.at[:, 0].set(0.0)",
    ),
    "an item at a call's result": (
        "item-assigned",
        "class Own(layers.Layer):\n    def call(self, x):\n        x[int(1)] = 0.0\n        return x",
        "x = x.at[int(1)].set(0.0)",
    ),
    "a mask of booleans": ("value-asked", "class Own(layers.Layer):\n    def call(self, x):\n        return x * jnp.mean(x[x > 0])", ""),
    "a key on self": ("state-lost", NOISE, ""),
}


@pytest.mark.parametrize(("rule", "code", "fix"), BROKEN.values(), ids=BROKEN)
def test_what_a_compiled_step_does_not_take_is_told_with_its_fix(tmp_path, rule, code, fix):
    report = traced(tmp_path, code)
    (finding,) = [one for one in report.findings if one.serious]
    assert finding.rule == rule
    assert finding.location.file.endswith("program.py")
    if fix:
        assert finding.fixes[0].verified
        assert f"+        {fix}" in finding.fixes[0].patch


def test_the_line_that_loses_state_is_named(tmp_path):
    (finding,) = traced(tmp_path, NOISE).findings
    # Keras has called the layer for its shapes, so that fit raises at once.
    assert finding.severity == "error"
    assert "UnexpectedTracerError" in finding.why
    assert finding.location.text.startswith("self.key, now = ")
    assert "SeedGenerator" in finding.why


def test_state_that_no_step_sees_is_silent_where_keras_has_not_called_the_layer(tmp_path):
    noise = NOISE.replace("def call(self, x):", "def call(self, x, training=False):\n        if not training:\n            return x")
    (finding,) = traced(tmp_path, noise).findings
    assert finding.severity == "silent"
    assert "the same random numbers" in finding.why


def test_a_result_that_is_only_kept_for_a_look_is_no_lost_state(tmp_path):
    code = (
        "class Own(layers.Layer):\n    def __init__(self):\n        super().__init__()\n        self.last = None\n"
        "    def call(self, x):\n        self.last = jax.nn.softmax(x)\n        return x * self.last"
    )
    assert traced(tmp_path, code).ok


def test_jax_numpy_between_layers_becomes_keras_ops(tmp_path):
    around = """
def build():
    a, b = keras.Input((4,)), keras.Input((3,))
    x = jnp.concatenate([layers.Dense(2)(a), layers.Dense(2)(b)], axis=-1)
    model = keras.Model([a, b], layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return (np.zeros((8, 4), "float32"), np.zeros((8, 3), "float32")), np.zeros((8, 1), "float32")
"""
    (finding,) = [one for one in traced(tmp_path, "", around).findings if one.serious]
    assert finding.rule == "symbolic-tensor"
    assert finding.fixes[0].verified
    assert "keras.ops.concatenate([" in finding.fixes[0].patch


def test_the_state_of_a_scan_starts_with_the_rows(tmp_path):
    code = """
class Own(layers.Layer):
    def call(self, x):
        def step(h, now):
            h = jnp.tanh(h + now)
            return h, h
        h0 = jnp.zeros((6,))
        last, steps = jax.lax.scan(step, h0, jnp.swapaxes(x, 0, 1))
        return jnp.swapaxes(steps, 0, 1)
"""
    (finding,) = [one for one in traced(tmp_path, code, shape=(5, 4)).findings if one.serious]
    assert finding.rule == "op-shapes"
    assert (finding.fact.operation, finding.fact.name, finding.fact.before, finding.fact.after) == ("Scan", "h", (6,), (None, 6))
    assert finding.fixes[0].verified
    assert "+        h0 = jnp.zeros((x.shape[0], 6))" in finding.fixes[0].patch


def test_an_argument_that_call_does_not_take_is_no_matter_of_shapes(tmp_path):
    around = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
    def call(self, x):
        return self.dense(x)
    def train_step(self, state, data):
        trainable, rest, optimizer, metrics = state
        y, rest = self.stateless_call(trainable, rest, data[0], training=True)
        loss = self.compute_loss(data[0], data[1], y)
        return {{"loss": loss}}, (trainable, rest, optimizer, metrics)

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
    finding, behind = [one for one in traced(tmp_path, "", around).findings if one.serious]
    assert finding.rule == "code-raises"
    assert (finding.fact.function, finding.fact.named) == ("Net.call", "training")
    # The step behind it computes no gradient: the fix is a first step, and what it leaves is a finding of its own.
    assert behind.rule == "step-without-state"
    assert finding.fixes[0].title.startswith("Accept training in call") and finding.fixes[0].then == (behind.rule,)
