"""Where samples of a batch are set against each other on purpose: in an added loss, or in a matrix that is scaled along both of its axes in turn."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..flow import Edge, Node, Shape
from .mixing import carried

# What scales a matrix, and what a scale is made of.
_SCALES = ("RealDiv", "DivNoNan", "Mul", "Sub", "Softmax", "LogSoftmax")
_TOTALS = ("Sum", "Logsumexp", "LogSumExp", "ReduceLogsumexp")


def meant(evidence: Evidence, reader: Node) -> bool:
    """Whether what combines samples here is on purpose: it is part of a loss, or of a matrix that is scaled along its samples and along another axis."""
    return not predicts(evidence, reader) or _balanced(evidence, reader)


def predicts(evidence: Evidence, node: Node) -> bool:
    """Whether an operation leads to an output of the model; what leads only to a loss that a layer adds does not."""
    outputs = {one.id for one in evidence.flow.nodes if one.kind == "output"}
    if not outputs:
        return True
    pending, seen = [node.id], {node.id}
    while pending:
        here = pending.pop()
        if here in outputs:
            return True
        for edge in evidence.flow.out_of(here):
            if edge.target not in seen:
                seen.add(edge.target)
                pending.append(edge.target)
    return False


def _balanced(evidence: Evidence, reader: Node) -> bool:
    """Whether the same matrix is also scaled along an axis of each sample's own, as Sinkhorn's iterations do."""
    made = next(iter(evidence.flow.out_of(reader.id)), None)
    shape = made.spec.shape if made is not None else None
    if not shape or len(shape) < 2:
        return False
    pending, seen = [reader], {reader.id}
    while pending:
        node = pending.pop()
        if node is not reader and _within_samples(evidence, node, shape):
            return True
        around = [(edge, edge.source) for edge in evidence.flow.into(node.id)] + [
            (edge, edge.target) for edge in evidence.flow.out_of(node.id)
        ]
        for edge, other in around:
            beside = evidence.flow.node(other)
            if edge.spec.shape == shape and beside.op in _SCALES and beside.id not in seen:
                seen.add(beside.id)
                pending.append(beside)
    return False


def _within_samples(evidence: Evidence, node: Node, shape: Shape) -> bool:
    """Whether an operation scales each sample of a matrix by a total of its own."""
    if node.op in ("Softmax", "LogSoftmax") and (given := evidence.flow.into(node.id)[:1]):
        return set(carried(evidence, given[0]) or {}) == {0} and softmax_axis(evidence, node, given[0]) % len(shape) != 0
    for edge in evidence.flow.into(node.id):
        total = evidence.flow.node(edge.source)
        whole = evidence.flow.into(total.id)[:1]
        if total.op in _TOTALS and whole and whole[0].spec.shape == shape and set(carried(evidence, edge) or {}) == {0}:
            return True
    return False


def softmax_axis(evidence: Evidence, node: Node, edge: Edge) -> int:
    """The axis that a softmax sums over: the last one, where nobody saw another."""
    return next(
        (axis for name, given, axis, ordered in evidence.facts.get("along") or () if (name, given, ordered) == (node.id, edge.id, False)),
        -1,
    )
