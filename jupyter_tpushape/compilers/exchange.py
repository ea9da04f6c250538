"""What a compiled program of one replica leaves out: the sum of the gradients over all replicas, estimated."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from ..rules.words import size

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
    sent = round(2 * gradients * (target.replicas - 1) / target.replicas)
    # Half of what goes both ways together goes one way.
    one_way = _LINKS.get(target.generation, 0) / 2
    return Exchange(gradients, sent, sent / one_way if one_way else 0.0)


def _width(dtype: Any) -> int:
    digits = "".join(character for character in str(getattr(dtype, "name", dtype)) if character.isdigit())
    return int(digits[-2:] or 8) // 8
