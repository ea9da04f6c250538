"""How long a compilation will probably take: from the program's size and what earlier compilations took on this machine."""

from __future__ import annotations

import math
import statistics
from typing import Annotated, Any

import msgspec

from ..flow.decoding import converted
from . import cache

# The last compilations that are remembered, and how many of them, the nearest in size, an expectation is made of.
_MOST, _NEAREST = 64, 3
# How far apart two sizes may be for one to say something of the other.
_COMPARABLE = 4.0
# A worker's start: Python, jaxlib and libtpu.
_START = 1.5
# Expectations were off by less than this where programs were compared: only beyond it a compilation is not begun.
SURE = 3.0

_Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]


class Took(msgspec.Struct, frozen=True):
    """One compilation: ``size`` in instructions, ``seconds``, and what they depend on beside the machine."""

    size: Annotated[int, msgspec.Meta(gt=0, le=2**40)]
    seconds: _Positive
    effort: str
    topology: str


def expected(size: int, effort: str, topology: str) -> float:
    """Seconds that a program of ``size`` instructions will take, by the median of those nearest in size."""
    generation = topology.partition(":")[0]
    same = [one for one in _known() if one.effort == effort and one.topology.partition(":")[0] == generation]
    near = [one for one in same if 1 / _COMPARABLE <= size / one.size <= _COMPARABLE] if size > 0 else []
    near.sort(key=lambda one: abs(math.log(size / one.size)))
    if not near:
        return 0.0
    return _START + statistics.median(max(0.0, one.seconds - _START) * size / one.size for one in near[:_NEAREST])


def note(size: int, seconds: float, effort: str, topology: str) -> None:
    """Remembers a compilation; one that was ended counts with the time that it had."""
    if size <= 0 or seconds <= 0:
        return
    kept = [*_known(), Took(size, seconds, effort, topology)][-_MOST:]
    cache.write(_place(), msgspec.to_builtins(kept))


def _place() -> Any:
    return cache.place("pace", cache.FORMAT)


def _known() -> list[Took]:
    try:
        found: list[Took] = converted(cache.load(_place()), list[Took])
        return found
    except (msgspec.ValidationError, RecursionError):
        return []
