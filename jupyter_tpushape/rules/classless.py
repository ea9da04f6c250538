"""Predictions without an axis of classes, under a loss that reads a score for each class."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Shape
from .compared import ends, kind_of
from .facts.scores import NoClassAxis
from .loss_rules import RANK
from .registry import check


def classless(loss: Node, labels: Shape, predictions: Shape) -> NoClassAxis | None:
    """What a sparse cross-entropy lacks in predictions of one number per sample."""
    return NoClassAxis(loss.name, labels, predictions) if kind_of(loss) == "sparse" and len(predictions) == 1 else None


@check(order=31)
def no_class_axis(evidence: Evidence) -> Iterator[Finding]:
    """Losses that only fail at run time: their shapes are not known before."""
    for node in evidence.losses() if not evidence.where else ():
        labels, predictions = ends(evidence, node)
        y, p = (edge.spec.shape if edge is not None else None for edge in (labels, predictions))
        fact = classless(node, y or (), p) if p is not None else None
        if fact is not None and predictions is not None:
            giver = evidence.flow.node(predictions.source)
            yield Finding.of(RANK.id, "error", fact, (node.id,), (predictions.id,), giver.location or giver.called)
