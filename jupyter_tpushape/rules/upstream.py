"""The nodes upstream of a node, and those that keep inner axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Flow, Node, Shape, Who, elements
from ..flow.observed import around
from ..graph import Opaque, Size, chain, value
from ..trace.axes import RECURRENT, recurs
from .facts.loss import Through
from .saved_models import LAYERS as SAVED_MODELS
from .words import ATTENTIONS, SLICES, axes_of


def ancestors(evidence: Evidence, start: str, rank: int = 0) -> Iterator[Node]:
    """Nodes upstream of ``start``, nearest first, through tensors with at least ``rank`` dimensions."""
    seen, pending = {start}, [start]
    while pending:
        current = pending.pop(0)
        for edge in evidence.flow.into(current):
            thin = edge.spec.shape is not None and len(edge.spec.shape) < rank
            if edge.source not in seen and edge.label not in ("labels", "weights") and not thin:
                seen.add(edge.source)
                pending.append(edge.source)
                yield evidence.flow.node(edge.source)


def from_outside(evidence: Evidence, model: str) -> list[Edge]:
    """The tensors that the layers of a model get from outside of it."""
    inside = {one.id for one in evidence.flow.nodes if one.parent == model}
    return [edge for edge in evidence.flow.edges if edge.target in inside and edge.source not in inside]


def unrelated(evidence: Evidence, one: Edge, other: Edge) -> bool:
    """Whether neither of two tensors is computed from the other, apart from operations on that one alone."""
    ends = []
    for edge in (one, other):
        node = evidence.flow.node(edge.source)
        while node.kind == "op" and len(given := evidence.flow.into(node.id)) == 1 and given[0].spec.shape == edge.spec.shape:
            node = evidence.flow.node(given[0].source)
        ends.append({node.id: None, **dict.fromkeys(item.id for item in ancestors(evidence, node.id))})
    return all(next(iter(first)) not in second for first, second in itertools.permutations(ends))


def whole_steps(evidence: Evidence, node: Node) -> tuple[Node, ...]:
    """The convolutions up to a node, first ones first, that step as far as their kernel is wide."""
    found = []
    for item in (node, *ancestors(evidence, node.id)):
        kernel, strides = _sizes(item.config.get("kernel_size")), _sizes(item.config.get("strides"))
        if "filters" in item.config and "Transpose" not in item.op and kernel == strides and min(kernel, default=1) > 1:
            found.append(item)
    return tuple(reversed(found)) if len(found) > 1 else ()


def steps_of(evidence: Evidence, node: Node, target: Shape, rows: Shape) -> Who | None:
    """The recurrent layer that returns as many steps as there are values for each of the target's."""
    count = next(iter(rows[0 if node.kind == "layer" else 1 :]), None)
    if not count or count < 2 or min((n or 0 for n in target), default=0) < 1 or elements(rows) != count * (elements(target) or 0):
        return None
    for item in ancestors(evidence, node.id, 2):
        both = item.op == "Bidirectional" and any(len(edge.spec.shape or ()) == 3 for edge in evidence.flow.out_of(item.id))
        if both or (recurs(item) and item.config.get("return_sequences")):
            return Who.of(item)
    return None


