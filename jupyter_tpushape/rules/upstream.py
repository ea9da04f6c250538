"""What lies upstream of a node, and what there let inner axes through."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Node
from ..trace.axes import RECURRENT
from .facts.loss import Through
from .saved_models import LAYERS as SAVED_MODELS
from .words import axes_of


def ancestors(evidence: Evidence, start: str, rank: int = 0) -> Iterator[Node]:
    """Nodes upstream of ``start``, nearest first, by way of tensors of at least ``rank`` axes."""
    seen, pending = {start}, [start]
    while pending:
        current = pending.pop(0)
        for edge in evidence.flow.into(current):
            thin = edge.spec.shape is not None and len(edge.spec.shape) < rank
            if edge.source not in seen and edge.label not in ("labels", "weights") and not thin:
                seen.add(edge.source)
                pending.append(edge.source)
                yield evidence.flow.node(edge.source)


def cause_of_axes(evidence: Evidence, predictions: Edge) -> tuple[Through, Node] | None:
    """The layer upstream that let surplus axes through: a recurrent layer that returns sequences, or a grid without a Flatten."""
    source = evidence.flow.node(predictions.source)
    for node in [source, *ancestors(evidence, source.id, 3)]:
        if node.op in ("Flatten", "GlobalAveragePooling2D", "GlobalMaxPooling2D", "GlobalAveragePooling1D", "GlobalMaxPooling1D"):
            return None
        if node.op in RECURRENT and node.config.get("return_sequences"):
            return "sequences", node
        if node.op == "Bidirectional":
            return "sequences", node
        if node.op in SAVED_MODELS:
            return "tokens", node
        if node.op == "Embedding" or (axes_of(node.op) and node.op not in RECURRENT):
            return "grid", node
        if node.kind == "input":
            return "input", node
    return None
