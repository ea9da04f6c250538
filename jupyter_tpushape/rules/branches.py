"""Tensors that are merged: which branch has another shape than the others, and where its size comes from."""

from __future__ import annotations

import itertools

from ..examine.evidence import Evidence
from ..flow import Edge, Fact, Node, Shape, Who
from ..graph import Axis, Cause, Size, cause, odd, unlike, value, written
from ..graph import axes as axes_of
from .facts.branches import Branch, DotAxes, SwappedBranch, UnlikeBranches
from .facts.mixing import AttentionOverBatch, BatchLost
from .reasons import exchanged
from .registry import rule
from .upstream import ancestors, without_steps
from .words import MERGES

_SOURCE = "Keras' input checks and TensorFlow's shape inference, applied to the recorded inputs"
_merge = """
def build():
    i = keras.Input((8, 8, 3)); a = L.Conv2D(4, 3, padding="same")(i); b = %s; return keras.Model(i, L.Add()([a, b]))
def data():
    return np.zeros((4, 8, 8, 3), "float32"), None
"""
MERGE = rule(
    "merge-shapes", "Merged branches have different shapes", severity="error", source=_SOURCE,
    fails=_merge % "L.MaxPooling2D()(a)", passes=_merge % "L.Conv2D(4, 1)(i)",
)  # fmt: skip


def merge_shapes(evidence: Evidence, node: Node, edges: list[Edge], _shape: Shape | None) -> tuple[str, Fact] | None:
    """The finding for a layer that merges branches."""
    if node.op not in MERGES or len(edges) < 2:
        return None
    dot = _dot(evidence, node, edges)
    if dot is not None:
        return MERGE.id, dot
    if _agree([edge.spec.shape or () for edge in edges], node.op == "Concatenate", int(node.config.get("axis", -1))):
        return None
    lost = _lost(evidence, edges)
    if lost is not None:
        return "batch-axis-lost", BatchLost(Who.of(lost[0]), lost[1].spec.shape or (), None, Who.of(node))
    ranks = [len(edge.spec.shape or ()) for edge in edges]
    for edge, rank in zip(edges, ranks, strict=True):
        giver = evidence.flow.node(edge.source)
        vectors = [one.spec.shape for one in evidence.flow.into(giver.id) if one.source in {given.id for given in without_steps(evidence.flow, giver)}]
        if vectors and rank < max(ranks):
            return "softmax-over-batch", AttentionOverBatch(Who.of(giver), vectors[0] or ())  # it lacks the steps that the others have
    branches = tuple(Branch(Who.of(evidence.flow.node(edge.source)), edge.spec.shape) for edge in edges)
    axis = int(node.config.get("axis", -1)) if node.op == "Concatenate" else None
    swapped = next(filter(None, (swapped_axes(evidence, *both) for both in itertools.permutations(edges, 2))), None) if len(edges) == 2 else None
    if swapped is not None:
        mine, other, place, at = swapped
        givers = evidence.flow.node(other.source).name, evidence.flow.node(mine.source).name
        return MERGE.id, SwappedBranch(Who.of(node), givers, (other.spec.shape or (), mine.spec.shape or ()), place, at)
    strange, why = _odd_branch(evidence, edges, axis)
    asked = exchanged(evidence, edges)
    if asked is not None:
        return MERGE.id, UnlikeBranches(Who.of(node), branches, strange, axis, asked=asked)
    made = _made_of(evidence, edges, axis) if why is None else ()
    return MERGE.id, UnlikeBranches(Who.of(node), branches, strange, axis, why, made, gate=_gate(evidence, edges) if axis is None else "")


def _agree(shapes: list[Shape], joins: bool, axis: int) -> bool:
    rank = len(shapes[0])
    if len({len(shape) for shape in shapes}) > 1 or not rank or any(None in shape[1:] for shape in shapes):
        return False
    free = axis % rank if joins else -1
    return all(len(({*sizes} - {1}) if not joins else {*sizes}) < 2 for place, sizes in enumerate(zip(*shapes, strict=True)) if place not in (0, free))


def swapped_axes(evidence: Evidence, mine: Edge, other: Edge) -> tuple[Edge, Edge, int, int] | None:
    """Two tensors whose shapes differ in two swapped axes, one of the data's, and where it belongs and is in the first of them."""
    shape, beside = mine.spec.shape or (), other.spec.shape or ()
    apart = [axis for axis, (a, b) in enumerate(zip(shape, beside, strict=False)) if a != b]
    if len(shape) != len(beside) or len(apart) != 2 or 0 in apart or [shape[i] for i in apart] != [beside[i] for i in apart[::-1]]:
        return None
    sizes, kept = evidence.origins.of(mine), evidence.origins.of(other)
    for axis, place in (apart, apart[::-1]):
        data = {one.axis for one in axes_of(sizes[place]) if one.axis}
        if data == {axis} == {one.axis for one in axes_of(kept[axis]) if one.axis}:
            return mine, other, axis, place
    return None


def _lost(evidence: Evidence, edges: list[Edge]) -> tuple[Node, Edge] | None:
    """What makes a tensor of known rows from one of the batch, where the other branches have the batch first."""
    rows = [edge.spec.shape[:1] for edge in edges if edge.spec.shape]
    odd_ones = [edge for edge in edges if edge.spec.shape and (edge.spec.shape[0] or 1) > 1]
    if len(odd_ones) != 1 or len(rows) != len(edges) or rows.count((None,)) != len(edges) - 1:
        return None
    maker = evidence.flow.node(odd_ones[0].source)
    while maker.kind != "input" and (above := [edge for edge in evidence.flow.into(maker.id) if edge.spec.shape]):
        made = {edge.spec.shape for edge in evidence.flow.out_of(maker.id)}
        if any(edge.spec.shape and edge.spec.shape[0] is None and edge.spec.shape[1:] in made for edge in above):
            return maker, odd_ones[0]
        maker = evidence.flow.node(above[0].source)
    return None


