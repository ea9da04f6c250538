"""Methods that Keras calls: what they do not take, what they return, and initializers that a builder's trace does not need."""

from __future__ import annotations

import pytest
from strangers import serious, traced
from test_jax_steps import repaired

BUILD = """
def build():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(8{layer}), layers.Dense(1)])
    model.compile({optimizer}, "mse"{metrics})
    return model
def data():
    return np.random.rand(64, 6).astype("float32"), np.random.rand(64, 1).astype("float32")
"""


def build(layer="", optimizer='"adam"', metrics=""):
    return BUILD.format(layer=layer, optimizer=optimizer, metrics=metrics)


INITIALIZER = """
class Siren(keras.initializers.Initializer):
    def __call__(self, {0}):
        limit = (6.0 / shape[0]) ** 0.5
        return keras.random.uniform(shape, -limit, limit, seed=1)
""" + build(layer=", kernel_initializer=Siren()")
OPTIMIZER = """
class Signed(keras.optimizers.Optimizer):
    def update_step(self, {0}):
        self.assign_sub(variable, 0.01 * ops.sign(gradient))
""" + build(optimizer="Signed(0.1)")
METRIC = """
class Total(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="total")
        self.total = self.add_variable(shape=(), initializer="zeros", name="total")
    def update_state(self, {0}):
        self.total.assign_add(ops.mean(ops.abs(y_true - y_pred)))
    def result(self):
        return {1}
""" + build(metrics=", metrics=[Total()]")
LACKING = {
    "an initializer": (INITIALIZER.format("shape"), ("dtype",), "def __call__(self, shape, dtype=None):"),
    "an optimizer": (
        OPTIMIZER.format("gradient, variable"), ("learning_rate",), "def update_step(self, gradient, variable, learning_rate=None):",
    ),
    "a metric": (
        METRIC.format("y_true, y_pred", "self.total + 0.0"), ("sample_weight",), "def update_state(self, y_true, y_pred, sample_weight=None):",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "lacks", "new"), LACKING.values(), ids=LACKING)
def test_what_keras_passes_is_accepted(tmp_path, code, lacks, new):
    report = traced(tmp_path, code)
    (finding,) = serious(report)
    assert (finding.rule, finding.fact.lacks) == ("code-raises", lacks)
    assert finding.location.text.startswith("def ")
    patch, _ = repaired(tmp_path, code, "code-raises")
    assert f"+    {new}" in patch


FITTING = {
    "an initializer": INITIALIZER.format("shape, dtype=None"),
    "an optimizer": OPTIMIZER.format("gradient, variable, learning_rate"),
    "a metric": METRIC.format("y_true, y_pred, sample_weight=None", "ops.convert_to_tensor(self.total)"),
}


@pytest.mark.parametrize("code", FITTING.values(), ids=FITTING)
def test_the_same_with_all_that_keras_passes_is_ok(tmp_path, code):
    assert traced(tmp_path, code).ok


def test_an_initializer_that_raises_is_told_at_its_line(tmp_path):
    code = INITIALIZER.format("shape, dtype=None").replace("6.0 / shape[0]", "6.0 / shape[5]")
    (finding,) = serious(traced(tmp_path, code))
    assert "shape[5]" in finding.location.text


def test_the_result_of_a_metric_is_a_tensor(tmp_path):
    code = METRIC.format("y_true, y_pred, sample_weight=None", "self.total")
    patch, _ = repaired(tmp_path, code, "variable-as-tensor")
    assert "+        return ops.convert_to_tensor(self.total)" in patch


def test_a_result_that_asks_for_a_value_is_told(tmp_path):
    code = METRIC.format("y_true, y_pred, sample_weight=None", "float(self.total)")
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.fact.asked) == ("value-asked", "number")


OVERWRITTEN = """
class Clipped(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 4))
    def call(self, x):
        self.w = ops.clip(self.w, -0.5, 0.5)
        return ops.matmul(x, self.w)
def build():
    model = keras.Sequential([keras.Input((6,)), Clipped(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(64, 6).astype("float32"), np.random.rand(64, 1).astype("float32")
"""


def test_a_weight_that_call_overwrites_stays_a_variable(tmp_path):
    patch, _ = repaired(tmp_path, OVERWRITTEN, "state-lost")
    assert "+        w = ops.clip(self.w, -0.5, 0.5)\n+        return ops.matmul(x, w)" in patch
