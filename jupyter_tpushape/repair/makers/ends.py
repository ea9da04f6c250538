"""The two ends of a loss, and the layer that decides the last axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, KeyPath, Node, Shape
from ...flow.observed import keeps
from ...rules.compared import ends
from ...rules.facts.ranges import OutOfRange
from ..edits import Loss
from .edits import way_to, width_of


def loss_node(evidence: Evidence, finding: Finding) -> Node | None:
    losses = [node for node in map(evidence.flow.node, finding.nodes) if node.kind == "loss"]
    return losses[0] if losses else next(iter(evidence.losses()), None)


def ends_of(evidence: Evidence, finding: Finding) -> tuple[Edge | None, Edge | None]:
    node = loss_node(evidence, finding) or evidence.failed
    return ends(evidence, node) if node is not None else (None, None)


def compared(evidence: Evidence, finding: Finding) -> Iterator[tuple[Node, Shape, Shape]]:
    """What gives the predictions, with the shapes of labels and predictions."""
    labels, predictions = ends_of(evidence, finding)
    if labels is not None and predictions is not None and labels.spec.shape and predictions.spec.shape:
        yield evidence.flow.node(predictions.source), labels.spec.shape, predictions.spec.shape


def several(evidence: Evidence) -> bool:
    return len(evidence.losses()) > 1


def label_path(evidence: Evidence, finding: Finding) -> KeyPath:
    """Which of the labels the loss compares."""
    labels, _ = ends_of(evidence, finding)
    path = evidence.carried(labels) if labels is not None else None
    if path is None or path[0] != "y":
        return evidence.y[0][0] if len(evidence.y) == 1 else ("y",)
    return path


def head_of(evidence: Evidence, node: Node) -> Node | None:
    """The layer whose units decide the last axis."""
    for item in way_to(evidence, node):
        if isinstance(item.config.get("units"), int) or isinstance(item.config.get("filters"), int):
            return item
        if not keeps(evidence.flow, item):
            return None
    return None


def of_classes(evidence: Evidence, head: Node) -> bool:
    """Whether a head has as many units as there are classes in the observed labels, more than two."""
    stats = evidence.label_stats.values()
    return any(one and one.maximum is not None and one.maximum > 1 and one.maximum == head.config.get(width_of(head), 0) - 1 for one in stats)


def highest_of(finding: Finding) -> int | None:
    """The highest value that was seen of what is out of range."""
    return finding.fact.highest if isinstance(finding.fact, OutOfRange) else None


def snake(name: str) -> str:
    """A loss class' name as ``compile`` takes it."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def twin(evidence: Evidence, finding: Finding, losses: Iterable[str], other: str) -> Iterator[tuple[Node, Loss]]:
    """The only loss, where it is one of ``losses``, and the other one in its place."""
    node = loss_node(evidence, finding)
    if node is not None and not several(evidence) and snake(node.op) in losses:
        options = {"from_logits": True} if node.config.get("from_logits") else {}
        yield node, Loss(node.id, other, options, snake(node.op))
