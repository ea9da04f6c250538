"""Margins of a loss that are taken of sums over the whole batch."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .facts.margins import MarginOfSums
from .mixing import SUMMED, carried
from .registry import check

_MARGINS = ("Maximum", "Relu", "Softplus")
_MEANS = ("Mean", "ReduceMean")


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
        whole = given[0] if len(given) == 1 and node.op in ("Sum", "ReduceSum") else None
        if whole is not None and len(whole.spec.shape or ()) > 1 and (carried(evidence, whole) or {}).get(0) == 1:
            yield whole
        else:
            pending += given
