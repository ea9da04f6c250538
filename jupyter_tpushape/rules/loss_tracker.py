"""The metric in which Keras 3 keeps the mean loss, as a training step of the model's own updates it, and custom metrics."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_jax import HeardMetricState
from ..flow import Finding, Node
from .examples import sequential, stepped
from .facts.training import LogsUnread, LossTracked, MetricOfOneBatch, MetricState
from .registry import check, rule

TRACKER = rule(
    "loss-tracker", "train_step updates the loss metric with labels and predictions", severity="silent", frameworks=("keras",),
    source="keras/src/trainers/trainer.py: metrics, _loss_tracker", fails=stepped("for m in self.metrics: m.update_state(y, p)"),
    passes=stepped("for m in self.metrics: m.update_state(loss) if m.name == 'loss' else m.update_state(y, p)"),
)  # fmt: skip


def _fact(evidence: Evidence) -> LossTracked | None:
    found = evidence.facts.get("tracked")
    return None if found is None else LossTracked(found[0], found[1], evidence.failure is not None)


def misled(evidence: Evidence) -> tuple[str, LossTracked] | None:
    """Labels and predictions that the metric of the loss does not take."""
    fact, raised = _fact(evidence), evidence.raised
    if fact is None or raised is None or evidence.facts["tracked"][2] is None or raised.line != evidence.facts["tracked"][2].line:
        return None
    return TRACKER.id, fact


def metric_state(evidence: Evidence, node: Node) -> tuple[str, MetricState] | None:
    """The variables of all metrics for one of them."""
    said, raised = hear(node.failure, HeardMetricState), evidence.raised
    name = raised.text.split("(", maxsplit=1)[0].rpartition(".stateless_")[0] if raised is not None else ""
    return ("code-raises", MetricState(name, said.given, said.has)) if said is not None and name else None


@check(order=48)
def loss_tracked(evidence: Evidence) -> Iterator[Finding]:
    """Labels and predictions that the metric of the loss takes for values and weights."""
    fact = _fact(evidence)
    if fact is not None and evidence.failure is None:
        yield Finding.of(TRACKER.id, "silent", fact, (), location=evidence.facts["tracked"][2])


@check(order=48, backend="jax")
def logs_unread(evidence: Evidence) -> Iterator[Finding]:
    """Logs of a training step that have the names of metrics which the step never updates."""
    if (unread := evidence.facts.get("unread")) and evidence.failure is None:
        yield Finding.of(TRACKER.id, "note", LogsUnread(unread), (), location=evidence.facts.get("own_step"))


_OWN = """
class Missed(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="missed"); self.total = self.add_weight(name="total", initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.%s(tf.reduce_sum(tf.abs(y_true - y_pred)))
    def result(self):
        return self.total
"""
OVER_BATCHES = rule(
    "metric-over-batches", "A metric does not compute its value over all batches", severity="silent", source="keras/src/trainers/trainer.py: get_metrics_result",
    fails=sequential("L.Dense(1)", loss="'mse', metrics=[Missed()]", more=_OWN % "assign"),
    passes=sequential("L.Dense(1)", loss="'mse', metrics=[Missed()]", more=_OWN % "assign_add"),
    doc="""Reported for a custom metric if update_state replaces all of its state with values of the batch. Only the reported value is wrong.""",
)  # fmt: skip


@check(order=48)
def over_batches(evidence: Evidence) -> Iterator[Finding]:
    """Metrics that keep nothing of the batches before."""
    for metric, cls, states, place in evidence.facts.get("kept_alone") or ():
        yield Finding.of(OVER_BATCHES.id, "silent", MetricOfOneBatch(metric, cls, states), (), location=place)
