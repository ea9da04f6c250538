"""The two ends of a loss, and the layer that decides the last axis."""

from __future__ import annotations

from typing import Any

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node
from ...flow.observed import keeps
from ...rules.compared import ends
from ...rules.facts.ranges import OutOfRange
from .edits import upstream, where


def loss_node(evidence: Evidence, finding: Finding) -> Node | None:
    losses = [node for node in map(evidence.flow.node, finding.nodes) if node.kind == "loss"]
    return losses[0] if losses else next(iter(evidence.losses()), None)


def ends_of(evidence: Evidence, finding: Finding) -> tuple[Edge | None, Edge | None]:
    node = loss_node(evidence, finding) or evidence.failed
    return ends(evidence, node) if node is not None else (None, None)


def several(evidence: Evidence) -> bool:
    return len(evidence.losses()) > 1


def label_key(evidence: Evidence, labels: Edge | None) -> dict[str, Any]:
    """Which of the labels this edge carries."""
    path = evidence.carried(labels) if labels is not None else None
    if path is None or path[0] != "y":
        path = evidence.y[0][0] if len(evidence.y) == 1 else ("y",)
    return where(path)


def head_of(evidence: Evidence, node: Node) -> Node | None:
    """The layer whose units decide the last axis."""
    for item in [node, *upstream(evidence, node)]:
        if isinstance(item.config.get("units"), int) or isinstance(item.config.get("filters"), int):
            return item
        if not keeps(evidence.flow, item):
            return None
    return None


def highest_of(finding: Finding) -> int | None:
    """The highest value that was seen of what is out of range."""
    return finding.fact.highest if isinstance(finding.fact, OutOfRange) else None


def snake(name: str) -> str:
    """A loss class' name as ``compile`` takes it."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
