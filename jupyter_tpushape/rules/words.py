"""Wording for shapes, nodes and sizes: the names of a layer's axes, and two shapes side by side with the differences marked."""

from __future__ import annotations

import re

from ..flow import Edge, Fact, Flow, Node, Shape, Side, Who, show_shape
from ..graph import Cause
from ..trace.axes import GRID, RECURRENT, SEQUENCE, SPATIAL

_MOVING_PICTURES = ("batch", "time", "height", "width", "channels")
# Operations that slice a tensor, by their names in lower case.
# Operations that stack tensors along an axis of their own.
STACKS = frozenset({"Pack", "Stack", "stack"})
SLICES = ("stridedslice", "slice", "getitem")
ATTENTIONS = frozenset({"MultiHeadAttention", "Attention", "AdditiveAttention", "GroupQueryAttention", "GroupedQueryAttention"})
# Operations that broadcast two tensors against each other.
PAIRING = frozenset({
    "Sub", "AddV2", "Add", "Mul", "RealDiv", "SquaredDifference", "Maximum", "Minimum", "Equal", "Less", "Greater", "LessEqual", "GreaterEqual", "NotEqual",
    "Pow", "DivNoNan", "SelectV2",
})  # fmt: skip
MERGES = frozenset({"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"})


def axes_of(op: str) -> tuple[str, ...]:
    """The axes that a layer class works on, by the names that Keras gives them."""
    if op in RECURRENT:
        return SEQUENCE[3]
    if "LSTM2D" in op:
        return _MOVING_PICTURES
    if op.startswith((*SPATIAL, "SpatialDropout")):
        for suffix, rank in (("1D", 3), ("2D", 4), ("3D", 5)):
            if suffix in op:
                return GRID[rank]
    return ()


def tokens(shape: Shape | None) -> tuple[str, ...]:
    return ("...",) if shape is None else tuple("?" if n is None else str(n) for n in shape)


def blamed(flow: Flow, fact: Fact | None) -> tuple[str, ...]:
    """The node that caused a wrong size, if the fact knows it."""
    cause: Cause | None = getattr(fact, "cause", None)
    return tuple(node.id for node in flow.nodes if isinstance(cause, Cause) and node.name == cause.who)[:1]


def because(cause: Cause | None, merged: bool = True) -> str:
    """Why a size is not the expected one, in a sentence or two; ``""`` if that is unknown. ``merged``: another branch has the expected one."""
    if cause is None:
        return ""
    goes = f"{cause.before} → {cause.after}"
    if cause.kind == "lost":
        rest = f"{cause.before} is odd" if cause.stride == 2 else f"{cause.before} is not divisible by {cause.stride}"
        back = f", then back to {cause.back}" if cause.back is not None else ""
        even = f" A size of {' or '.join(map(str, cause.fits))} instead of {cause.size} divides evenly." if cause.fits else ""
        return f"{rest} at {cause.who}: {goes}{back}.{even}"
    if cause.kind == "unpadded":
        more = f" and {count(cause.more, 'more layer')}" if cause.more else ""
        return f'{cause.who}{more} {"lack" if cause.more else "lacks"} padding="same": {goes}.'
    if cause.kind == "strided":
        beside = ", and the other branch does not do the same" if merged else ""
        return f"{cause.who} uses a stride of {cause.stride}: {goes}. No later layer undoes it{beside}."
    if cause.kind == "factor":
        return f"{cause.who} turns {goes}, but the stride that it undoes divides by {cause.stride}: {cause.before} → {cause.before * cause.stride}."
    if cause.kind == "cropped":
        return f"{cause.who} crops {goes}, but {cause.back} is the size of the other branch." if merged else f"{cause.who} crops {goes}, not {cause.back}."
    return f"{cause.who} turns an input of size {cause.size} into {cause.before} values; {cause.after} values require an input of size {cause.fits[0]}."


def differing(one: Shape, other: Shape) -> tuple[int, ...]:
    """The axes of ``one`` that differ from the other shape; if ``one`` is longer, the axes that the other shape lacks."""
    if len(one) != len(other):
        return _extra(list(tokens(one)), list(tokens(other)))
    return tuple(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a is not None and b is not None and a != b)


def pair(expected: Shape | None, found: Shape | None, *, names: bool = True) -> tuple[Side, Side]:
    """Two shapes as sides, with the differing axes marked; an unknown axis matches any size."""
    left, right = list(tokens(expected)), list(tokens(found))
    if names and expected and expected[0] is None:
        left[0] = "batch"
    if expected is not None and found is not None and len(expected) == len(found):
        differs = differing(expected, found)
        return Side(_join(left), tuple(left), differs), Side(_join(right), tuple(right), differs)
    return Side(_join(left), tuple(left), _extra(left, right)), Side(_join(right), tuple(right), _extra(right, left))


def _extra(mine: list[str], other: list[str]) -> tuple[int, ...]:
    """The axes of the longer shape that the shorter one lacks, matched from the right and then from the left."""
    surplus = len(mine) - len(other)
    if surplus <= 0:
        return ()
    tail = 0
    while tail < len(other) and (mine[-1 - tail] == other[-1 - tail] or "?" in (mine[-1 - tail], other[-1 - tail])):
        tail += 1
    start = len(mine) - tail - surplus
    return tuple(range(max(0, start), len(mine) - tail))


def _join(parts: list[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def words(text: str) -> Side:
    return Side(text)


def side(shape: Shape | None) -> Side:
    return Side(show_shape(shape), tokens(shape))


def named(node: Node | Who) -> str:
    """``dense_1 (Dense)``, or only the name if it already contains the class."""
    plain = re.sub(r"_\d+$", "", node.name).replace("_", "").lower()
    return node.name if plain == node.op.replace("_", "").lower() else f"{node.name} ({node.op})"


def givers(flow: Flow, edges: list[Edge]) -> tuple[str, ...]:
    """The names of the nodes that the edges come from."""
    return tuple(dict.fromkeys(flow.node(edge.source).name for edge in edges if edge.label != "mask"))


def listed(names: tuple[str, ...]) -> str:
    """``a, b and c``."""
    return " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + " and " + names[-1]


def axes_listed(axes: tuple[int, ...]) -> str:
    """``axis 1``, or ``axes 1 and 2``."""
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {listed(tuple(map(str, axes)))}"


def placed(node: Node | Who) -> str:
    """The line that called a node, for the middle of a sentence."""
    return f" at {node.called}" if node.called is not None else ""


def count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def many(number: int | None) -> str:
    """A number of values, with separators; ``?`` if it is unknown."""
    return "?" if number is None else f"{number:,}"


def size(number: float) -> str:
    """Bytes in readable form: ``18.26 GiB``; exact below one MiB."""
    for unit, step in (("GiB", 2**30), ("MiB", 2**20)):
        if number >= step:
            return f"{number / step:.2f} {unit}"
    return f"{int(number):,} bytes"


def called(program: str) -> str:
    """A program's name in a sentence."""
    name, _, rows = program.partition("-")
    step = {"forward": "forward pass", "train": "train step", "predict": "predict step"}.get(name, name)
    return step + {"last": " of the last batch", "open": " with an unknown batch size", "axes": " with unknown sizes"}.get(rows, "")


def shapes_listed(shapes: tuple[Shape | None, ...]) -> str:
    """Shapes one after the other; ``"nothing"`` where there are none."""
    return listed(tuple(map(show_shape, shapes))) or "nothing"
