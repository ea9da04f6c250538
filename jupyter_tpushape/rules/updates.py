"""What a training step of the user's own passes to its optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding
from .examples import stepped
from .facts.training import UpdateRefused
from .registry import check, rule

_UPDATE = """
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y - self(x, training=True)) ** 2)
        self.optimizer.apply_gradients(zip(%s))"""
_METRIC = ', metrics=["mae"]'
UPDATE = rule(
    "optimizer-update", "The optimizer does not accept an update of the training step", severity="error", backend="tensorflow",
    source="keras/src/optimizers/base_optimizer.py: apply; tf_keras/src/optimizers/optimizer.py: apply_gradients",
    fails=stepped(_UPDATE % "self.trainable_variables, tape.gradient(loss, self.trainable_variables)").replace(_METRIC, ""),
    passes=stepped(_UPDATE % "tape.gradient(loss, self.trainable_variables), self.trainable_variables").replace(_METRIC, ""),
    doc="""Reported if an optimizer of Keras raises for what a training step passes to apply_gradients or apply. The values are not pairs, gradients and
variables are swapped, a gradient does not fit its variable, or the optimizer was built for other variables.""",
)  # fmt: skip


@check(order=50, backend="tensorflow")
def refused(evidence: Evidence) -> Iterator[Finding]:
    """An update for which the framework's own optimizer raises."""
    step = evidence.facts.get("step")
    found = step.misapplied if step is not None else None
    if found is not None:
        fact = UpdateRefused(found.how, found.optimizer, found.function, found.variable, found.gradient, found.weight, found.known)
        yield Finding.of(UPDATE.id, "error", fact, tuple(node.id for node in evidence.flow.failed()), location=found.location)
