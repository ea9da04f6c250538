"""Candidates for branches that are joined along their steps and have features of several sizes."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape
from ...rules.facts.branches import UnlikeBranches
from .edits import Made, of, setting, upstream

# The arguments that say how many features a layer gives.
_WIDTHS = ("units", "filters", "output_dim")


@of(UnlikeBranches)
def as_wide_as_the_other(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """The layer that gives a branch its features with as many as the other has: the narrower one first."""
    node, edges = evidence.failed, evidence.operands()
    shapes = [edge.spec.shape or () for edge in edges]
    if node is None or len(shapes) != 2:
        return
    if fact.axis is None:
        yield from _table(evidence, edges, shapes)
    if node.op != "Concatenate" or len({len(shape) for shape in shapes}) != 1 or len(shapes[0]) < 3:
        return
    axis = node.config.get("axis", -1)
    rank = len(shapes[0])
    if not isinstance(axis, int) or axis % rank == rank - 1:
        return
    apart = [i for i, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b and i != axis % rank]
    if apart != [rank - 1]:
        return
    for mine, other in sorted(((0, 1), (1, 0)), key=lambda pair: shapes[pair[0]][-1] or 0):
        (maker, key), wanted = _maker(evidence, evidence.flow.node(edges[mine].source), shapes[mine][-1]), shapes[other][-1]
        if maker is not None and wanted and wanted > 1:
            name = evidence.flow.node(edges[other].source).name
            why = f"Branches that are joined along axis {axis % rank} need features of one size."
            yield setting(maker, key, wanted, f", the size of {name}", why)


def _table(evidence: Evidence, edges: list[Edge], shapes: list[Shape]) -> Made:
    """A table that is added to every sample, such as one vector for each position: it has the features that the samples have."""
    for mine, other in ((0, 1), (1, 0)):
        table, whole = shapes[mine], shapes[other]
        if len(table) != len(whole) - 1 or whole[0] is not None or table[:-1] != whole[1:-1] or not whole[-1]:
            continue
        maker, key = _maker(evidence, evidence.flow.node(edges[mine].source), table[-1])
        if maker is not None:
            name = evidence.flow.node(edges[other].source).name
            yield setting(maker, key, whole[-1], f", the size of {name}", "It is added to every sample, feature by feature.")


def _maker(evidence: Evidence, node: Node, width: int | None) -> tuple[Node | None, str]:
    """The layer whose own number is the size of the last axis, through layers that keep it, and the argument."""
    for item in [node, *upstream(evidence, node)]:
        key = next((key for key in _WIDTHS if item.config.get(key) == width), "")
        if key and item.weights:
            return item, key
        given = next((edge.spec.shape for edge in evidence.flow.into(item.id)), None)
        if item.weights or not given or given[-1] != width:
            break
    return None, ""
