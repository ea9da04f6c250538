"""What was seen of a training step as it ran for one replica: gradients, updates, reductions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..flow import Location
from .applied import Misapplied


@dataclass
class Gradient:
    """One ``tape.gradient``: what of, by how many variables, and which gradients came out (ids of tensors)."""

    target: Any
    results: list[Any]
    missing: int
    location: Location | None = None


@dataclass
class Update:
    """One update by an optimizer. ``summed``: whether it adds up the replicas' gradients itself."""

    optimizer: Any
    gradients: list[Any]
    summed: bool
    location: Location | None = None


@dataclass
class Reduce:
    """One ``strategy.reduce``: by ``"SUM"`` or ``"MEAN"``, of what."""

    op: str
    value: Any
    location: Location | None = None


@dataclass
class StepFacts:
    """What a step did with TensorFlow's doors, in order."""

    runs: int = 0
    strategy: Any = None
    eager_inside: bool = False
    next_inside: Location | None = None
    lambda_name: bool = False
    looped: bool = False
    variable_argument: Location | None = None
    nested: Location | None = None
    static_only: Location | None = None
    buckets: bool = False
    gradients: list[Gradient] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    reduces: list[Reduce] = field(default_factory=list)
    reduced: list[Any] = field(default_factory=list)
    made: list[tuple[Any, Location | None]] = field(default_factory=list)
    without_result: bool = False
    misapplied: Misapplied | None = None
