"""Tensors whose values add up to one along an axis, as those of a softmax: their sum along it is a constant, whatever they depend on."""

from __future__ import annotations

from typing import Any

# Equations that give a divisor another shape, and those that leave values and shapes as they are.
_SHAPED = frozenset({"broadcast_in_dim", "reshape", "squeeze", "expand_dims"})
_CAST = frozenset({"convert_element_type", "copy", "name", "optimization_barrier"})


def inner_of(equation: Any) -> Any:
    """The program that an equation calls with its own operands."""
    params = equation.params
    found = params.get("jaxpr") or params.get("call_jaxpr") or params.get("fun_jaxpr")
    found = getattr(found, "jaxpr", found)
    return found if hasattr(found, "eqns") and len(found.invars) == len(equation.invars) else None


def shares(program: Any, given: dict[Any, tuple[int, ...]]) -> dict[Any, tuple[int, ...]]:
    """The variables of a program that add up to one, with the axes along which they do.

    Args:
        program: a jaxpr. given: those of its inputs that do.
    """
    found, makers = dict(given), {}
    for equation in program.eqns:
        makers.update(dict.fromkeys(equation.outvars, equation))
        name, inner = str(equation.primitive.name), inner_of(equation)
        if name == "div":
            parts, whole = equation.invars
            axes = _total_of(parts, whole, makers)
            if axes:
                found[equation.outvars[0]] = axes
        elif name in _CAST and not hasattr(equation.invars[0], "val") and equation.invars[0] in found:
            found[equation.outvars[0]] = found[equation.invars[0]]
        elif inner is not None:
            held = shares(inner, into(inner, equation, found))
            found.update((one, held[own]) for own, one in zip(inner.outvars, equation.outvars, strict=False) if not hasattr(own, "val") and own in held)
    return found


def into(inner: Any, equation: Any, found: dict[Any, tuple[int, ...]]) -> dict[Any, tuple[int, ...]]:
    """What is known of an equation's operands, by the inputs of the program that it calls."""
    pairs = zip(inner.invars, equation.invars, strict=True)
    return {own: found[one] for own, one in pairs if not hasattr(one, "val") and one in found}


def adds_up(equation: Any, found: dict[Any, tuple[int, ...]]) -> bool:
    """Whether an equation sums what adds up to one, along all those axes; or does nothing but that in a program of its own."""
    one = equation.invars[0] if equation.invars else None
    if str(equation.primitive.name) == "reduce_sum" and not hasattr(one, "val") and one in found:
        return set(found[one]) <= set(equation.params["axes"])
    inner = inner_of(equation)
    if inner is None:
        return False
    held = shares(inner, into(inner, equation, found))
    return any(adds_up(each, held) for each in inner.eqns)


def _total_of(parts: Any, whole: Any, makers: dict[Any, Any]) -> tuple[int, ...]:
    way: list[Any] = []
    equation = makers.get(whole) if not hasattr(whole, "val") else None
    while equation is not None and str(equation.primitive.name) in _SHAPED | _CAST:
        way.append(equation)
        equation = makers.get(equation.invars[0]) if not hasattr(equation.invars[0], "val") else None
    if equation is None or str(equation.primitive.name) != "reduce_sum" or not _alike(parts, equation.invars[0], makers):
        return ()
    axes = tuple(equation.params["axes"])
    return axes if _in_place(way[::-1], axes, parts.aval.shape) else ()


def _in_place(way: list[Any], axes: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether every axis that a sum leaves is again where it was, once it has the shape of what was summed."""
    here: list[int | None] = [axis for axis in range(len(shape)) if axis not in axes]
    for equation in way:
        before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
        if str(equation.primitive.name) == "broadcast_in_dim":
            placed: list[int | None] = [None] * len(after)
            for at, axis in zip(equation.params["broadcast_dimensions"], here, strict=True):
                placed[at] = axis
            here = placed
        elif before != after:
            # Only axes of size 1 come or go.
            kept = [axis for axis, size in zip(here, before, strict=True) if size != 1]
            if [size for size in before if size != 1] != [size for size in after if size != 1]:
                return False
            left = iter(kept)
            here = [None if size == 1 else next(left) for size in after]
    return len(here) == len(shape) and all(axis == at or (axis is None and (at in axes or shape[at] == 1)) for at, axis in enumerate(here))


def _alike(one: Any, other: Any, makers: dict[Any, Any], depth: int = 4) -> bool:
    """Whether two tensors have the same values: one tensor, or the same operation of the same tensors twice."""
    (one, made), (other, again) = _origin(one, makers), _origin(other, makers)
    if one is other:
        return True
    if made is None or again is None or depth == 0 or made.primitive is not again.primitive or len(made.invars) != len(again.invars):
        return False
    pairs = zip(made.invars, again.invars, strict=True)
    same = len(made.outvars) == 1 and not made.effects and str(made.params) == str(again.params)
    return same and bool(made.invars) and all(_alike(left, right, makers, depth - 1) for left, right in pairs)


def _origin(one: Any, makers: dict[Any, Any]) -> tuple[Any, Any]:
    while not hasattr(one, "val") and (equation := makers.get(one)) is not None:
        if str(equation.primitive.name) not in _CAST:
            return one, equation
        one = equation.invars[0]
    return one, None
