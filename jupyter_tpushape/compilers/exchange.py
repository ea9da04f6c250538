"""What devices exchange: as compiled where one program is cut for all of them, estimated where each replica has its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from ..flow import Collective
from ..rules.words import size
from . import hlo
from .collectives import sent
from .lowering import Lowered

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
        least = f", which takes {self.seconds * 1000:.2g} ms or more" if self.seconds >= 1e-5 else ""
        return (
            f"the sum of gradients over the replicas is not in it: estimated, a replica sends {size(self.sent)} a step for "
            f"{size(self.gradients)} of gradients{least}"
        )


def exchange(seen: Any, program: str) -> Exchange | None:
    """The all-reduce of a train step's gradients in a ring, or ``None`` where there is none: each replica sends ``2 (n - 1) / n`` of them."""
    target = seen.program.target
    if program != "train" or target is None or target.replicas < 2:
        return None
    gradients = sum(prod(int(n) for n in weight.shape) * _width(weight.dtype) for weight in seen.model.trainable_variables)
    if not gradients:
        return None
    goes = round(2 * gradients * (target.replicas - 1) / target.replicas)
    # Half of what goes both ways together goes one way.
    one_way = _LINKS.get(target.generation, 0) / 2
    return Exchange(gradients, goes, goes / one_way if one_way else 0.0)


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
    made = [
        Collective(kind, node, names.get(node, ""), number, held, goes, group, least)
        for (kind, node, group), (number, held, goes, least) in found.items()
    ]
    return tuple(sorted(made, key=lambda one: -one.sent))


def spoken(told: tuple[Collective, ...]) -> str:
    """What each device sends in a step, by kind."""
    if not told:
        return "the devices exchange nothing"
    kinds: dict[str, list[int]] = {}
    for one in told:
        kinds.setdefault(one.kind, []).append(one.sent)
    parts = ", ".join(f"{kind} {size(sum(sizes))}" for kind, sizes in sorted(kinds.items(), key=lambda pair: -sum(pair[1])))
    least = "at least " if any(one.least for one in told) else ""
    return f"each device sends {least}{size(sum(one.sent for one in told))} a step ({parts})"
