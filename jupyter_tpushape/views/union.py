"""Two programs as one flow: common nodes appear once, and added, removed and changed nodes are marked."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..flow import Edge, Flow, Node, show_shape
from ..flow.wire import Change, Mark
from ..report import Report
from .layers import placement_of
from .matching import paired


def united(
    before: Flow, after: Flow, same: Mapping[str, str], listed: frozenset[str], changes: Mapping[str, Mark]
) -> tuple[Flow, dict[str, Mark], dict[str, Mark]]:
    """The flow of both, with marks of nodes and of edges by id.

    Args:
        before: the one flow; what only it has gets an id of its own.
        after: the other, whose ids are kept.
        same: for a layer's id in ``before`` its id in ``after``; pairs stand in the same order in both.
        listed: the kinds of nodes that ``same`` speaks of; others are paired here.
        changes: the marks of what both have otherwise, by id in ``after``.
    """
    ends = [[node for node in flow.nodes if node.kind not in listed] for flow in (before, after)]
    home = {**same, **{ends[0][i].id: ends[1][j].id for i, j in paired(*ends)}}
    taken = set(home.values())
    ids = {node.id for node in after.nodes}
    marks = {node.id: Mark("added") for node in after.nodes if node.id not in taken}
    for node in before.nodes:
        if node.id not in home:
            home[node.id] = _free(f"-{node.id}", ids)
            marks[home[node.id]] = Mark("removed")
    marks.update(changes)
    nodes = [_noted(node, marks.get(node.id)) for node in _merged(before, after, same, home, marks)]
    edges, edge_marks = _edges(before, after, home)
    return Flow(nodes, edges, after.framework, after.facts), marks, edge_marks


#: What became of a part, told without colour.
SIGNS = {"added": "+", "removed": "−", "changed": "±"}


def signed(report: Report) -> Flow:
    """The flow with the sign of its mark before each name, where the report is a comparison."""
    marks = report.difference.nodes if report.difference is not None else {}
    nodes = [
        msgspec.structs.replace(node, name=f"{SIGNS[marks[node.id].state]} {node.name or node.op}") if node.id in marks else node for node in report.flow.nodes
    ]
    return Flow(nodes, report.flow.edges, report.flow.framework, report.flow.facts) if marks else report.flow


def _free(wish: str, taken: set[str]) -> str:
    while wish in taken:
        wish = f"-{wish}"
    taken.add(wish)
    return wish


def _merged(before: Flow, after: Flow, same: Mapping[str, str], home: Mapping[str, str], marks: Mapping[str, Mark]) -> list[Node]:
    waiting: list[Node] = []
    ahead: dict[str, list[Node]] = {}
    for node in before.nodes:
        at = home[node.id]
        if node.id in same:
            ahead[at] = waiting
            waiting = []
        elif at in marks and marks[at].state == "removed":
            waiting.append(msgspec.structs.replace(node, id=at, parent=home.get(node.parent, "")))
    return [one for node in after.nodes for one in (*ahead.get(node.id, ()), node)] + waiting


def _noted(node: Node, mark: Mark | None) -> Node:
    if mark is None:
        return node
    said = [f"{change.what} {change.before} → {change.after}" for change in mark.changes]
    words = f"{SIGNS[mark.state]} {'; '.join(said) or mark.state}"
    return msgspec.structs.replace(node, note=" · ".join(filter(None, (words, node.note))))


def _edges(before: Flow, after: Flow, home: Mapping[str, str]) -> tuple[list[Edge], dict[str, Mark]]:
    exact: dict[tuple[str, str, str], Edge] = {}
    loose: dict[tuple[str, str], Edge] = {}
    for edge in before.edges:
        exact.setdefault((home[edge.source], home[edge.target], edge.label), edge)
        loose.setdefault((home[edge.source], home[edge.target]), edge)
    marks: dict[str, Mark] = {}
    met: set[str] = set()
    for edge in after.edges:
        old = exact.get((edge.source, edge.target, edge.label)) or loose.get((edge.source, edge.target))
        if old is None or old.id in met:
            marks[edge.id] = Mark("added")
            continue
        met.add(old.id)
        pairs = [
            ("shape", show_shape(old.spec.shape), show_shape(edge.spec.shape)),
            ("dtype", old.spec.dtype, edge.spec.dtype),
            ("replicas", placement_of([old]), placement_of([edge])),
        ]
        changes = tuple(Change(what, was, now) for what, was, now in pairs if was != now)
        if changes:
            marks[edge.id] = Mark("changed", changes)
    ids = {edge.id for edge in after.edges}
    edges = list(after.edges)
    for edge in before.edges:
        if edge.id not in met:
            one = msgspec.structs.replace(edge, id=_free(f"-{edge.id}", ids), source=home[edge.source], target=home[edge.target], status="ok")
            marks[one.id] = Mark("removed")
            edges.append(one)
    return edges, marks
