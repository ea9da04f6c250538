"""Words for shapes, nodes and sizes: what a layer calls its axes, two shapes side by side with only what differs marked."""

from __future__ import annotations

import re

from ..flow import Edge, Fact, Flow, Node, Shape, Side, Who, show_shape
from ..graph import Cause
from ..trace.axes import GRID, RECURRENT, SEQUENCE, SPATIAL

_MOVING_PICTURES = ("batch", "time", "height", "width", "channels")
# What takes a part of a tensor, by the name of its operation in lower case.
SLICES = ("stridedslice", "slice", "getitem")
MERGES = frozenset({"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"})


def axes_of(op: str) -> tuple[str, ...]:
    """The axes that a layer class works on, in its own terms; ``()`` where any will do."""
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
    """The node at which a size parted, where the fact knows it."""
    cause: Cause | None = getattr(fact, "cause", None)
    return tuple(node.id for node in flow.nodes if isinstance(cause, Cause) and node.name == cause.who)[:1]


def because(cause: Cause | None) -> str:
    """Why a size is not what it was to be, in a sentence or two; ``""`` where that is not known."""
    if cause is None:
        return ""
    goes = f"{cause.before} → {cause.after}"
    if cause.kind == "lost":
        rest = f"{cause.before} is odd" if cause.stride == 2 else f"{cause.before} does not divide by {cause.stride}"
        back = f", and back {cause.back}" if cause.back is not None else ""
        even = f" {' or '.join(map(str, cause.fits))} in place of {cause.size} comes out even." if cause.fits else ""
        return f"{rest} at {cause.who}: {goes}{back}.{even}"
    if cause.kind == "unpadded":
        more = f" and {count(cause.more, 'more layer')}" if cause.more else ""
        return f'padding="same" is missing in {cause.who}{more}: {goes}.'
    if cause.kind == "strided":
        return f"{cause.who} takes strides of {cause.stride}: {goes}, and neither a later layer nor the other side does the same."
    return f"{cause.who} makes {cause.before} numbers of an input of {cause.size}; {cause.after} would be one of {cause.fits[0]}."


def differing(one: Shape, other: Shape) -> tuple[int, ...]:
    """The axes of ``one`` that differ from the other shape; of the longer one, those that the shorter lacks."""
    if len(one) != len(other):
        return _extra(list(tokens(one)), list(tokens(other)))
    return tuple(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a is not None and b is not None and a != b)


def pair(expected: Shape | None, found: Shape | None, *, names: bool = True) -> tuple[Side, Side]:
    """Two shapes as sides, with the axes that differ marked; an unknown axis agrees with any."""
    left, right = list(tokens(expected)), list(tokens(found))
    if names and expected and expected[0] is None:
        left[0] = "batch"
    if expected is not None and found is not None and len(expected) == len(found):
        differs = differing(expected, found)
        return Side(_join(left), tuple(left), differs), Side(_join(right), tuple(right), differs)
    return Side(_join(left), tuple(left), _extra(left, right)), Side(_join(right), tuple(right), _extra(right, left))


def _extra(mine: list[str], other: list[str]) -> tuple[int, ...]:
    """Axes of the longer shape that the shorter one lacks, matched from the right and then from the left."""
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
    """``dense_1 (Dense)``, or the bare name where it says the class already."""
    plain = re.sub(r"_\d+$", "", node.name).replace("_", "").lower()
    return node.name if plain == node.op.replace("_", "").lower() else f"{node.name} ({node.op})"


def givers(flow: Flow, edges: list[Edge]) -> tuple[str, ...]:
    """The names of what the edges come from."""
    return tuple(dict.fromkeys(flow.node(edge.source).name for edge in edges if edge.label != "mask"))


def listed(names: tuple[str, ...]) -> str:
    """``a, b and c``."""
    return " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + " and " + names[-1]


def placed(node: Node | Who) -> str:
    """The line that called a node, for the middle of a sentence; ``""`` where it is not known."""
    return f" at {node.called}" if node.called is not None else ""


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size(number: float) -> str:
    """Bytes for people: ``18.26 GiB``; exact below a MiB."""
    for unit, step in (("GiB", 2**30), ("MiB", 2**20)):
        if number >= step:
            return f"{number / step:.2f} {unit}"
    return f"{int(number):,} bytes"


def called(program: str) -> str:
    """A program's name in a sentence."""
    name, _, rows = program.partition("-")
    step = {"forward": "forward pass", "train": "train step", "predict": "predict step"}.get(name, name)
    return step + {"last": " of the last batch", "open": " with its batch axis open"}.get(rows, "")
