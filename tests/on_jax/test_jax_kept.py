"""What a step assigns to attributes is lost on JAX: the first fix keeps it in variables, and one real fit runs with it."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from strangers import AROUND, serious, traced
from test_jax_steps import repaired

DATA = AROUND.format(shape=(6,), rows="").replace("np.zeros((64, *(6,)), ", "np.random.rand(64, 6).astype(")


def own(init, *call):
    lines = "".join(f"        {line}\n" for line in call)
    made = "".join(f"        {line}\n" for line in ["super().__init__()", *init])
    return f"class Own(layers.Layer):\n    def __init__(self):\n{made}    def call(self, x, training=False):\n{lines}" + DATA


STATES = {
    "a running mean": (
        own(["self.mean = jnp.zeros((6,))"], "self.mean = 0.9 * self.mean + 0.1 * ops.mean(x, axis=0)", "return x - self.mean"),
        ['self.mean = self.add_weight(shape=(6,), initializer="zeros", trainable=False, name="mean")', "self.mean.assign(0.9 * self.mean"],
    ),
    "a number that is scaled": (
        own(["self.scale = 2.5"], "self.scale *= 1.0 + ops.mean(x)", "return x / self.scale"),
        ["initializer=initializers.Constant(2.5)", "self.scale.assign(self.scale * (1.0 + ops.mean(x)))"],
    ),
    "a number of Python's own": (
        own(["self.steps = 0"], "self.steps += 1", "return x * ops.tanh(0.1 * self.steps)"),
        ['self.steps = self.add_weight(shape=(), initializer="zeros", dtype="int32", trainable=False', "self.steps.assign_add(1)"],
    ),
    "a key": (
        own(["self.key = jax.random.key(7)"], "self.key, now = jax.random.split(self.key)", "return x + jax.random.normal(now, x.shape)"),
        ["self.key = random.SeedGenerator(7)", "now = self.key.next()"],
    ),
    "two keys at once": (
        own(
            ["self.key = jax.random.PRNGKey(7)"],
            "self.key, one, other = jax.random.split(self.key, 3)",
            "return x + jax.random.normal(one, x.shape) * jax.random.uniform(other, x.shape)",
        ),
        ["one, other = self.key.next(), self.key.next()"],
    ),
}


@pytest.mark.parametrize(("code", "lines"), STATES.values(), ids=STATES)
def test_what_a_layer_keeps_becomes_a_variable(tmp_path, code, lines):
    patch, _ = repaired(tmp_path, code, "state-lost")
    added = patch.replace("keras.initializers", "initializers").replace("keras.random", "random")
    assert all(f"+        {line}" in added or line in added for line in lines)


def test_the_state_goes_on_from_step_to_step(tmp_path):
    code, _ = STATES["a number of Python's own"]
    repaired(tmp_path, code, "state-lost")
    scope = {"__name__": "program"}
    exec(compile((tmp_path / "program.py").read_text(encoding="utf-8"), "program.py", "exec"), scope)
    model = scope["build"]()
    before = int(model.layers[1].steps)
    model.fit(*scope["data"](), batch_size=16, epochs=1, verbose=0)
    assert int(model.layers[1].steps) == before + 4


METRIC = """
class Hits(keras.metrics.Metric):
    def __init__(self, name="hits"):
        super().__init__(name=name)
        self.total = 0.0
        self.count = 0.0
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total += ops.sum(ops.cast(ops.abs(y_true - y_pred) < 0.5, "float32"))
        self.count += ops.cast(ops.size(y_true), "float32")
    def result(self):
        return self.total / self.count
    def reset_state(self):
        self.total = 0.0
        self.count = 0.0
def build():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(1)])
    model.compile("adam", "mse", metrics=[Hits()])
    return model
def data():
    return np.random.rand(64, 6).astype("float32"), np.random.rand(64, 1).astype("float32")
"""


def test_all_that_a_metric_keeps_becomes_variables_at_once(tmp_path):
    patch, history = repaired(tmp_path, METRIC, "state-lost")
    assert "self.count.assign_add(ops.cast(" in patch
    assert "+        self.total.assign(0.0)" in patch
    assert 0 <= history["hits"][-1] <= 1


def test_a_loss_has_no_variables_that_a_step_keeps(tmp_path):
    code = """
class Scaled(keras.losses.Loss):
    def __init__(self):
        super().__init__()
        self.scale = 1.0
    def call(self, y_true, y_pred):
        self.scale = 0.9 * self.scale + 0.1 * ops.mean(ops.abs(y_true))
        return ops.mean(ops.square(y_true - y_pred), axis=-1) / self.scale
def build():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(1)])
    model.compile("adam", Scaled())
    return model
def data():
    return np.random.rand(64, 6).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
    (finding,) = serious(traced(tmp_path, code))
    # Keras traces the loss before the first step, which then meets that trace's tensor.
    assert (finding.rule, finding.severity, finding.fact.holder) == ("state-lost", "error", "loss")
    assert not finding.fixes
    assert "compute_loss" in finding.why


HARMLESS = {
    "counted and read by nobody": own(["self.calls = 0"], "self.calls += 1", "return x"),
    "kept for a look": own(["self.last = 0.0"], "self.last = ops.mean(x)", "return x"),
}


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS)
def test_what_no_step_reads_is_no_state(tmp_path, code):
    assert traced(tmp_path, code).ok


def test_a_model_without_source_is_left_to_the_user():
    class Counting(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.steps = 0

        def call(self, x):
            self.steps += 1
            return x * float(self.steps)

    model = keras.Sequential([keras.Input((4,)), Counting(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    import jupyter_tpushape as tpushape

    report = tpushape.trace(model, (np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    assert [finding.rule for finding in serious(report)] == ["state-lost"]
