"""Sums and products over the samples of a batch whose result returns to each sample."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who, elements
from .balanced import meant
from .facts.mixing import SamplesReturn
from .mixing import SUMMED, carried, of_a_loss
from .registry import check

_SCALES = frozenset({"RealDiv", "Mul", "DivNoNan"})
_ADDS = frozenset({"AddV2", "Sub"})
_PRODUCTS = frozenset({"MatMul", "Einsum", "Tensordot", "Dot", "Vdot"})


@check(order=41)
def samples_contracted(evidence: Evidence) -> Iterator[Finding]:
    """Sums and matrix products over the samples, inside a model, with which each sample is then combined."""
    if evidence.where or "step" in evidence.facts:
        return
    told: set[str] = set()
    for node in evidence.flow.nodes:
        place = str(node.called)
        if node.kind != "op" or place in told or of_a_loss(evidence, node):
            continue
        made = next(iter(evidence.flow.out_of(node.id)), None)
        if made is None:
            continue
        single = _one_number(evidence, node, made)
        if not (single or _sums(evidence, node, made) or _multiplies(evidence, node, made)):
            continue
        reader = node if carried(evidence, made) else _met(evidence, node, single)
        if reader is not None and not meant(evidence, reader):
            given = _as_rows(evidence, evidence.flow.into(node.id)[0])
            told.add(place)
            fact = SamplesReturn(Who.of(node), given.spec.shape or (), Who.of(reader))
            yield Finding.of(SUMMED.id, "silent", fact, (node.id, reader.id), (given.id,), node.called)


def _sums(evidence: Evidence, node: Node, made: Edge) -> bool:
    given = evidence.flow.into(node.id)[:1]
    return bool(given) and node.op == "Sum" and set(carried(evidence, given[0]) or {}) == {0} and carried(evidence, made) == {}


def _multiplies(evidence: Evidence, node: Node, made: Edge) -> bool:
    """Whether a product of two matrices sums over an axis that carries the batch: it has two such axes fewer than its operands."""
    edges = evidence.flow.into(node.id)
    edges = edges * 2 if len(edges) == 1 else edges  # a matrix times itself
    if node.op not in ("MatMul", "Einsum") or len(edges) != 2 or any(len(edge.spec.shape or ()) != 2 for edge in (*edges, made)):
        return False
    axes = [carried(evidence, edge) for edge in (*edges, made)]
    return None not in axes and all(axes[:2]) and len(axes[0] or ()) + len(axes[1] or ()) - len(axes[2] or ()) == 2


def _one_number(evidence: Evidence, node: Node, made: Edge) -> bool:
    """Whether a product of two different tensors of the samples is one number for all of them: it sums over the batch and over all else."""
    edges = evidence.flow.into(node.id)
    if node.op not in _PRODUCTS or len(edges) != 2 or elements(made.spec.shape) != 1:
        return False
    rows = [_as_rows(evidence, edge) for edge in edges]
    return rows[0].id != rows[1].id and carried(evidence, made) == {} and all(carried(evidence, edge) for edge in edges)


def _as_rows(evidence: Evidence, edge: Edge) -> Edge:
    """A tensor as it was before it was reshaped for a product."""
    node = evidence.flow.node(edge.source)
    before = evidence.flow.into(node.id)
    return before[0] if node.kind == "op" and node.op == "Reshape" and before else edge


def _met(evidence: Evidence, node: Node, single: bool = False) -> Node | None:
    """The operation that combines the result with each sample; none if it is divided by a number before, as a mean is.

    ``single``: of one number too, where it is added to each sample.
    """
    pending, seen = [node.id], {node.id}
    while pending:
        for edge in evidence.flow.out_of(pending.pop()):
            reader = evidence.flow.node(edge.target)
            others = [carried(evidence, other) for other in evidence.flow.into(reader.id) if other.id != edge.id]
            after = next(iter(evidence.flow.out_of(reader.id)), None)
            if reader.kind != "op" or after is None or reader.id in seen or (reader.op in _SCALES and (single or not others)):
                continue
            # A branch that the whole batch takes, or one number of it: statistics, if unusual ones.
            alone = elements(edge.spec.shape) == 1
            if edge.spec.dtype == "bool" or (alone and (not single or (reader.op not in _ADDS and others))):
                continue
            if any(0 in (other or {}) for other in others):
                if 0 in (carried(evidence, after) or {}):
                    return reader
                continue
            seen.add(reader.id)
            pending.append(reader.id)
    return None
