"""What an optimizer refuses of what a step gives it, by the framework's own order of checks: pairs, variables, those it knows, their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..flow import Location, Shape
from .update import of_the_framework

How = Literal["pairs", "exchanged", "tensors", "unbuilt", "unknown", "apart", "loss", "model"]


@dataclass(frozen=True)
class Misapplied:
    """An update that raises. ``loss`` and ``model``: what was computed outside of the tape. ``gradient`` and ``weight`` are shapes; ``variable``: the weight's name, ``known``: how many it was built for."""

    how: How
    optimizer: str
    function: str
    variable: str = ""
    gradient: Shape | None = None
    weight: Shape | None = None
    known: int = 0
    location: Location | None = None


class Updates:
    """The updates of one trace, in order: an optimizer keeps to the variables of its first one."""

    def __init__(self) -> None:
        self._first: dict[int, set[Any]] = {}

    def gradients(self, given: Any) -> list[Any]:
        """The gradients alone, whichever way they are given."""
        return [item[0] if isinstance(item, (tuple, list)) and item else item for item in given]

    def refused(self, optimizer: Any, function: str, given: Sequence[Any], args: tuple[Any, ...], named: dict[str, Any]) -> Misapplied | None:
        """Why the framework's own optimizer raises for this update."""
        if not of_the_framework(optimizer) or not given:
            return None
        name = type(optimizer).__name__
        known = self._known(optimizer)
        if function == "apply":
            listed = args[0] if args else named.get("trainable_variables")
            if listed is None:
                return Misapplied("unbuilt", name, function) if known is None else None
            pairs = list(zip(given, listed, strict=False))
        elif all(isinstance(item, (tuple, list)) and len(item) == 2 for item in given):
            pairs = [(item[0], item[1]) for item in given]
        else:
            return Misapplied("pairs", name, function)
        if any(not _variable(weight) for _, weight in pairs):
            exchanged = all(_variable(gradient) for gradient, _ in pairs)
            return Misapplied("exchanged" if exchanged else "tensors", name, function)
        keys = [_key(weight) for _, weight in pairs]
        if known is not None:
            strange = next((weight for key, (_, weight) in zip(keys, pairs, strict=True) if key not in known), None)
            if strange is not None:
                return Misapplied("unknown", name, function, _name(strange), weight=_shape(strange), known=len(known))
        elif hasattr(optimizer, "_var_key"):
            self._first[id(optimizer)] = set(keys)
        for gradient, weight in pairs:
            if gradient is not None and not _fills(_shape(gradient), _shape(weight)):
                return Misapplied("apart", name, function, _name(weight), _shape(gradient), _shape(weight))
        return None

    def _known(self, optimizer: Any) -> set[Any] | None:
        if id(optimizer) in self._first:
            return self._first[id(optimizer)]
        listed, indexed = getattr(optimizer, "_trainable_variables", None), getattr(optimizer, "_index_dict", None)
        return set(map(_key, listed)) if listed else set(indexed) if indexed else None


def _key(weight: Any) -> Any:
    return getattr(weight, "_unique_id", None) or id(weight)


def _variable(value: Any) -> bool:
    return hasattr(value, "assign") and hasattr(value, "shape")


def _name(weight: Any) -> str:
    return str(getattr(weight, "path", None) or getattr(weight, "name", "")).removesuffix(":0")


def _shape(value: Any) -> Shape | None:
    shape = getattr(value, "shape", None)
    rank = getattr(shape, "rank", None) if not isinstance(shape, tuple) else len(shape)
    return None if shape is None or rank is None else tuple(None if size is None else int(size) for size in shape)


def _fills(gradient: Shape | None, weight: Shape | None) -> bool:
    """Whether a gradient has the shape of its weight, or broadcasts to it: most optimizers accept that, too."""
    if gradient is None or weight is None:
        return True
    behind = weight[len(weight) - len(gradient) :]
    return len(gradient) <= len(weight) and all(a in (None, 1) or b is None or a == b for a, b in zip(gradient, behind, strict=True))


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
