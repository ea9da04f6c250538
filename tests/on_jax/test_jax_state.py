"""The state of a step of one's own on JAX, what is read beside it, and loops, losses and metrics that are taken amiss."""

from __future__ import annotations

import re

import pytest
from strangers import serious, traced
from test_jax_places import first, own

STEP = """
import jax
class Net(keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tracker = keras.metrics.Mean(name="tracked")
    def loss_of(self, trainable, rest, x, y):
        y_pred, rest = self.stateless_call(trainable, rest, x, training=True)
        return keras.ops.mean(keras.ops.square(y - y_pred)), rest
    def train_step(self, state, data):
        trainable, rest, slots, metrics = state
        (loss, rest), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, rest, *data)
        trainable, slots = self.optimizer.stateless_apply({apply})
        {more}
        return {{"loss": loss}}, ({returned})
def build():
    inputs = keras.Input((8,))
    model = Net(inputs, layers.Dense(3, kernel_regularizer="l2")(layers.BatchNormalization()(inputs)))
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 3), "float32")
"""
RIGHT = {"apply": "slots, grads, trainable", "more": "", "returned": "trainable, rest, slots, metrics"}


def step(**changes):
    return STEP.format(**{**RIGHT, **changes})


def test_a_step_as_it_should_be_is_ok(tmp_path):
    assert traced(tmp_path, step()).ok


def test_the_state_comes_back_in_the_order_in_which_it_came(tmp_path):
    finding, fix = first(traced(tmp_path, step(returned="rest, trainable, slots, metrics")), "step-without-state")
    assert finding.fact.group == "trainable"
    assert fix.verified
    assert '+        return {"loss": loss}, (trainable, rest, slots, metrics)' in fix.patch


def test_metrics_may_be_left_out_of_the_state(tmp_path):
    assert traced(tmp_path, step(returned="trainable, rest, slots, []")).ok


def test_the_optimizers_variables_come_first(tmp_path):
    _, fix = first(traced(tmp_path, step(apply="grads, slots, trainable")), "gradients-swapped")
    assert fix.verified
    assert "+        trainable, slots = self.optimizer.stateless_apply(slots, grads, trainable)" in fix.patch


@pytest.mark.parametrize(
    ("more", "path"), [("self.tracker.update_state(loss)", "tracked/total"), ("loss = self.compute_loss(None, data[1], data[1])", "dense/kernel")]
)
def test_a_step_reads_no_variable_beside_its_state(tmp_path, more, path):
    code = step(more=more).replace('model.compile("adam")', 'model.compile("adam", "mse")')
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule == "step-without-state"
    # Keras counts layers of one name, and other tests have made some.
    assert re.sub(r"_\d+/", "/", finding.fact.path).endswith(path)


TWO = """
def build():
    inputs = keras.Input((8,))
    model = keras.Model(inputs, [layers.Dense(1, name="a")(inputs), layers.Dense(2, name="b")(inputs), layers.Dense(1, name="c")(inputs)])
    model.compile("adam", [{losses}])
    return model
def data():
    return np.zeros((8, 8), "float32"), (np.zeros((8, 1), "float32"), np.zeros((8, 2), "float32"), np.zeros((8, 1), "float32"))
"""


def test_an_output_behind_the_end_of_a_list_of_losses_is_not_trained(tmp_path):
    (finding,) = serious(traced(tmp_path, TWO.format(losses='"mse", "mae"')))
    assert (finding.rule, finding.severity, finding.fact.given) == ("output-names", "silent", 2)
    assert traced(tmp_path, TWO.format(losses='"mse", "mae", None')).ok


SCAN = ["h0 = ops.zeros_like(x[:, 0])", "_, hs = ops.scan(lambda h, now: (h + now, h + now), h0, {})", "return {}"]


