"""Layers that normalize along the batch."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Fact, Finding, Node, Shape, Who
from .examples import sequential
from .facts.mixing import NormalizedOverBatch
from .mixing import SOURCE, carried
from .registry import check, rule

NORMALIZED = rule(
    "normalized-over-batch", "A layer normalizes along the batch", severity="silent", source=SOURCE,
    fails=sequential("L.Dense(4), L.UnitNormalization(axis=0), L.Dense(1)"), passes=sequential("L.Dense(4), L.UnitNormalization(), L.Dense(1)"),
    doc="""Some of these layers have a weight for each place of that axis, and raise where the batch size is unknown: then it is an error.""",
)  # fmt: skip


@check(order=43)
def normalized_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Normalizations of the framework whose axis is that of the samples."""
    for node in evidence.flow.nodes if not evidence.where else ():
        for edge in evidence.flow.into(node.id)[:1] if node.kind == "layer" else ():
            axis = _axis(evidence, node, edge.spec.shape or (), carried(evidence, edge) or {})
            if axis is not None:
                fact = NormalizedOverBatch(Who.of(node), edge.spec.shape or (), axis)
                yield Finding.of(NORMALIZED.id, "silent", fact, (node.id,), (edge.id,), node.location)


def without_size(evidence: Evidence, node: Node, _edges: list[Edge], shape: Shape | None) -> tuple[str, Fact] | None:
    """One that broke, because it has a weight for each sample."""
    if not shape or shape[0] is not None:
        return None
    axis = _axis(evidence, node, shape, {0: 1.0})
    return (NORMALIZED.id, NormalizedOverBatch(Who.of(node), shape, axis, raises=True)) if axis is not None else None


def _axis(evidence: Evidence, node: Node, shape: Shape, grown: dict[int, float]) -> int | None:
    """The axis of the samples, where a normalization works along it. One that broke tells with what arguments it was made."""
    if node.family != "normalization" or not shape or len(shape) < 2:
        return None
    axis = node.config.get("axis", evidence.arguments(node.id).get("axis"))
    axes = [one for one in (axis if isinstance(axis, (list, tuple)) else [axis]) if type(one) is int and -len(shape) <= one < len(shape)]
    return next((one for one in axes if one % len(shape) in grown), None)
