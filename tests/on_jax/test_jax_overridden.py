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
        self.assign_sub(variable, 0.01 * gradient)
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


TABLE = """
TABLE = np.ones({0}, "float32")
def pretrained(shape, dtype=None):
    return ops.convert_to_tensor(TABLE, dtype)
def build():
    model = keras.Sequential([{1}layers.Dense(8, kernel_initializer={2}), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(64, 6).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
INPUT = "keras.Input((6,)), "


@pytest.mark.parametrize(
    ("first", "given", "new"),
    [
        (INPUT, "pretrained", "return ops.transpose(ops.convert_to_tensor(TABLE, dtype))"),
        ("", "pretrained", "return ops.transpose(ops.convert_to_tensor(TABLE, dtype))"),
        (INPUT, "lambda shape, dtype: TABLE", "lambda shape, dtype: ops.transpose(TABLE)"),
    ],
    ids=["a function", "built late", "a lambda"],
)
def test_an_initializer_that_returns_another_shape_is_told(tmp_path, first, given, new):
    code = TABLE.format((8, 6), first, given)
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.fact.want, finding.fact.got) == ("layer-raises", (6, 8), (8, 6))
    assert finding.fixes[0].proof == "source"
    assert new in finding.fixes[0].patch


def test_another_shape_than_a_matrix_the_other_way_round_is_left_to_the_user(tmp_path):
    (finding,) = serious(traced(tmp_path, TABLE.format((7, 8), INPUT, "pretrained")))
    assert (finding.fact.want, finding.fact.got) == ((6, 8), (7, 8))
    assert not any(fix.verified for fix in finding.fixes)


TURNED = """
class Turned(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 3), initializer=lambda shape, dtype=None: ops.ones(tuple(shape)[::-1]))
    def call(self, x):
        return ops.matmul(x, ops.transpose(self.w))
"""


@pytest.mark.parametrize("first", [INPUT, ""], ids=["built", "built late"])
def test_an_initializer_is_asked_once(tmp_path, first):
    assert traced(tmp_path, TURNED + TABLE.format((6, 8), f"{first}Turned(), ", '"ones"')).ok


def test_a_table_with_more_rows_than_declared_is_what_keras_uses(tmp_path):
    """A real fit runs: the weight has the shape of the table."""
    code = TABLE.format((9, 8), "keras.Input((6,)), layers.Embedding(7, 8, embeddings_initializer=pretrained), layers.Flatten(), ", '"ones"')
    ids = code.replace('np.random.rand(64, 6).astype("float32")', "np.random.randint(0, 7, (64, 6))")
    assert traced(tmp_path, ids).ok
