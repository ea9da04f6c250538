"""What JAX makes of a loss, a metric and their gradients."""

from __future__ import annotations

import pytest
from strangers import serious, traced

from jupyter_tpushape.rules.facts.loss import LossVector
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


RIGHT = {
    "one number": (COMPUTED.format("ops.mean(ops.square(y - y_pred))"), ""),
    "a sum": ("pass", "keras.losses.MeanSquaredError(reduction='sum')"),
}


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
LARGEST = {
    "jnp.max(q_next)": "jnp.max(q_next, axis=-1)",
    "ops.max(q_next)": "ops.max(q_next, axis=-1)",
    "q_next.max()": "q_next.max(axis=-1)",
}


@pytest.mark.parametrize(("wrong", "right"), LARGEST.items(), ids=LARGEST)
def test_the_largest_value_of_all_samples_is_no_target(tmp_path, wrong, right):
    (finding,) = serious(traced(tmp_path, Q_LEARNING.format(wrong)))
    assert finding.rule == "samples-summed"
    assert finding.fact.largest
    assert finding.fixes[0].proof == "source"
    assert f'+            target = data["reward"] + 0.9 * {right}\n' in finding.fixes[0].patch
    assert traced(tmp_path, Q_LEARNING.format(right)).ok