def test_a_loop_steps_through_time_and_not_through_the_batch(tmp_path):
    lines = [line.format(*inner) for line, inner in zip(SCAN, ((), ("x",), ("hs",)), strict=True)]
    finding, fix = first(traced(tmp_path, own(lines, shape=(5, 4))), "op-shapes")
    assert finding.fact.reason.shape == (None, 5, 6)
    assert fix.verified
    assert "ops.swapaxes(x, 0, 1))" in fix.patch
    assert "+        hs = ops.swapaxes(hs, 0, 1)" in fix.patch
    lines = [line.format(*inner) for line, inner in zip(SCAN, ((), ("ops.swapaxes(x, 0, 1)",), ("ops.swapaxes(hs, 0, 1)",)), strict=True)]
    assert traced(tmp_path, own(lines, shape=(5, 4))).ok


def test_attention_gets_steps_before_heads(tmp_path):
    lines = [
        "b, t = x.shape[0], x.shape[1]",
        "q = ops.transpose(ops.reshape(x, (b, t, 2, 3)), (0, 2, 1, 3))",
        "y = jax.nn.dot_product_attention(q, q, q, mask=jnp.ones((1, 1, t, t), bool))",
        "return ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (b, t, 6))",
    ]
    _, fix = first(traced(tmp_path, own(lines, shape=(5, 4))), "op-shapes")
    assert fix.verified
    assert "dot_product_attention(ops.transpose(q, (0, 2, 1, 3))" in fix.patch.replace("keras.ops", "ops")


METRIC = """
class Table(keras.metrics.Metric):
    def __init__(self, classes):
        super().__init__(name="table")
        self.classes, self.table = classes, self.add_variable((classes, classes), "zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        true, guessed = ops.one_hot(y_true, self.classes), ops.one_hot(ops.argmax(y_pred, axis=-1), self.classes)
        self.table.assign_add({})
    def result(self):
        return ops.sum(self.table)
def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(4, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=[Table(4)])
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64,), "int32")
"""


def test_what_a_metric_of_ones_own_computes_is_told_at_its_line(tmp_path):
    (finding,) = serious(traced(tmp_path, METRIC.format("true * guessed")))
    assert finding.rule == "metric-raises"
    assert "assign_add" in finding.location.text
    assert traced(tmp_path, METRIC.format("ops.matmul(ops.transpose(true), guessed)")).ok


POOLS = """
def build():
    model = keras.Sequential([keras.Input((16, 16, 3)), layers.Conv2D(4, 3, padding="same"), layers.MaxPooling2D(), layers.Conv2D(3, 1, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
def data():
    return np.zeros((8, 16, 16, 3), "float32"), np.zeros((8, 16, 16, 1), "int32")
"""


def test_two_arguments_are_written_into_empty_brackets(tmp_path):
    finding, _ = first(traced(tmp_path, POOLS), "output-size")
    assert any("layers.MaxPooling2D(strides=1, padding=" in fix.patch for fix in finding.fixes)


DRAWS = """
class Noisy(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(3)
    def call(self, x):
{call}

def build():
    model = keras.Sequential([keras.Input((10,)), Noisy(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 10), "float32"), np.zeros((64, 1), "float32")
"""
BRANCH = ["def noisy():", "    return x + keras.random.normal(ops.shape(x), seed=self.seed)", "return ops.cond(ops.mean(x) > 0, noisy, lambda: x)"]
STEPS = ["def step(h, _):", "    return h + keras.random.normal(ops.shape(x), seed=self.seed), None", "return jax.lax.scan(step, x, None, length=3)[0]"]


def test_numbers_of_a_branch_are_drawn_before_it(tmp_path):
    (finding,) = serious(traced(tmp_path, DRAWS.format(call="\n".join(f"        {line}" for line in BRANCH))))
    assert finding.rule == "state-lost"
    assert finding.fixes[0].verified and finding.fixes[0].proof == "source"
    assert "+        drawn = keras.random.normal(ops.shape(x), seed=self.seed)" in finding.fixes[0].patch


def test_numbers_of_a_loop_are_not_drawn_once_for_all_steps(tmp_path):
    (finding,) = serious(traced(tmp_path, DRAWS.format(call="\n".join(f"        {line}" for line in STEPS))))
    assert finding.rule == "state-lost"
    assert not any("before the branch" in fix.title for fix in finding.fixes)
