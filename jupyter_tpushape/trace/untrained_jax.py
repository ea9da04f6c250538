"""Weights that no gradient of the loss reaches, read off a traced program: nothing is differentiated and nothing is computed.

A gradient goes back through an equation to its operands, but not to whole numbers, not through what has no slope (``argmax``, ``floor``, comparisons),
not to a factor whose other factor is zero, and not to what is summed to one. Weights that start at zero stay there if each of their gradients passes through such a product.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from .frames_jax import function_between, named
from .inside_jax import called_at
from .locations import is_ours
from .shares_jax import adds_up, into, shares
from .values_jax import is_placed

# Equations whose result has no slope.
_FLAT = frozenset({"floor", "ceil", "round", "sign", "is_finite", "nextafter"})
# The gradient of one factor is a multiple of the other.
_PRODUCTS = frozenset({"mul", "dot_general", "conv_general_dilated"})
# What gives zeros where all operands that are numbers are zero.
_KEEP_ZERO = frozenset(
    {
        "neg", "reshape", "transpose", "broadcast_in_dim", "convert_element_type", "squeeze", "expand_dims", "slice", "copy", "reduce_sum",
        "reduce_max", "reduce_min", "tanh", "sin", "asinh", "abs", "sign", "square", "sqrt", "integer_pow", "add", "sub", "max", "min",
        "concatenate", "cumsum", "rev", "name", "stop_gradient", "optimization_barrier", "sharding_constraint", "add_any", "erf",
    }
)  # fmt: skip
# What a function with a program of its own is called; its arguments are the program's.
_CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint"})
_OWN_RULE = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin"})
# What no value of the operand's own can be meant for: the gradient is kept out on purpose.
_STOP = "stop_gradient"


@dataclass(frozen=True)
class Untrained:
    """A weight by its place among the inputs, and the equation of the program that keeps its gradient out.

    ``kind``: ``"zero"`` for a product, of which the other factor is made of weights that start at zero and never change; ``"one"`` for a sum of
    what always adds up to one; otherwise it has no slope.
    """

    weight: int
    equation: Any
    kind: str


def never_trained(graph: Any, variables: Sequence[Any], framework: Any) -> list[tuple[Any, str, Any, str]]:
    """The variables that are trained and that no gradient of a traced loss reaches: the operation that keeps it out, its line, and how.

    Args:
        graph: what was traced. variables: those that the program takes. framework: says which of them start at zero.
    """
    program = graph.program.jaxpr
    loss = program.outvars[0] if program.outvars else None
    if loss is None or hasattr(loss, "val") or getattr(graph.results, "shape", None) != ():
        return []
    marked = [equation.outvars[0] for equation in program.eqns if is_placed(equation)]
    asked = {id(made): variable for made, variable in graph.asked}
    given = zip(graph.given, marked, strict=False)
    held = [*zip(variables, program.invars, strict=False), *((asked[id(made)], one) for made, one in given if id(made) in asked)]
    held = [(variable, one) for variable, one in held if variable.trainable and _is_float(one)]
    zeros = {i for i, (variable, _) in enumerate(held) if framework.starts_at_zero(variable)}
    graph.recorder.weightless = bool(held) and not _behind(program, loss) & {one for _, one in held}
    found = []
    for one in untrained(program, loss, [each for _, each in held], zeros):
        names, place = called_at(one.equation)
        function = function_between([(name, file) for name, file in names if not is_ours(file)])
        said = named(function or str(one.equation.params.get("name") or one.equation.primitive.name))
        found.append((held[one.weight][0], said, place, one.kind))
    return found


def _behind(program: Any, end: Any) -> set[Any]:
    behind = {end}
    for equation in reversed(program.eqns):
        if not behind.isdisjoint(equation.outvars):
            behind.update(one for one in equation.invars if not hasattr(one, "val"))
    return behind


def untrained(program: Any, loss: Any, weights: Sequence[Any], zeros: Collection[int]) -> list[Untrained]:
    """The weights that the loss depends on and that no gradient reaches, unless it reaches none.

    Args:
        program: a jaxpr. loss: its result. weights: the variables that stand for trained weights. zeros: places of those that start at zero.
    """
    stuck = {i for i in zeros if i < len(weights)}
    without = _live(program, loss, set())
    cut = [i for i, one in enumerate(weights) if one not in without]
    while True:
        still = {weights[i] for i in stuck}
        live = _live(program, loss, _zeros(program, still))
        moved = {i for i in stuck if weights[i] in live}
        if not moved:
            break
        stuck -= moved
    if len(cut) == len(weights):
        return []  # nothing is trained at all
    found = []
    for i, one in enumerate(weights):
        if one in live:
            continue
        depends, stops = _stops(program, one, live if i not in cut else without)
        if stops and not any(_on_purpose(each) for each in stops):
            if i in cut:
                first = _first(program, depends, stops[0])
                summed = adds_up(first, shares(program, {}))
                found += [Untrained(i, first, "one" if summed else "")] if summed or _has_no_slope(first) else []
            elif i in stuck:
                found.append(Untrained(i, stops[0], "zero"))
    return found


def _live(program: Any, loss: Any, zero: set[Any], ones: dict[Any, tuple[int, ...]] | None = None) -> set[Any]:
    live, ones = {loss}, shares(program, ones or {})
    for equation in reversed(program.eqns):
        if any(one in live for one in equation.outvars):
            live.update(_reached(equation, [one in live for one in equation.outvars], zero, ones))
    return live


def _reached(equation: Any, ends: list[bool], zero: set[Any], ones: dict[Any, tuple[int, ...]]) -> list[Any]:
    name = str(equation.primitive.name)
    if name in _FLAT or name == _STOP or (name == "reduce_sum" and adds_up(equation, ones)):
        return []
    given = [one for one in equation.invars if not hasattr(one, "val") and _is_float(one)]
    if not any(end and _is_float(one) for end, one in zip(ends, equation.outvars, strict=True)):
        return []
    if name in _PRODUCTS and len(equation.invars) == 2:
        left, right = equation.invars
        return [one for one, other in ((left, right), (right, left)) if one in given and not _is_zero(other, zero)]
    inner = _program(equation) if name in _CALLS else None
    if inner is not None and len(inner.invars) == len(equation.invars):
        known = _zeros(inner, {own for own, one in zip(inner.invars, equation.invars, strict=True) if _is_zero(one, zero)})
        live: set[Any] = set()
        for end, one in zip(ends, inner.outvars, strict=True):
            if end and not hasattr(one, "val"):
                live |= _live(inner, one, known, into(inner, equation, ones))
        return [one for own, one in zip(inner.invars, equation.invars, strict=True) if own in live and one in given]
    return given


def _zeros(program: Any, given: set[Any]) -> set[Any]:
    zero = set(given)
    if not zero:
        return zero
    for equation in program.eqns:
        if any(one in zero for one in equation.invars if not hasattr(one, "val")):
            zero.update(one for one, is_zero in zip(equation.outvars, _made_zero(equation, zero), strict=True) if is_zero)
    return zero


def _made_zero(equation: Any, zero: set[Any]) -> list[bool]:
    name = str(equation.primitive.name)
    known = [_is_zero(one, zero) for one in equation.invars]
    if name in _PRODUCTS:
        return [any(known)]
    if name in _KEEP_ZERO:
        return [all(known)] * len(equation.outvars)
    if name == "select_n":
        return [all(known[1:])]
    inner = _program(equation) if name in _CALLS | _OWN_RULE else None
    if inner is not None and len(inner.invars) == len(known):
        held = _zeros(inner, {own for own, is_zero in zip(inner.invars, known, strict=True) if is_zero})
        return [_is_zero(one, held) for one in inner.outvars]
    return [False] * len(equation.outvars)


def _stops(program: Any, weight: Any, live: set[Any]) -> tuple[set[Any], list[Any]]:
    """What depends on a weight and has no gradient either, and the equations that have one and do not hand it on to that."""
    depends, stops = {weight}, []
    for equation in program.eqns:
        if any(one in depends for one in equation.invars if not hasattr(one, "val")):
            depends.update(one for one in equation.outvars if one not in live)
            if any(one in live for one in equation.outvars):
                stops.append(equation)
    return depends, stops


def _first(program: Any, depends: set[Any], stop: Any) -> Any:
    """Where what depends on a weight, on its way to an equation, became something without a slope."""
    makers = {one: equation for equation in program.eqns for one in equation.outvars}
    here = stop
    while True:
        given = [one for one in here.invars if not hasattr(one, "val") and one in depends]
        if not given or any(map(_is_float, given)) or given[0] not in makers:
            return here
        here = makers[given[0]]


def _has_no_slope(equation: Any) -> bool:
    name = str(equation.primitive.name)
    if name in _FLAT:
        return True
    inner = _program(equation) if name in _CALLS else None
    if inner is not None:
        return any(_has_no_slope(one) for one in inner.eqns)
    return any(map(_is_float, (one for one in equation.invars))) and not any(map(_is_float, equation.outvars))


def _on_purpose(equation: Any) -> bool:
    name = str(equation.primitive.name)
    inner = _program(equation)
    return name == _STOP or name in _OWN_RULE or (inner is not None and any(_on_purpose(one) for one in inner.eqns))


def _program(equation: Any) -> Any:
    params = equation.params
    found = params.get("jaxpr") or params.get("call_jaxpr") or params.get("fun_jaxpr")
    found = getattr(found, "jaxpr", found)
    return found if hasattr(found, "eqns") else None


def _is_float(one: Any) -> bool:
    # A random key has a dtype that NumPy does not know.
    return hasattr(one.aval, "dtype") and bool(jnp.issubdtype(one.aval.dtype, jnp.inexact))


def _is_zero(one: Any, zero: set[Any]) -> bool:
    if hasattr(one, "val"):
        return bool(np.ndim(one.val) == 0 and one.val == 0)
    return one in zero
