"""Along which axes of its operands an operation of JAX runs: those that it sums up, and those that it goes through in order."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FrameType
from typing import Any

_CUMULATIVE = frozenset({"cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"})
# Functions within functions are looked into as deep as this.
_DEEP = 6


def along(name: str, params: dict[str, Any], operands: int) -> Iterator[tuple[int, int, bool]]:
    """The place of an operand, one of its axes, and whether the result at each position depends on the positions before it."""
    yield from _along(name, params, operands, 0)


def axis_of(frame: FrameType | None) -> int | None:
    """The argument ``axis`` of a running function, also where a wrapper of JAX's was called in its place."""
    held = frame.f_locals if frame is not None else {}
    if "axis" not in held and callable(held.get("fun")):
        try:
            bound = inspect.signature(held["fun"]).bind(*held.get("args", ()), **held.get("kwargs", {}))
        except (TypeError, ValueError):
            return None
        bound.apply_defaults()
        held = bound.arguments
    found = held.get("axis")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _along(name: str, params: dict[str, Any], operands: int, depth: int) -> Iterator[tuple[int, int, bool]]:
    if name in _CUMULATIVE:
        yield 0, int(params["axis"]), True
    elif name.startswith("reduce_") and "axes" in params:
        yield from ((0, int(axis), False) for axis in params["axes"])
    elif name == "dot_general":
        for place, axes in enumerate(params["dimension_numbers"][0]):
            yield from ((place, int(axis), False) for axis in axes)
    elif name == "scan":
        first = params["num_consts"] + params["num_carry"]
        if _carries(params):
            yield from ((place, 0, True) for place in range(first, operands))
    else:
        program: Any = params.get("jaxpr") or params.get("call_jaxpr") or params.get("fun_jaxpr")
        program = getattr(program, "jaxpr", program)
        if depth < _DEEP and hasattr(program, "eqns") and len(program.invars) == operands and name not in ("cond", "while"):
            yield from _inside(program, depth)


def _inside(program: Any, depth: int) -> Iterator[tuple[int, int, bool]]:
    """The same of a function with a program of its own: an operand is followed as long as it keeps its shape."""
    came = {id(one): place for place, one in enumerate(program.invars)}
    for equation in program.eqns:
        given = list(equation.invars)
        for place, axis, ordered in _along(str(equation.primitive.name), equation.params, len(given), depth + 1):
            if id(given[place]) in came:
                yield came[id(given[place])], axis, ordered
        alike = [one for one in given if id(one) in came]
        for made in equation.outvars:
            same = next((one for one in alike if one.aval.shape == made.aval.shape), None)
            if same is not None:
                came[id(made)] = came[id(same)]


def _carries(params: dict[str, Any]) -> bool:
    """Whether a scan's result at a step depends on what it was given at earlier ones: a carry that the steps change, and that they read."""
    program = params["jaxpr"].jaxpr
    consts, carries = params["num_consts"], params["num_carry"]
    reads = _reads(program)
    given, ends = program.invars[consts : consts + carries], program.outvars
    told = {id(one) for one in program.invars[consts + carries :]}
    for _ in given:
        changed = {id(one) for one, end in zip(given, ends, strict=False) if reads.get(id(end), {id(end)}) & told}
        if changed <= told:
            break
        told |= changed
    passed = told & {id(one) for one in given}
    return any(reads.get(id(end), {id(end)}) & passed for end in ends[carries:])


def _reads(program: Any) -> dict[int, set[int]]:
    reads = {id(one): {id(one)} for one in program.invars}
    for equation in program.eqns:
        found: set[int] = set()
        for one in equation.invars:
            found |= reads.get(id(one), set())
        reads.update((id(one), found) for one in equation.outvars)
    return reads
