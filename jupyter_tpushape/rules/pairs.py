"""Samples that are compared with each other after their features were normalized over the samples."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .facts.mixing import NormedOverBatch
from .mixing import SUMMED, carried
from .registry import check

_NORMS = ("Norm", "Normalize", "L2Normalize", "EuclideanNorm", "Sum")
_DIVISIONS = ("RealDiv", "DivNoNan")
_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum", "Dot")
# What a norm goes through on its way to the division, and what is divided on its way to the product.
_ON = (
    "Maximum", "AddV2", "Add", "Transpose", "Swapaxes", "Cast", "Mul", "RealDiv", "T", "Stack", "Concat", "ConcatV2", "Pack", "Sqrt", "Rsqrt", "Pow",
)  # fmt: skip


@check(order=42)
def normed_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Norms over the samples whose quotients a product then compares, every sample with every other."""
    flow, told = evidence.flow, set()
    along = _squared(evidence) if evidence.backend == "tensorflow" else evidence.facts.get("along") or ()
    for name, edge_id, axis, ordered in along if not evidence.where else ():
        node = flow.node(name)
        edge = next((one for one in flow.into(name) if one.id == edge_id), None)
        if node.op not in _NORMS or ordered or axis or edge is None or set(carried(evidence, edge) or {}) != {0} or name in told:
            continue
        made = flow.node(edge.source)
        squared = made.op in ("Square", "Abs") or (made.op == "Mul" and len({one.source for one in flow.into(made.id)}) == 1)
        if node.op == "Sum" and not squared:
            continue
        others = {at for one, given, at, _ in along if (one, given) == (name, edge_id)}
        product = _compares(evidence, node) if others == {0} else None
        if product is not None:
            told.add(name)
            fact = NormedOverBatch(Who.of(node), edge.spec.shape or (), Who.of(product))
            yield Finding.of(SUMMED.id, "silent", fact, (node.id, product.id), (edge.id,), node.called or node.location)


def _squared(evidence: Evidence) -> list[tuple[str, str, int, bool]]:
    """The axes of norms that are written in operations, where no backend says them."""
    found = []
    for node in evidence.flow.nodes:
        held = node.config.get("operand1")
        axes = [axis for axis in (held if isinstance(held, (list, tuple)) else [held]) if isinstance(axis, int)]
        for edge in evidence.flow.into(node.id)[:1] if node.op in _NORMS else ():
            found += [(node.id, edge.id, axis % max(len(edge.spec.shape or ()), 1), False) for axis in axes]
    return found


def _compares(evidence: Evidence, start: Node) -> Node | None:
    """The product of matrices behind a norm that has the batch on both of its axes."""
    flow, pending, seen = evidence.flow, [start], {start.id}
    while pending:
        for edge in flow.out_of(pending.pop().id):
            reader = flow.node(edge.target)
            if reader.id in seen:
                continue
            seen.add(reader.id)
            if reader.op in _PRODUCTS and _pairs(evidence, flow.into(reader.id), next(iter(flow.out_of(reader.id)), None)):
                return reader
            if reader.op in (*_ON, *_DIVISIONS):
                pending.append(reader)
    return None


def _pairs(evidence: Evidence, given: list[Edge], made: Edge | None) -> bool:
    each = [set(carried(evidence, one) or {}) for one in given]
    return made is not None and len(carried(evidence, made) or {}) == 2 and bool(each) and all(len(one) == 1 for one in each)
