"""The batch axis behind another one: what put it there, and what then takes the first axis for it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Node, Shape, elements

# Which axes of a tensor carry the batch.
Axes = Callable[[Edge], set[int]]


def batch_behind(evidence: Evidence, nodes: Iterable[Node], axes: Axes) -> tuple[Node, Shape, int, Node] | None:
    """Of nodes, nearest to the end first: what moved the batch behind another axis, its result, that axis, and the operation that lost it there."""
    flow = evidence.flow
    for reader in nodes:
        given = [(edge, axes(edge)) for edge in flow.into(reader.id)]
        given = [(edge, found) for edge, found in given if found]
        made = flow.out_of(reader.id)
        if len(given) != 1 or len(given[0][1]) != 1 or given[0][1] == {0} or not made or any(axes(edge) for edge in made):
            continue
        edge, (axis,) = given[0][0], given[0][1]
        while (before := _kept(evidence, edge, axis, axes)) is not None:
            edge = before
        around = {item.id for item in enclosing(evidence, reader)}
        outside = [item for item in enclosing(evidence, flow.node(edge.source)) if item.kind in ("layer", "op") and item.id not in around]
        return (outside[-1], edge.spec.shape or (), axis, reader) if outside else None
    return None


def enclosing(evidence: Evidence, node: Node) -> Iterator[Node]:
    """A node, and what it stands in, inner ones first."""
    yield node
    while node.parent:
        node = evidence.flow.node(node.parent)
        yield node


def _kept(evidence: Evidence, edge: Edge, axis: int, axes: Axes) -> Edge | None:
    """What a layer was given, where the batch was on the same axis already."""
    above = [one for one in evidence.flow.into(edge.source) if axes(one)]
    return above[0] if len(above) == 1 and axes(above[0]) == {axis} and evidence.flow.node(edge.source).kind == "layer" else None


def turned_around(node: ast.AST) -> ast.expr | None:
    """What an expression turns all axes of around: ``x.T``, ``x.transpose()``, or ``transpose(x)``."""
    if isinstance(node, ast.Attribute):
        return node.value if node.attr == "T" else None
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Attribute) or node.func.attr != "transpose":
        return None
    return node.func.value if not node.args else node.args[0] if len(node.args) == 1 else None


def takes_block(before: Shape, after: Shape) -> bool:
    """Whether the last size of a reshape is that of a block of positions, without the values that each of them has."""
    blocks = [elements(before[axis:-1]) for axis in range(1, len(before) - 2) if None not in before[axis:]]
    return (before[-1] or 1) > 1 and len(after) < len(before) and after[-1] in blocks


def rows_behind(evidence: Evidence, nodes: Iterable[Node], rows: int | None) -> tuple[Node, Shape, int, Node] | None:
    """The same by the number of the samples, where no second look tells which axes carry the batch."""
    return batch_behind(evidence, nodes, lambda edge: {i for i, size in enumerate(edge.spec.shape or ()) if size == rows})


__all__ = ["batch_behind", "enclosing", "rows_behind", "takes_block", "turned_around"]
