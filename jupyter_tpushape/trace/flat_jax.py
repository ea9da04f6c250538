"""A traced program as one list of equations: functions of the library that have a program of their own stand in it with their equations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .shares_jax import inner_of

# What only calls its program. A rule of the program's own for the gradient is left closed.
_OPENED = frozenset({"jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint"})
# Equations that change the dtype or the shape of a tensor, and no value.
SAME = frozenset({"convert_element_type", "copy", "name", "optimization_barrier", "broadcast_in_dim", "reshape", "squeeze", "expand_dims"})


@dataclass(frozen=True, eq=False)
class Step:
    """One equation. ``given``, ``made``: variables of the outermost program, or of the one that alone has them; ``outer``: the equation that a line of the user's made."""

    name: str
    params: Mapping[str, Any]
    given: tuple[Any, ...]
    made: tuple[Any, ...]
    outer: Any


def flat(program: Any) -> list[Step]:
    """The equations of a jaxpr in their order."""
    return list(_steps(program, {}, None))


def _steps(program: Any, known: dict[Any, Any], outer: Any) -> Iterator[Step]:
    for equation in program.eqns:
        top = outer if outer is not None else equation
        given = tuple(one if is_number(one) else known.get(one, one) for one in equation.invars)
        name = str(equation.primitive.name)
        inner = inner_of(equation) if name in _OPENED else None
        if inner is None:
            yield Step(name, equation.params, given, tuple(equation.outvars), top)
            continue
        # A program that is called twice has the same variables both times.
        own = {one: _Copy(one) for each in inner.eqns for one in each.outvars}
        own.update(zip(inner.invars, given, strict=True))
        for step in _steps(inner, own, top):
            yield Step(step.name, step.params, step.given, tuple(own.get(one, one) for one in step.made), step.outer)
        known.update((made, one if is_number(one) else own.get(one, one)) for made, one in zip(equation.outvars, inner.outvars, strict=True))


class _Copy:
    """Stands for a variable of one call of a function."""

    def __init__(self, variable: Any) -> None:
        self.aval = variable.aval


def is_number(one: Any) -> bool:
    """Whether an operand is written into the program."""
    return hasattr(one, "val")


def origin(one: Any, makers: Mapping[Any, Step], passed: frozenset[str] = SAME) -> Any:
    """What a tensor is but for its dtype and shape."""
    while not is_number(one) and (step := makers.get(one)) is not None and step.name in passed:
        one = step.given[0]
    return one


def depending(steps: Sequence[Step], first: set[Any]) -> set[Any]:
    """What depends on some variables."""
    found = set(first)
    for step in steps:
        if any(not is_number(one) and one in found for one in step.given):
            found.update(step.made)
    return found
