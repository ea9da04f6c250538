"""One-hot labels that a loss of the user's own uses as indices."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .compared import as_it_came, ends, observed_labels
from .facts.ranges import RowsAsIndices
from .registry import check

_LOOKUPS = ("gather", "take", "embeddinglookup")


def rows_as_indices(evidence: Evidence, loss: Node, labels: Edge | None) -> RowsAsIndices | None:
    """What a loss or metric looks up at each zero and one of labels that are one-hot vectors, judged by the observed values."""
    stats = observed_labels(evidence, labels) if labels is not None else None
    if labels is None or stats is None or not stats.one_hot:
        return None
    for op in evidence.flow.nodes:
        if op.parent == loss.id and any(word in op.op.lower() for word in _LOOKUPS):
            starts = [as_it_came(evidence, edge) for edge in evidence.flow.into(op.id)]
            if any(edge.source == labels.source and edge.spec == labels.spec for edge in starts):
                return RowsAsIndices(loss.name, labels.spec.shape or (), Who.of(op))
    return None


@check(order=41)
def looked_up(evidence: Evidence) -> Iterator[Finding]:
    """Losses and metrics that run although they look up entries 0 and 1 instead of the entry of each class."""
    if evidence.where:
        return
    for loss in evidence.flow.nodes:
        if loss.kind in ("loss", "metric"):
            labels, _ = ends(evidence, loss)
            fact = rows_as_indices(evidence, loss, labels)
            if fact is not None and labels is not None:
                yield Finding.of("one-hot-labels", "silent", fact, (loss.id,), (labels.id,), fact.operation.called)
