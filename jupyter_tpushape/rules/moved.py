"""The batch axis behind another one, or a second time: what put it there, and what then takes the first axis for it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Shape, Who, elements
from .facts.mixing import EveryIndex, EveryPair
from .mixing import PAIRWISE, every_index, looked_up
from .upstream import ancestors
from .words import MERGES, PAIRING

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
        whole = flow.into(outside[-1].id) if outside else []
        if whole and not any(map(axes, whole)):
            return None  # it was given no batch, so a size of its result is the batch's by chance
        return (outside[-1], edge.spec.shape or (), axis, reader) if outside else None
    return None


def enclosing(evidence: Evidence, node: Node) -> Iterator[Node]:
    """A node, and what it stands in, inner ones first."""
    yield node
    while node.parent:
        node = evidence.flow.node(node.parent)
        yield node


def _kept(evidence: Evidence, edge: Edge, axis: int, axes: Axes) -> Edge | None:
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
    """Whether the last size of a reshape is that of a block of positions."""
    blocks = [elements(before[axis:-1]) for axis in range(1, len(before) - 2) if None not in before[axis:]]
    return (before[-1] or 1) > 1 and len(after) < len(before) and after[-1] in blocks


def rows_behind(evidence: Evidence, nodes: Iterable[Node], rows: int | None) -> tuple[Node, Shape, int, Node] | None:
    """The same by the number of the samples, where no second look tells which axes carry the batch."""
    return batch_behind(evidence, nodes, lambda edge: {i for i, size in enumerate(edge.spec.shape or ()) if size == rows})


def crossed_before(evidence: Evidence, node: Node) -> Finding | None:
    """The samples were paired before: by a broadcast, or by a lookup."""
    if _whole(evidence):
        return None  # pairs of rows are meant where another tensor has a number for each row of the data
    # What an operation was given carries the batch on two axes.
    twice = any(len(one.grows or ()) == 2 for one in evidence.given) or _open_twice(evidence)
    crossed = (paired_before(evidence, node) or looked_up_before(evidence, node)) if node.kind == "layer" or twice else None
    if crossed is None:
        return None
    return Finding.of(PAIRWISE.id, "error", crossed[1], (crossed[0].id, node.id), location=crossed[0].called)


def _whole(evidence: Evidence) -> bool:
    rows, batch = getattr(evidence.sample, "rows", None), getattr(evidence.sample, "batch", None)
    lasts = sorted((one.spec.shape or (0,))[-1] or 0 for one in evidence.given)
    return bool(rows and batch and rows != batch and lasts == sorted((rows, batch)))


def _open_twice(evidence: Evidence) -> bool:
    return any((one.spec.shape or ()).count(None) == 2 for one in evidence.given)


def _crosswise(evidence: Evidence, item: Node, made: Shape) -> tuple[Shape, Shape] | None:
    """The two operands of a broadcast where one has size 1 on the first axis, and its unknown size where the other, with the samples first, has size 1."""
    shapes = [edge.spec.shape for edge in evidence.flow.into(item.id) if edge.spec.shape]
    if item.kind != "op" or item.op not in PAIRING or len(shapes) != 2 or {len(shape) for shape in shapes} != {len(made)}:
        return None
    first, other = sorted(shapes, key=lambda shape: shape[0] is not None)
    behind = [axis for axis, size in enumerate(other) if size is None]
    fits = first.count(None) == 1 and first[0] is None and other[0] == 1 and len(behind) == 1 and first[behind[0]] == 1
    return (first, other) if fits else None


def _spread(evidence: Evidence, item: Node, made: Shape) -> tuple[Shape, Shape] | None:
    """The two operands of a broadcast, of different rank, that both begin with the samples, of unknown size, which the result has on two axes."""
    shapes = [edge.spec.shape for edge in evidence.flow.into(item.id) if edge.spec.shape]
    if item.kind != "op" or item.op not in PAIRING | MERGES or len(shapes) != 2 or made.count(None) != 2:
        return None
    gap = abs(len(shapes[0]) - len(shapes[1]))
    fits = gap and made[gap] is None and all(shape[0] is None and shape.count(None) == 1 for shape in shapes)
    return (shapes[0], shapes[1]) if fits else None


def looked_up_before(evidence: Evidence, node: Node) -> tuple[Node, EveryIndex] | None:
    """The lookup upstream of a failure that gave a tensor the batch on a second axis: one of no known size, or of one that grows with it."""
    grown = [one.grows for one in evidence.given if len(one.grows or ()) == 2]
    for item in ancestors(evidence, node.id):
        edges = looked_up(evidence, item)
        made = next((edge.spec.shape for edge in evidence.flow.out_of(item.id) if edge.spec.shape), None)
        values = edges[0].spec.shape if edges else None
        if not made or not values or len(made) <= len(values) or made[1] != made[0] != 1 or made[0] != values[0]:
            continue
        open_axes = made[1] is None and values.count(None) == 1
        fact = every_index(item, edges, made) if open_axes or grown else None
        if fact is not None:
            return item, fact
    return None


def paired_before(evidence: Evidence, node: Node) -> tuple[Node, EveryPair] | None:
    """The operation upstream of a failure whose two operands both start with the batch and were broadcast against each other."""
    batch = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
    twice = any(len(one.grows or ()) == 2 for one in evidence.given)
    for item in ancestors(evidence, node.id) if (batch and batch > 1) or _open_twice(evidence) else ():
        made = next((edge.spec.shape for edge in evidence.flow.out_of(item.id) if edge.spec.shape), None)
        crosswise = _crosswise(evidence, item, made) if made and made[0] is None else None
        if crosswise is not None:
            return item, EveryPair(Who.of(item), *crosswise)
        spread = _spread(evidence, item, made) if made and made[0] is None else None
        if spread is not None:
            return item, EveryPair(Who.of(item), *spread)
        if item.kind != "op" or item.op not in PAIRING or not made or made[0] != batch:
            continue
        if any(edge.spec.shape == made for edge in evidence.flow.into(item.id)):
            continue  # it came in so
        for edge in evidence.flow.into(item.id):
            one = edge.spec.shape or ()
            gap = len(made) - len(one)
            if one and gap and one[0] == made[gap] == batch:
                # What it met need not come from the data: one random number a sample.
                others = [other.spec.shape for other in evidence.flow.into(item.id) if other is not edge]
                return item, EveryPair(Who.of(item), one, (others[0] if others else None) or (batch, *[1] * (len(made) - 1)))
            # What met it came from no node, and has one number a sample on an axis where each sample had one value.
            widened = [i for i, (a, b) in enumerate(zip(one, made, strict=False)) if a != b] if len(one) == len(made) else []
            if len(widened) == 1 and twice and widened[0] and (one[widened[0]], made[widened[0]]) == (1, batch) and one[0] == batch:
                other = next((edge.spec.shape for edge in evidence.flow.into(item.id) if edge.spec.shape and edge.spec.shape != one), None)
                return item, EveryPair(Who.of(item), one, other or (batch, *[1] * (len(made) - widened[0] - 1)))
    return None
