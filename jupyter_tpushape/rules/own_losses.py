"""Losses of the user's own that match labels with predictions by broadcasting only."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Shape, Who
from .compared import ends, kind_of
from .facts.loss_silent import Crosswise
from .registry import check
from .silent import BROADCAST
from .words import PAIRING


@check(order=42)
def one_unit_for_all(evidence: Evidence) -> Iterator[Finding]:
    """The single value of a prediction that meets every value of a label in a loss of the user's own."""
    for node in evidence.losses() if not evidence.where else ():
        labels, predictions = ends(evidence, node)
        if labels is None or predictions is None or kind_of(node) != "custom":
            continue
        y, p = labels.spec.shape or (), predictions.spec.shape or ()
        # One label for several values is a choice, such as that of quantiles; one value for several labels is none.
        single = len(y) == len(p) > 1 and y[:-1] == p[:-1] and p[-1] == 1 and y[-1] not in (None, 1)
        if not single and not _both_widened(y, p):
            continue
        giver = evidence.flow.node(predictions.source)
        for op in evidence.flow.nodes:
            edges = evidence.flow.into(op.id)
            if op.parent != node.id or op.op not in PAIRING or len(edges) != 2:
                continue
            starts = {_start(evidence, edge, node).source for edge in edges if edge.spec.shape in (y, p)}
            if starts == {labels.source, predictions.source} and {edge.spec.shape for edge in edges} == {y, p}:
                fact = Crosswise(node.name, p, y, Who.of(giver))
                yield Finding.of(
                    BROADCAST.id, "silent", fact, (giver.id, node.id), (predictions.id, labels.id), giver.location or giver.called
                )
                break


def _both_widened(y: Shape, p: Shape) -> bool:
    """Whether labels and predictions both have axes of size 1 where the other has more: then neither keeps its shape."""
    if len(y) != len(p) or None in (*y, *p) or y[0] != p[0] or any(a != b and 1 not in (a, b) for a, b in zip(y, p, strict=True)):
        return False
    made = tuple(max(a or 0, b or 0) for a, b in zip(y, p, strict=True))
    return made not in (y, p)


def _start(evidence: Evidence, edge: Edge, loss: Node) -> Edge:
    """Where the values of an edge come into a loss, which only single operations on each of them have changed since."""
    while (giver := evidence.flow.node(edge.source)).parent == loss.id:
        before = evidence.flow.into(giver.id)
        if len(before) != 1 or before[0].spec.shape != edge.spec.shape:
            break
        edge = before[0]
    return edge
