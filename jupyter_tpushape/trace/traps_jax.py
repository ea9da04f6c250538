"""Numbers that go wrong without an error, read off a traced program: nothing is computed.

A gradient that is not a number behind ``where``, terms that cancel a gradient, random numbers that are the same in each step of a loop, and
shifts of all axes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .flat_jax import SAME, Step, depending, flat, is_number, origin
from .frames_jax import function_between, named
from .gradients_jax import gradient_error
from .inside_jax import called_at
from .locations import Place, is_user_file
from .values_jax import is_placed

# Functions whose slope at zero is not finite, and the operand that must not be zero.
_STEEP = {"sqrt": 0, "rsqrt": 0, "log": 0, "cbrt": 0, "div": 1}
_COMPARED = frozenset({"gt", "ge", "lt", "le", "ne", "eq"})
_CHOICES = frozenset({"and", "or", "not"})
_SUMS = frozenset({"add", "sub", "neg", "add_any"})
_ELEMENTWISE = (
    frozenset({"mul", "div", "add", "sub", "neg", "exp", "tanh", "sqrt", "rsqrt", "log", "integer_pow", "pow", "square", "abs", "cbrt", "select_n"}) | SAME
)
# Random numbers that leave out the same places in each step, which may well be meant.
_MASKS = frozenset({"bernoulli", "dropout"})
_DEEP = 12
# A number that stands for zero in a comparison.
_TINY = 1e-3


@dataclass(frozen=True)
class Trap:
    """What goes wrong in one operation of the program.

    Attributes:
        kind: ``"where"``, ``"cancels"``, ``"backward"``, ``"loop"`` or ``"across"``. operation, place: where.
        detail: the function with the slope. numbers: sizes that the sentence names.
    """

    kind: str
    operation: str
    place: Place | None
    detail: str = ""
    numbers: tuple[int, ...] = ()


def traps(graph: Any, variables: Sequence[Any]) -> list[Trap]:
    """What goes wrong in a traced program, one for each line; ``variables``: those that it takes."""
    program = graph.program.jaxpr
    marked = [equation.outvars[0] for equation in program.eqns if is_placed(equation)]
    asked = {id(made): variable for made, variable in graph.asked}
    given = list(zip(graph.given, marked, strict=False))
    data = {one for made, one in given if id(made) not in asked}
    trained = {one for variable, one in zip(variables, program.invars, strict=False) if variable.trainable}
    trained |= {one for made, one in given if id(made) in asked and asked[id(made)].trainable}
    steps = flat(program)
    makers = {made: step for step in steps for made in step.made}
    moved = depending(steps, trained)
    found = [*_behind_where(steps, makers, moved), *_cancelled(steps, makers, moved), *_looped(steps), *_across(steps, depending(steps, data))]
    return list({(one.kind, one.place): one for one in found if one.place is not None}.values())


def backward(program: Any, trained: Sequence[bool]) -> list[Trap]:
    """A rule of the program's own for a gradient that raises once a step needs it."""
    rules = [step for step in flat(program.jaxpr) if step.name.startswith("custom_vjp_call") and _defined(step) is not None]
    error = gradient_error(program, trained) if rules and any(trained) else None
    if error is None:
        return []
    known = {code: step for step in rules if (code := _defined(step)) is not None}
    code, held = next(iter(known)), error.__traceback__
    place = Place(code.co_filename, code.co_firstlineno)
    while held is not None:
        if held.tb_frame.f_code in known:
            code, place = held.tb_frame.f_code, Place(held.tb_frame.f_code.co_filename, held.tb_lineno)
        held = held.tb_next
    return [Trap("backward", code.co_name, place, " ".join(str(error).split()), (len(known[code].given),))]


def _defined(step: Step) -> Any:
    code = getattr(getattr(step.params.get("bwd"), "f", None), "__code__", None)
    return code if code is not None and is_user_file(code.co_filename) else None


def _trap(kind: str, equation: Any, detail: str = "", numbers: tuple[int, ...] = ()) -> Trap:
    names, place = called_at(equation)
    operation = function_between(names) or str(equation.params.get("name") or equation.primitive.name)
    return Trap(kind, named(operation.strip("_")), place, detail, numbers)


def _dtype(one: Any) -> str:
    return str(one.aval.dtype)


# -- gradients


def _behind_where(steps: Sequence[Step], makers: dict[Any, Step], moved: set[Any]) -> Iterator[Trap]:
    """A choice by a comparison with zero that hides the value of a function, and not its gradient, which is 0 times infinity."""
    for step in steps:
        if step.name != "select_n" or _dtype(step.given[0]) != "bool" or not step.made:
            continue
        found = (origin(one, makers) for one in _compared_with_zero(step.given[0], makers))
        compared = {each for one in found if not is_number(one) for each in _with_root(one, makers)}
        for case in step.given[1:] if compared and _chosen(step) else ():
            steep = next((one for one in _steep(case, makers) if _at(one, makers) in compared & moved), None)
            if steep is not None:
                yield _trap("where", step.outer, steep.name)
                break


