"""What devices exchange: as the compiler put it into their program, estimated where that could not be lowered with it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from ..flow import Collective
from ..rules.words import size
from . import hlo
from .collectives import sent
from .programs import Lowered

# Gigabytes a second into and out of one chip together, as the generation's own page states them
# (https://cloud.google.com/tpu/docs/v5e, .../v5p). Of the others only bytes are told.
_LINKS = {"v5e": 400e9, "v5p": 1200e9}


@dataclass(frozen=True)
class Exchange:
    """An estimate: ``gradients`` in bytes, ``sent`` by each replica in a ring, and at least so many ``seconds`` (0 where unknown)."""

    gradients: int
    sent: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"not included: the gradient all-reduce, for which each replica sends an estimated {size(self.sent)} per step for "
            f"{size(self.gradients)} of gradients{_taking(self.seconds)}"
        )


def _taking(seconds: float) -> str:
    return f", which takes at least {seconds * 1000:.2g} ms" if seconds >= 1e-5 else ""


def _seconds(goes: int, generation: str) -> float:
    one_way = _LINKS.get(generation, 0) / 2
    return goes / one_way if one_way else 0.0


def exchange(seen: Any, program: Lowered) -> Exchange | None:
    """The all-reduce of the gradients in a ring, for a step whose sums are not in it: each replica sends ``2 (n - 1) / n`` of them."""
    target = seen.program.target
    if not program.apart or target is None:
        return None
    gradients = sum(prod(int(n) for n in weight.shape) * _width(weight.dtype) for weight in seen.model.trainable_variables)
    if not gradients:
        return None
    goes = round(2 * gradients * (target.replicas - 1) / target.replicas)
    return Exchange(gradients, goes, _seconds(goes, target.generation))


def _width(dtype: Any) -> int:
    digits = "".join(character for character in str(getattr(dtype, "name", dtype)) if character.isdigit())
    return int(digits[-2:] or 8) // 8


def exchanged(program: Lowered, told: list[list[Any]], names: dict[str, str]) -> tuple[Collective, ...]:
    """The exchanges that the compiler put in, added up by kind and node; what sends most comes first."""
    found: dict[tuple[str, str, int], list[Any]] = {}
    named = hlo.operation_at(program.read.names)
    for kind, told_of, held, group, times, known in told:
        operation = named(told_of)
        node = program.scopes.node(operation) if program.scopes is not None and operation else ""
        total = found.setdefault((kind, node, group), [0, 0, 0, False])
        total[0] += times
        total[1] += held * times
        total[2] += sent(kind, held, group) * times
        total[3] |= not known
    made = [Collective(kind, node, names.get(node, ""), number, held, goes, group, least) for (kind, node, group), (number, held, goes, least) in found.items()]
    return tuple(sorted(made, key=lambda one: -one.sent))


def spoken(told: tuple[Collective, ...], generation: str) -> str:
    """What each device sends in a step, by kind, and the least time that it takes over the links of this generation."""
    if not told:
        return "the devices exchange no data"
    kinds: dict[str, list[int]] = {}
    for one in told:
        kinds.setdefault(one.kind, []).append(one.sent)
    parts = ", ".join(f"{kind} {size(sum(sizes))}" for kind, sizes in sorted(kinds.items(), key=lambda pair: -sum(pair[1])))
    least = "at least " if any(one.least for one in told) else ""
    goes = sum(one.sent for one in told)
    return f"each device sends {least}{size(goes)} per step ({parts}){_taking(_seconds(goes, generation))}"