def size_behind(evidence: Evidence, edge: Edge, axis: int) -> tuple[Size, int]:
    """The size of an axis where its origin is known last, before code of the program's own, and how many times larger the code makes it."""
    have, size = (edge.spec.shape or ())[axis] or 0, evidence.origins.of(edge)[axis]
    for node in ancestors(evidence, edge.source, 3) if isinstance(size, Opaque) else ():
        before = next(iter(evidence.flow.out_of(node.id)), None)
        sizes = evidence.origins.of(before) if before is not None else ()
        small = (value(sizes[axis]) or 0) if axis < len(sizes) and chain(sizes[axis]) else 0
        if small:
            return (sizes[axis], have // small) if have % small == 0 else (size, 1)
    return size, 1


def _sizes(given: object) -> tuple[int, ...]:
    return tuple(given) if isinstance(given, (list, tuple)) else (given,) if isinstance(given, int) else ()


def channels_in_front(evidence: Evidence, node: Node) -> tuple[int, ...]:
    """One sample of the only input, where it is a square picture with its channels in front and ``node`` reads the last axis as channels."""
    shapes = [edge.spec.shape for item in evidence.flow.nodes if item.kind == "input" for edge in evidence.flow.out_of(item.id)]
    row = (shapes[0] or ())[1:] if shapes and len(set(shapes)) == 1 else ()
    last = node.config.get("data_format", "channels_last") == "channels_last"
    if not last or len(row) != 3 or None in row:
        return ()
    channels, height, width = (int(size or 0) for size in row)
    return (channels, height, width) if channels <= 4 < height == width else ()


def cause_of_axes(evidence: Evidence, predictions: Edge) -> tuple[Through, Node] | None:
    """The layer upstream that keeps surplus axes: a recurrent layer that returns sequences, or a grid without Flatten."""
    source = evidence.flow.node(predictions.source)
    for node in [source, *ancestors(evidence, source.id, 3)]:
        if node.op in ("Flatten", "GlobalAveragePooling2D", "GlobalMaxPooling2D", "GlobalAveragePooling1D", "GlobalMaxPooling1D"):
            return None
        if node.op in RECURRENT and node.config.get("return_sequences"):
            return "sequences", node
        if node.op == "Bidirectional":
            return "sequences", node
        if node.op in SAVED_MODELS:
            return "tokens", node
        if outer_product(evidence, node):
            return "product", node
        if node.op == "Embedding" or (axes_of(node.op) and node.op not in RECURRENT):
            return "grid", node
        if node.kind == "input":
            return "input", node
    return None


def outer_product(evidence: Evidence, node: Node) -> bool:
    """Whether a layer or operation multiplies its two inputs over an axis of size 1 instead of multiplying one vector per sample with another."""
    given = [edge.spec.shape or () for edge in evidence.flow.into(node.id)]
    made = {edge.spec.shape for edge in evidence.flow.out_of(node.id)}
    return (
        node.kind in ("layer", "op")
        and len(given) == 2
        and all(len(shape) == 3 and shape[1] == 1 and shape[2] != 1 for shape in given)
        and any(shape is not None and shape[1:] == (given[0][2], given[1][2]) for shape in made)
    )


def takes_one(flow: Flow, node: Node) -> bool:
    """Whether an index, or a function that can be one, leaves out an axis of the tensor that it receives."""
    given, made = around(flow, node)
    index = node.op == "Lambda" or (node.kind == "op" and node.op.lower() in SLICES)
    return index and len(given) == 1 and bool(made) and all(len(shape) == len(given[0]) - 1 for shape in made)


def without_steps(flow: Flow, node: Node) -> list[Node]:
    """The nodes that give an attention a vector per sample."""
    edges = [edge for edge in flow.into(node.id) if edge.label in ("", "query", "value", "key")] if node.op in ATTENTIONS else []
    return [flow.node(edge.source) for edge in edges if edge.spec.shape and len(edge.spec.shape) == 2]


def lost_batch(evidence: Evidence, edges: list[Edge]) -> tuple[str, str]:
    """Custom code whose output has no batch axis (which is unknown while a model is built), and the recurrent layer before it."""
    giver = evidence.flow.node(edges[0].source) if edges else None
    shape = edges[0].spec.shape if edges else None
    before = [edge for edge in evidence.flow.into(giver.id) if edge.spec.shape] if giver is not None else []
    open_before = bool(before) and all((edge.spec.shape or (0,))[0] is None for edge in before)
    if giver is None or giver.family != "own" or not open_before or shape is None or shape[:1] == (None,):
        return "", ""
    for edge in before:
        node = evidence.flow.node(edge.source)
        if (node.op in RECURRENT or node.op == "Bidirectional") and len(edge.spec.shape or ()) == 2:
            return giver.name, node.name
    return giver.name, ""


_FOLLOWED = 256
# What sets the sizes of its axes itself, whatever sizes it receives.
_SETS = ("reshape", "transpose", "segment")


def maker_of(evidence: Evidence, edge: Edge, axis: int) -> Node:
    """The node that set the size of an axis: the nearest one upstream whose inputs have a different size there, or lead to several such nodes."""
    return made_by(evidence, edge, axis)[0]


def made_by(evidence: Evidence, edge: Edge, axis: int) -> tuple[Node, int]:
    """The node that set the size of an axis, and which of its axes that is."""
    makers: dict[str, list[tuple[Node, int]]] = {}
    running = set()

    def found(edge: Edge, axis: int) -> list[tuple[Node, int]]:
        if edge.id in makers:
            return makers[edge.id]
        node, shape = evidence.flow.node(edge.source), edge.spec.shape or ()
        makers[edge.id] = [(node, axis)]
        running.add(edge.id)
        came = [(one, _before(one.spec.shape or (), shape, axis)) for one in evidence.flow.into(node.id) if one.id not in running]
        same = [(one, at) for one, at in came if at is not None]
        if same and len(makers) < _FOLLOWED and not node.op.lower().startswith(_SETS):
            above = {maker.id: (maker, place) for one, at in same for maker, place in found(one, at)}
            if len(above) == 1:
                makers[edge.id] = list(above.values())
        running.discard(edge.id)
        return makers[edge.id]

    return found(edge, axis)[0]


def _before(came: Shape, made: Shape, axis: int) -> int | None:
    if len(came) == len(made):
        return axis if came[axis] == made[axis] else None
    longer = [at for at, size in enumerate(made) if size != 1]
    if [at for at, size in enumerate(came) if size != 1] != [*range(len(came))] or [made[at] for at in longer] != [*came] or axis not in longer:
        return None
    return longer.index(axis)
