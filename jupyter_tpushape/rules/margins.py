"""Margins and distances of a loss that are taken of sums over the whole batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .facts.loss_silent import DistanceOverBatch, MarginOfSums
from .mixing import SUMMED, carried, of_a_loss
from .registry import check

_MARGINS = ("Maximum", "Relu", "Softplus")
_MEANS = ("Mean", "ReduceMean")
_SUMS = ("Sum", "ReduceSum")
# By a small number, so that the root has a gradient.
_RAISED = ("AddV2", "Add", "Maximum", "Max")
_SQUARES = frozenset({"Square", "SquaredDifference", "Pow", "IntegerPow", "Mul", "Multiply"})
_DIFFERENCES = frozenset({"Sub", "Subtract", "SquaredDifference"})


@check(order=41)
def margin_of_sums(evidence: Evidence) -> Iterator[Finding]:
    """A margin of single numbers that are sums over everything, of which a mean is taken: it was to have one value for each sample."""
    for node in evidence.flow.nodes if not evidence.where else ():
        made, given = next(iter(evidence.flow.out_of(node.id)), None), evidence.flow.into(node.id)
        if node.op not in _MARGINS or made is None or made.spec.shape != () or evidence.flow.node(made.target).op not in _MEANS:
            continue
        found = {whole.target: whole for edge in given for whole in _sums(evidence, edge)}
        sums = [found[one.id] for one in evidence.flow.nodes if one.id in found]
        if len(sums) > 1:
            totals = [evidence.flow.node(edge.target) for edge in sums]
            fact = MarginOfSums(tuple(map(Who.of, totals)), tuple(edge.spec.shape or () for edge in sums), Who.of(node))
            nodes, place = (*(one.id for one in totals), node.id), totals[0].called or node.called
            yield Finding.of(SUMMED.id, "silent", fact, nodes, tuple(edge.id for edge in sums), place)


def _sums(evidence: Evidence, edge: Edge) -> Iterator[Edge]:
    """What the sums over everything that a single number is computed from add up, where that has a row for each sample."""
    pending, seen = [edge], set()
    while pending:
        one = pending.pop()
        node: Node = evidence.flow.node(one.source)
        if one.spec.shape != () or node.id in seen or node.kind != "op":
            continue
        seen.add(node.id)
        given = evidence.flow.into(node.id)
        whole = given[0] if len(given) == 1 and node.op in _SUMS else None
        if whole is not None and len(whole.spec.shape or ()) > 1 and (carried(evidence, whole) or {}).get(0) == 1:
            yield whole
        else:
            pending += given


@check(order=41)
def distance_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Roots of squared differences that are summed over the samples alone, in a loss: one distance for each value, not for each sample."""
    for node in evidence.flow.nodes if not evidence.where else ():
        if node.op != "Sqrt" or not of_a_loss(evidence, node):
            continue
        total = _before(evidence, _before(evidence, node, _RAISED) or node, _SUMS)
        whole = next(iter(evidence.flow.into(total.id)), None) if total is not None else None
        shape = (whole.spec.shape or ()) if whole is not None else ()
        made = next(iter(evidence.flow.out_of(total.id)), None) if total is not None else None
        if total is None or whole is None or made is None or len(shape) < 2 or (carried(evidence, whole) or {}).get(0) != 1:
            continue
        square = evidence.flow.node(whole.source)
        differs = square.op in _DIFFERENCES or _before(evidence, square, _DIFFERENCES) is not None
        if square.op in _SQUARES and differs and made.spec.shape in (shape[1:], (1, *shape[1:])) and shape[0] != shape[1]:
            fact = DistanceOverBatch(Who.of(total), shape, Who.of(node))
            yield Finding.of(SUMMED.id, "silent", fact, (total.id, node.id), (whole.id,), total.called or node.called)


def _before(evidence: Evidence, node: Node, ops: Collection[str]) -> Node | None:
    """The operation of these kinds whose result a node works on."""
    found = [evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id)]
    return next((one for one in found if one.op in ops), None)