def _with_root(one: Any, makers: dict[Any, Step]) -> Iterator[Any]:
    yield one
    step = makers.get(one)
    if step is not None and step.name in ("sqrt", "cbrt", "abs", "square") and not is_number(step.given[0]):
        yield from _with_root(origin(step.given[0], makers), makers)


def _chosen(step: Step) -> bool:
    return function_between(called_at(step.outer)[0]).strip("_") in ("where", "select")


def _at(step: Step, makers: dict[Any, Step]) -> Any:
    return origin(step.given[_STEEP[step.name]], makers)


def _compared_with_zero(condition: Any, makers: dict[Any, Step]) -> Iterator[Any]:
    pending, seen = [condition], 0
    while pending and seen < _DEEP:
        one, seen = origin(pending.pop(), makers), seen + 1
        step = makers.get(one) if not is_number(one) else None
        if step is not None and step.name in _CHOICES:
            pending += [one for one in step.given if not is_number(one)]
        elif step is not None and step.name in _COMPARED:
            yield from (left for left, right in (step.given, step.given[::-1]) if _is_zero(right, makers))


def _is_zero(one: Any, makers: dict[Any, Step]) -> bool:
    one = origin(one, makers)
    return is_number(one) and np.ndim(one.val) == 0 and abs(float(one.val)) <= _TINY


def _steep(value: Any, makers: dict[Any, Step]) -> Iterator[Step]:
    """The functions with a steep slope that a value comes from, one element from one element."""
    pending, seen = [value], set[int]()
    while pending and len(seen) < 2 * _DEEP:
        one = pending.pop()
        step = makers.get(one) if not is_number(one) else None
        if step is None or id(step) in seen or step.name not in _ELEMENTWISE:
            continue
        seen.add(id(step))
        if step.name in _STEEP and not is_number(step.given[_STEEP[step.name]]):
            yield step
        pending += step.given[1:] if step.name == "select_n" else step.given


def _cancelled(steps: Sequence[Step], makers: dict[Any, Step], moved: set[Any]) -> Iterator[Trap]:
    """A sum with a tensor and its negative, beside what no gradient passes: a straight-through estimator without its way through."""
    for step in steps:
        if step.name not in _SUMS or step.made[0] not in moved or not _dtype(step.made[0]).startswith(("float", "bfloat")):
            continue
        terms = _terms(step, makers, 1.0, {}, 0)
        gone = [one for one, count in terms.items() if count == 0 and one in moved]
        left = [makers.get(one) for one, count in terms.items() if count]
        if gone and left and all(one is not None and one.name == "stop_gradient" for one in left):
            yield _trap("cancels", step.outer)


def _terms(step: Step, makers: dict[Any, Step], sign: float, found: dict[Any, float], depth: int) -> dict[Any, float]:
    for place, given in enumerate(step.given):
        turned = -sign if step.name == "neg" or (step.name == "sub" and place == 1) else sign
        one = origin(given, makers, frozenset({"convert_element_type", "copy", "name"}))
        maker = makers.get(one) if not is_number(one) else None
        if maker is not None and maker.name in _SUMS and depth < _DEEP:
            _terms(maker, makers, turned, found, depth + 1)
        elif not is_number(one):
            found[one] = found.get(one, 0.0) + turned
    return found


# -- random numbers


def _looped(steps: Sequence[Step]) -> Iterator[Trap]:
    for step in steps:
        if step.name == "scan" and step.params.get("length") != 1:
            body, constant = step.params["jaxpr"].jaxpr, step.params["num_consts"]
        elif step.name == "while":
            body, constant = step.params["body_jaxpr"].jaxpr, step.params["body_nconsts"]
        else:
            continue
        inner = flat(body)
        changing = depending(inner, set(body.invars[constant:]))
        for one in inner:
            if one.name in ("random_bits", "random_gamma") and one.given[0] not in changing:
                names, _ = called_at(one.outer)
                if not _MASKS & {name.strip("_") for name, _ in names} and not any("layers" in file for _, file in names):
                    yield _trap("loop", one.outer, numbers=tuple(one.outer.outvars[0].aval.shape))
        yield from _looped(inner)


def _across(steps: Sequence[Step], data: set[Any]) -> Iterator[Trap]:
    """A shift or a reversal of all axes at once, which takes values from one sample to another."""
    for step in steps:
        if step.name not in ("reshape", "rev") or is_number(step.given[0]) or step.given[0] not in data:
            continue
        shape = tuple(step.given[0].aval.shape)
        function = function_between(called_at(step.outer)[0]).strip("_")
        flat_one = step.name == "reshape" and function == "roll" and len(step.made[0].aval.shape) == 1
        if len(shape) > 1 and (flat_one or (step.name == "rev" and function == "flip" and len(step.params["dimensions"]) == len(shape))):
            yield _trap("across", step.outer, function, shape)
