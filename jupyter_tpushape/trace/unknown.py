"""Axes of unknown size, for a backend whose programs know every axis: two sets of sizes stand in, and what differs is unknown.

The sizes divide by 32, so that what is halved and doubled again comes out even; those of one shape differ from each other, and from
the sizes that programs are written with, so that an axis which stands in broadcasts with no other by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..flow import Shape, Spec
from .recorder import Call, Port

_TURNS = ((352, 160, 224, 288, 480), (416, 224, 288, 160, 544))


def is_open(shape: Shape | None) -> bool:
    """Whether a size is missing."""
    return shape is not None and None in shape


def filled(shape: Shape, second: bool = False) -> Shape:
    """The shape with a size for each axis that has none: one set of sizes in the first turn, another in the second."""
    sizes = _TURNS[second]
    return tuple(sizes[axis % len(sizes)] if size is None else size for axis, size in enumerate(shape))


def same_way(first: Sequence[Call], second: Sequence[Call]) -> bool:
    """Whether two runs made the same calls."""
    return [_key(call) for call in first] == [_key(call) for call in second]


def reopened(first: Sequence[Port], second: Sequence[Port]) -> None:
    """Makes the axes unknown that differ from the second run to the first."""
    for one, other in zip(first, second, strict=False):
        one.spec = between(one.spec, other.spec)


def between(first: Spec, second: Spec) -> Spec:
    """A spec with the axes unknown that are of another size in the second one."""
    if first.shape is None or second.shape is None or len(first.shape) != len(second.shape):
        return first
    return Spec(tuple(a if a == b else None for a, b in zip(first.shape, second.shape, strict=True)), first.dtype, first.kind)


def ports(calls: Sequence[Call]) -> list[Port]:
    """Everything that goes into calls and comes out of them."""
    return [port for call in calls for port in (*call.inputs, *call.outputs)]


def _key(call: Call) -> tuple[str, object, int]:
    return call.op, call.called, len(call.inputs)
