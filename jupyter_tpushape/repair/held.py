"""Models that an object of the program's own has, such as a trainer's: their place in it, and which of its methods train."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from ..flow.syntax import writes
from ..trace.aftermath import FITTING
from ..trace.reach import is_own, plain
from .text.cells import own

# How deep a model may be in an object.
_DEPTH = 2
# What a training loop of the program's own calls.
_STEPS = FITTING | {"fit_generator", "GradientTape", "apply_gradients", "value_and_grad"}
# An attribute, or a key.
Step = tuple[bool, Any]


def place_of(live: Any, holder: Any, depth: int = _DEPTH) -> tuple[Step, ...]:
    """The way to the live object: attributes of objects of the program's own classes and keys of containers; ``()`` where there is none."""
    for step, value in _parts(holder):
        if value is live:
            return (step,)
        below = place_of(live, value, depth - 1) if depth > 1 else ()
        if below:
            return (step, *below)
    return ()


def part_of(holder: Any, path: tuple[Step, ...]) -> Any:
    """What stands at the end of the way.

    Raises:
        AttributeError, LookupError: it is no longer there.
    """
    for attribute, key in path:
        holder = getattr(holder, key) if attribute else holder[key]
    return holder


def _parts(holder: Any) -> Iterator[tuple[Step, Any]]:
    if type(holder) is dict:
        yield from (((False, key), value) for key, value in list(holder.items())[:100])
    elif type(holder) in (list, tuple):
        yield from (((False, index), value) for index, value in enumerate(holder[:100]))
    elif is_object(holder):
        yield from (((True, name), value) for name, value in list(vars(holder).items())[:100])


def inside(holder: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """What an object of the program's own, or a container, holds."""
    for _, value in _parts(holder):
        yield value
        if depth > 1:
            yield from inside(value, depth - 1)


def is_object(value: Any) -> bool:
    """Whether it is an instance of a plain class that the program defines, and no layer or model."""
    kind = type(value)
    return isinstance(getattr(value, "__dict__", None), dict) and not hasattr(kind, "get_config") and _is_own(kind)


def _is_own(kind: type) -> bool:
    """Whether the program defines a method of the class."""
    codes = (getattr(plain(one), "__code__", None) for one in vars(kind).values())
    return any(code is not None and is_own(code) for code in codes)


def trains_inside(statement: ast.stmt, names: Mapping[str, Any]) -> bool:
    """Whether a statement calls a function, class or method of the program's own whose code trains a model or writes files."""
    for node in own(statement):
        func = node.func if isinstance(node, ast.Call) else None
        found, kind = None, None
        if isinstance(func, ast.Name):
            found = names.get(func.id)
        elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            holder = names.get(func.value.id)
            kind = type(holder)
            found = getattr(holder, func.attr, None) if inspect.ismodule(holder) else inspect.getattr_static(kind, func.attr, None)
        if _trains(found, kind, set()):
            return True
    return False


def _trains(value: Any, kind: type | None, seen: set[int]) -> bool:
    """Whether a function of the program's own, or one that it calls, names what trains or writes. ``kind``: the class that it is a method of."""
    if isinstance(value, type):
        return _trains(inspect.getattr_static(value, "__init__", None), value, seen)
    function = plain(value)
    if not isinstance(function, FunctionType) or id(function) in seen or not is_own(function.__code__):
        return False
    seen.add(id(function))
    named = {name for code in _running(function.__code__) for name in code.co_names}
    if named & _STEPS or any(map(writes, named)):
        return True
    others: list[tuple[Any, type | None]] = [(function.__globals__.get(name), None) for name in named]
    others += [(inspect.getattr_static(kind, name, None), kind) for name in named if kind is not None]
    return any(_trains(other, of, seen) for other, of in others)


def _running(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of its comprehensions and lambdas; functions and classes that it only defines are left out."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType) and part.co_name.startswith("<"):
            yield from _running(part)
