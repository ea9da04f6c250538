"""What a call is handed that it does not take so: options by place, and numbers that are too large."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_contracts import HeardByPlace, HeardTooLarge
from ..flow import Fact, Node
from .facts.calls import ByPlace, NumberTooLarge


def handed_over(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """Arguments by place that are no tensors, or a number that does not fit into the integers of the backend."""
    rule = "layer-raises" if node.kind == "layer" else "code-raises"
    if hear(node.failure, HeardByPlace) is not None:
        return rule, ByPlace(*(evidence.facts.get("by_place") or ("",)))
    large = hear(node.failure, HeardTooLarge)
    return (rule, NumberTooLarge(large.value)) if large is not None else None
