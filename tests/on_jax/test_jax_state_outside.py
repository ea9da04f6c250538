"""Variables that a program updates in a compiled step which neither takes nor returns them; those of layers and metrics are in its state."""

from __future__ import annotations

import pytest
from strangers import serious, traced

AROUND = """
def build():
    model = keras.Sequential([keras.Input((6,)), {layer}, layers.Dense(2)])
    model.compile("adam", {loss}, metrics={metrics})
    return model

def data():
    return np.zeros((32, 6), "float32"), np.zeros((32, 2), "float32")
"""
LOSS = """
class Scaled(keras.losses.Loss):
    def __init__(self):
        super().__init__()
        self.scale = keras.Variable(1.0, trainable=False)
    def call(self, y_true, y_pred):
        error = ops.square(y_true - y_pred)
        self.scale.assign(0.9 * self.scale + 0.1 * ops.mean(error))
        return ops.mean(error / self.scale, axis=-1)
"""
METRIC = """
class Seen(keras.metrics.Metric):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(ops.sum(y_pred))
    def result(self):
        return self.total + 0.0
"""
LAYER = """
class Running(layers.Layer):
    def __init__(self):
        super().__init__()
        self.mean = self.add_weight(shape=(), initializer="zeros", trainable=False)
        self.seed = keras.random.SeedGenerator(0)
    def call(self, x):
        self.mean.assign(0.9 * self.mean + 0.1 * ops.mean(x))
        return x - self.mean + keras.random.normal(ops.shape(x), seed=self.seed)
"""


def test_a_variable_of_a_loss_is_lost(tmp_path):
    code = LOSS + AROUND.format(layer="layers.Dense(8)", loss="Scaled()", metrics="None")
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.severity, finding.fact.outside) == ("state-lost", "silent", True)
    assert finding.location.text.startswith("self.scale.assign(")
    assert not any(fix.verified for fix in finding.fixes)


@pytest.mark.parametrize("metrics", ["[Seen()]", "[[Seen()]]", '["mae", Seen(name="again")]'])
def test_those_of_metrics_and_layers_are_kept(tmp_path, metrics):
    code = METRIC + LAYER + AROUND.format(layer="Running()", loss='"mse"', metrics=metrics)
    assert not serious(traced(tmp_path, code))


def test_those_of_metrics_that_a_model_holds_are_kept(tmp_path):
    code = (
        METRIC
        + """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.out, self.seen = layers.Dense(2), Seen(name="own")
    def call(self, x):
        return self.out(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        self.seen.update_state(y, y_pred)
        return super().compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=training)

def build():
    model = Net()
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 6), "float32"), np.zeros((32, 2), "float32")
"""
    )
    assert not serious(traced(tmp_path, code))
