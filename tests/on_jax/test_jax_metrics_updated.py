"""Metrics that a model's own train_step or compute_metrics updates: labels that they do not expect, and lines that raise."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

STEP = """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(5, activation="softmax")])
        self.mean, self.hits = keras.metrics.Mean(name="loss"), {metric}
        self.criterion = keras.losses.{loss}()
    @property
    def metrics(self):
        return [self.mean, self.hits]
    def call(self, x):
        return self.net(x)
    def loss_of(self, tv, ntv, x, y):
        y_pred, ntv = self.stateless_call(tv, ntv, x)
        return self.criterion(y, y_pred), (y_pred, ntv)
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        (loss, (y_pred, ntv)), grads = jax.value_and_grad(self.loss_of, has_aux=True)(tv, ntv, x, y)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        cut = len(self.mean.variables)
        mean = self.mean.stateless_update_state(mv[:cut], loss)
        hits = self.hits.stateless_update_state(mv[cut:], y, y_pred)
        return {{"loss": self.mean.stateless_result(mean), "hits": self.hits.stateless_result(hits)}}, (tv, ntv, ov, mean + hits)

def build():
    model = Own()
    model.compile("adam")
    return model

def data():
    return np.ones((64, 9), "float32"), {labels}
"""
NUMBERS, VECTORS = "(np.arange(64) % 5)[:, None]", "np.eye(5, dtype='float32')[np.arange(64) % 5]"
SPARSE, DENSE = "SparseCategoricalCrossentropy", "CategoricalCrossentropy"


@pytest.mark.parametrize(("metric", "fixed"), [
    ('keras.metrics.CategoricalAccuracy(name="hits")', 'keras.metrics.SparseCategoricalAccuracy(name="hits")'),
    ("keras.metrics.CategoricalAccuracy()", "keras.metrics.SparseCategoricalAccuracy()"),
])  # fmt: skip
def test_a_metric_of_vectors_that_a_step_gives_class_indices_is_told(tmp_path, metric, fixed):
    (finding,) = serious(traced(tmp_path, STEP.format(metric=metric, loss=SPARSE, labels=NUMBERS)))
    assert (finding.rule, finding.severity, finding.location.line) == ("metric-labels", "silent", 29)
    assert finding.fixes[0].proof == "source"
    assert fixed in finding.fixes[0].patch


@pytest.mark.parametrize(("metric", "loss", "labels"), [
    ('keras.metrics.SparseCategoricalAccuracy(name="hits")', SPARSE, NUMBERS),
    ('keras.metrics.CategoricalAccuracy(name="hits")', DENSE, VECTORS),
    ("keras.metrics.MeanMetricWrapper(lambda y, p: ops.cast(y[:, 0] == ops.argmax(p, -1), 'float32'))", SPARSE, NUMBERS),
])  # fmt: skip
def test_a_metric_of_what_the_step_gives_it_is_clean(tmp_path, metric, loss, labels):
    assert not serious(traced(tmp_path, STEP.format(metric=metric, loss=loss, labels=labels)))


def test_a_compiled_metric_of_vectors_is_told_too(tmp_path):
    (finding,) = serious(traced(tmp_path, COMPILED))
    assert (finding.rule, finding.severity) == ("metric-labels", "silent")
    assert "np.eye(5" in finding.fixes[0].patch


COMPILED = """
def build():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(5, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=[keras.metrics.CategoricalAccuracy()])
    return model

def data():
    return np.zeros((60, 6), "float32"), (np.arange(60) % 5)[:, None]
"""
COMPUTED = """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = layers.Dense(16, activation="relu"), layers.Dense(4, activation="softmax")
        self.margin = keras.metrics.Mean(name="margin")
        self.top = keras.metrics.{top}(k=2, name="top2")
    def call(self, x):
        return self.b(self.a(x))
    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        logs = super().compute_metrics(x, y, y_pred, sample_weight)
        {line}
        logs["margin"] = self.margin.result()
        return logs

def build():
    model = Own()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model

def data():
    return np.zeros((40, 6), "float32"), np.arange(40) % 4
"""
TAKEN = "self.margin.update_state(ops.take_along_axis(y_pred, ops.cast(y, 'int32')%s, axis=1)[:, 0])"
TOP = "self.top.update_state(y, y_pred)"


@pytest.mark.parametrize(("top", "line", "rule", "fixed"), [
    ("SparseTopKCategoricalAccuracy", TAKEN % "", "metric-raises", "ops.cast(y, 'int32')[..., None]"),
    ("TopKCategoricalAccuracy", TOP, "metric-labels", "np.eye(4"),
])  # fmt: skip
def test_what_compute_metrics_does_runs_as_fit_runs_it(tmp_path, top, line, rule, fixed):
    assert fixed in first(tmp_path, COMPUTED.format(top=top, line=line), rule)


def test_a_name_that_compute_metrics_lacks_says_nothing_of_labels(tmp_path):
    (finding,) = serious(traced(tmp_path, COMPUTED.format(top="SparseTopKCategoricalAccuracy", line="self.margin.update_state(score(y_pred))")))
    assert (finding.rule, finding.location.line) == ("metric-raises", 18)
    assert "name 'score' is not defined" in finding.why


def test_a_compute_metrics_that_works_is_clean(tmp_path):
    lines = "; ".join((TAKEN % "[:, None]", TOP))
    assert not serious(traced(tmp_path, COMPUTED.format(top="SparseTopKCategoricalAccuracy", line=lines)))
