"""What JAX makes of a loss, a metric and their gradients, and fixes that were known on TensorFlow first."""

from __future__ import annotations

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from strangers import serious, traced

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Finding, Location, Spec, Who
from jupyter_tpushape.repair.edits import HostLayer, Rebatch
from jupyter_tpushape.repair.trial import Trial, _is_left
from jupyter_tpushape.rules.facts.loss import LossVector
from jupyter_tpushape.rules.facts.mixing import FixedBatch, RowsMultiplied
from jupyter_tpushape.rules.facts.reasons import ClassesSummed

MODEL = """
class Own(keras.Model):
    {method}

def data():
    return np.zeros((64, 13), "float32"), np.zeros((64, 2), "float32")

def build():
    inputs = keras.Input((13,))
    model = Own(inputs, layers.Dense(2)(inputs))
    model.compile("adam", {loss})
    return model
"""
COMPUTED = "def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):\n        return {}"
VECTORS = {
    "a loss that is not reduced": ("pass", "keras.losses.Huber(delta=2.0, reduction='none')", "sum_over_batch_size", "huber_loss"),
    "a reduction of None": ("pass", "keras.losses.MeanSquaredError(reduction=None)", "sum_over_batch_size", "mean_squared_error"),
    "compute_loss": (COMPUTED.format("ops.mean(ops.square(y - y_pred), axis=-1)"), "", "ops.mean(ops.mean(", "compute_loss"),
}


@pytest.mark.parametrize(("method", "loss", "new", "name"), VECTORS.values(), ids=VECTORS)
def test_a_loss_with_a_value_for_each_sample_has_no_gradient(tmp_path, method, loss, new, name):
    (finding,) = serious(traced(tmp_path, MODEL.format(method=method, loss=loss)))
    assert isinstance(finding.fact, LossVector)
    assert (finding.fact.shape, finding.fact.loss) == ((32,), name)
    assert finding.fixes[0].proof == "source"
    assert new in finding.fixes[0].patch


RIGHT = {"one number": (COMPUTED.format("ops.mean(ops.square(y - y_pred))"), ""), "a sum": ("pass", "keras.losses.MeanSquaredError(reduction='sum')")}


@pytest.mark.parametrize(("method", "loss"), RIGHT.values(), ids=RIGHT)
def test_a_loss_of_one_number_is_right(tmp_path, method, loss):
    assert traced(tmp_path, MODEL.format(method=method, loss=loss)).ok


METRIC = """
class Recall(keras.metrics.Metric):
    def __init__(self):
        super().__init__()
        self.hits = self.add_variable(shape=(6,), initializer="zeros", name="hits")
        self.total = self.add_variable(shape=(6,), initializer="zeros", name="total")
    def update_state(self, y_true, y_pred, sample_weight=None):
        truth = ops.one_hot(ops.cast(y_true, "int32"), 6)
        guess = ops.one_hot(ops.argmax(y_pred, axis=-1), 6)
        self.hits.assign(self.hits + ops.sum(truth * guess, axis={0}))
        self.total.assign(self.total + ops.sum(truth, axis={0}))
    def result(self):
        return ops.mean(self.hits / (self.total + 1e-7))

def data():
    return np.zeros((80, 20), "float32"), np.arange(80) % 6

def build():
    model = keras.Sequential([keras.Input((20,)), layers.Dense(6, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=[Recall()])
    return model
"""


def test_a_metric_of_classes_is_summed_over_the_samples(tmp_path):
    (finding,) = serious(traced(tmp_path, METRIC.format(-1)))
    assert (finding.rule, finding.fact.reason) == ("metric-raises", ClassesSummed(6, (32, 6)))
    assert finding.fixes[0].proof == "source"
    assert finding.fixes[0].patch.count("axis=0))") == 2
    assert traced(tmp_path, METRIC.format(0)).ok


Q_LEARNING = """
class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.q = layers.Dense(4)
    def call(self, states):
        return self.q(states)
    def train_step(self, state, data):
        trainable, other, optimizer, metrics = state
        def loss_of(variables):
            q, _ = self.stateless_call(variables, other, data["state"])
            q_next, _ = self.stateless_call(variables, other, data["next"])
            target = data["reward"] + 0.9 * {}
            return jnp.mean(jnp.square(target - jnp.sum(q * jax.nn.one_hot(data["action"], 4), axis=1)))
        loss, grads = jax.value_and_grad(loss_of)(trainable)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, grads, trainable)
        return {{"loss": loss}}, (trainable, other, optimizer, metrics)

def data():
    states = np.zeros((96, 8), "float32")
    return {{"state": states, "next": states, "reward": np.zeros((96,), "float32"), "action": np.zeros((96,), "int32")}}

def build():
    model = Agent()
    model(np.zeros((1, 8), "float32"))
    model.compile("adam")
    return model
"""
LARGEST = {"jnp.max(q_next)": "jnp.max(q_next, axis=-1)", "ops.max(q_next)": "ops.max(q_next, axis=-1)", "q_next.max()": "q_next.max(axis=-1)"}


@pytest.mark.parametrize(("wrong", "right"), LARGEST.items(), ids=LARGEST)
def test_the_largest_value_of_all_samples_is_no_target(tmp_path, wrong, right):
    (finding,) = serious(traced(tmp_path, Q_LEARNING.format(wrong)))
    assert finding.rule == "samples-summed"
    assert finding.fact.largest
    assert finding.fixes[0].proof == "source"
    assert f'+            target = data["reward"] + 0.9 * {right}\n' in finding.fixes[0].patch
    assert traced(tmp_path, Q_LEARNING.format(right)).ok