def _gate(evidence: Evidence, edges: list[Edge]) -> str:
    for vector, whole in itertools.permutations(edges, 2) if len(edges) == 2 else ():
        small, large = vector.spec.shape or (), whole.spec.shape or ()
        pooled = [node for node in ancestors(evidence, vector.source) if node.op.startswith("Global")]
        same = any(edge.source == whole.source for node in pooled for edge in evidence.flow.into(node.id))
        if same and len(small) == 2 < len(large) and large[-1] and small[-1] != large[-1]:
            return evidence.flow.node(vector.source).name
    return ""


def _dot(evidence: Evidence, node: Node, edges: list[Edge]) -> DotAxes | None:
    axes, shapes = node.config.get("axes"), [edge.spec.shape for edge in edges]
    pair = [axes, axes] if isinstance(axes, int) else list(axes) if isinstance(axes, (list, tuple)) else []
    if node.op != "Dot" or len(pair) != 2 or len(shapes) != 2 or not all(shapes):
        return None
    one, other = shapes[0] or (), shapes[1] or ()
    if not all(isinstance(axis, int) and -len(shape) <= axis < len(shape) for axis, shape in zip(pair, (one, other), strict=True)):
        return None
    first, second = pair[0] % len(one), pair[1] % len(other)
    if one[first] == other[second]:
        return None
    alike = [(i, j) for i in range(1, len(one)) for j in range(1, len(other)) if one[i] == other[j] is not None]
    # Over an axis of size 1 nothing is summed.
    alike = [(i, j) for i, j in alike if one[i] != 1]
    if len(alike) > 1:  # the pair that keeps one of the axes as written
        alike = [(i, j) for i, j in alike if i == first or j == second]
    givers = [evidence.flow.node(edge.source).name for edge in edges]
    return DotAxes(Who.of(node), (givers[0], givers[1]), (one, other), (first, second), alike[0] if len(alike) == 1 else None)


def size_cause(evidence: Evidence, node: Node, edges: list[Edge]) -> Cause | None:
    """Why the sizes of tensors of one rank, which an operation combines, differ."""
    tensors = [edge for edge in edges if edge.spec.shape and len(edge.spec.shape) > 2]
    if len(tensors) < 2 or len({len(edge.spec.shape or ()) for edge in tensors}) > 1 or node.op.startswith(("MatMul", "BatchMatMul", "Einsum")):
        return None
    return _odd_branch(evidence, tensors, -1 if node.op.lower().startswith("concat") else None)[1]


def _odd_branch(evidence: Evidence, edges: list[Edge], joined: int | None) -> tuple[int, Cause | None]:
    """Which branch differs and why: its rank differs from most others, or its size differs at the first axis that can be explained."""
    sizes = [evidence.origins.of(edge) for edge in edges]
    ranks = [len(one) for one in sizes]
    if len(set(ranks)) > 1:
        usual = max(ranks, key=ranks.count)
        return next(i for i, rank in enumerate(ranks) if rank != usual or (ranks.count(usual) == 1 and i)), None
    axes = [axis for axis in range(1, ranks[0]) if _compared([one[axis] for one in sizes], axis, joined, ranks[0])]
    for axis in axes:
        here = [one[axis] for one in sizes]
        strange = odd(here)
        if strange is not None:
            other = next(size for i, size in enumerate(here) if i != strange)
            return strange, cause(here[strange], other)

    def apart(one: Edge) -> list[int | None]:
        shape = list(one.spec.shape or ())
        return [n for i, n in enumerate(shape) if joined is None or i != joined % len(shape)]

    first = next((i for i, edge in enumerate(edges) if apart(edge) != apart(edges[0])), 1)
    ways = ([one[axis] for one in sizes] for axis in axes)
    return first, next((found for here in ways if len({value(size) for size in here}) > 1 and (found := unlike(here))), None)


def _compared(here: list[Size], axis: int, joined: int | None, rank: int) -> bool:
    """Whether the sizes of an axis must be equal: not along the axis of a concatenation, nor where one of them is broadcast."""
    if joined is not None:
        return axis != joined % rank
    return len({value(size) for size in here} - {1}) > 1


def _made_of(evidence: Evidence, edges: list[Edge], joined: int | None) -> tuple[str, ...]:
    sizes = [evidence.origins.of(edge) for edge in edges]
    least = min(map(len, sizes))
    first = 1
    if len({len(one) for one in sizes}) != 1:
        if joined is not None or not least or all(edge.spec.shape and edge.spec.shape[0] is None for edge in edges):
            return ()
        # A table without a batch axis is compared with what it is added to from the last axis on.
        sizes, first = [one[-least:] for one in sizes], 0
    for axis in range(first, len(sizes[0])):
        here = [one[axis] for one in sizes]
        if len({value(size) for size in here}) > 1 and _compared(here, axis, joined, len(sizes[0])):
            data = dict.fromkeys((size.who, size.axis, size.size) for size in here if isinstance(size, Axis))
            if len(data) == len(here) == len({who for who, *_ in data}):
                return tuple(f"{who}: axis {place} has size {n}" for who, place, n in data)
            return tuple(dict.fromkeys(filter(None, map(written, here))))
    return ()