@pytest.mark.parametrize(("batch", "left"), [(100, False), (32, True)])
def test_a_line_of_all_rows_may_be_written_anew_where_all_rows_are_fed(batch, left):
    node = Who("Mul", "Mul")
    finding = Finding.of("fixed-batch", "note", FixedBatch(node, batch, 33, "", None), (), location=Location("program.py", 3, text="loss(t * w)"))
    seen = SimpleNamespace(evidence=SimpleNamespace(sample=SimpleNamespace(rows=100)))
    made = Trial(None, (Rebatch("data", batch, True),), root=seen, fresh=frozenset({"loss(t * w)"}))
    assert _is_left(made, finding) is left


MASKED = """
class Own(layers.Layer):
    def call(self, x, mask):
        scores = jnp.einsum("bqd,bkd->bqk", x, x)
        scores = jnp.where({}, scores, {})
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, axis=-1), x)

class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding, self.own, self.head = layers.Embedding(50, 8), Own(), layers.Dense(2)
    def call(self, tokens):
        return self.head(jnp.mean(self.own(self.embedding(tokens), jnp.not_equal(tokens, 0)), axis=1))

def build():
    model = Model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    return np.arange(960).reshape(48, 20) % 50, np.arange(48) % 2
"""


@pytest.mark.parametrize("low", ["-1e9", "-jnp.inf", "float('-inf')", "jnp.finfo(scores.dtype).min"])
def test_a_mask_that_chooses_hides_keys(tmp_path, low):
    (finding,) = serious(traced(tmp_path, MASKED.format("mask", low)))
    assert not finding.fact.reason.through
    assert finding.fixes[0].proof == "source"
    assert "jnp.where(mask[:, None, :], scores" in finding.fixes[0].patch


def test_what_a_text_layer_gives_is_known_where_the_trace_ends_before_it(tmp_path):
    class Ids(keras.layers.Layer):
        def compute_output_spec(self, x):
            return keras.KerasTensor((None, 5), "int64")

    door = keras.Input((1,), dtype="string")
    ids = Ids(name="ids")
    model = keras.Model(door, keras.layers.Embedding(20, 8)(ids(door)))
    report = tpushape.trace(model, np.array([["good"], ["bad"]]), tpu=None, fixes=False)
    assert not report.ok
    text = SimpleNamespace(seen=SimpleNamespace(evidence=SimpleNamespace(flow=report.flow)), object=lambda name: ids)
    assert HostLayer("ids")._gives(text) == Spec((None, 5), "int64")


PRODUCT = """
class Clip(keras.Model):
    def __init__(self):
        super().__init__()
        self.image, self.text = layers.Dense(32), layers.Dense(32)
    def call(self, x):
        return self.image(x["image"]) @ {}
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean(keras.losses.sparse_categorical_crossentropy(ops.arange(y_pred.shape[0]), y_pred, from_logits=True))

def data():
    rng = np.random.default_rng(0)
    return {{name: rng.random((96, 8), "float32") for name in ("image", "text")}}

def build():
    model = Clip()
    model.compile("adam")
    return model
"""
GRAPH = """
class Graph(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(4)
    def call(self, x):
        return jnp.matmul(x[1], self.dense(x[0]))

def data():
    rng = np.random.default_rng(0)
    return [rng.random((32, 8), "float32"), rng.random((32, 32), "float32")], np.arange(32) % 4

def build():
    model = Graph()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
"""


def test_columns_that_meet_samples_by_chance_are_told(tmp_path):
    (finding,) = serious(traced(tmp_path, PRODUCT.format('self.text(x["text"])')))
    assert isinstance(finding.fact, RowsMultiplied)
    assert (finding.fact.left, finding.fact.right) == ((32, 32), (32, 32))
    assert finding.fixes[0].proof == "source"
    assert traced(tmp_path, PRODUCT.format('ops.transpose(self.text(x["text"]))')).ok
    assert traced(tmp_path, GRAPH).ok


STEP = """
class Own(keras.Model):
    def train_step(self, state, data):
        trainable, other, optimizer, metrics = state
        x, y = data
        def loss_of(variables, other):
            y_pred, other = self.stateless_call(variables, other, x, training=True)
            return self.compute_loss(x, y, y_pred), y_pred, other
        (loss, (y_pred, other)), grads = jax.value_and_grad(loss_of, has_aux=True)(trainable, other)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, grads, trainable)
        return {"loss": loss}, (trainable, other, optimizer, metrics)

def data():
    return np.zeros((64, 16), "float32"), np.zeros((64, 1), "float32")

def build():
    inputs = keras.Input((16,))
    model = Own(inputs, layers.Dense(1)(inputs))
    model.compile("adam", "mse")
    return model
"""


def test_what_is_beside_the_loss_is_returned_in_a_tuple_where_the_call_takes_one(tmp_path):
    (finding,) = serious(traced(tmp_path, STEP))
    assert finding.fixes[0].proof == "source"
    assert "+            return self.compute_loss(x, y, y_pred), (y_pred, other)\n" in finding.fixes[0].patch
