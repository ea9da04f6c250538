"""How many models and inputs a builder makes, read off its code before it has come to its end.

A builder that breaks has not said which of its models it would have returned. Its inputs can be compared with
the data only where there is one model, with one input, in all that it runs.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..trace.reach import is_own, plain

_DEPTH = 8
_MODELS = frozenset({"Sequential", "Model", "Functional"})
_INPUTS = frozenset({"Input", "InputLayer"})


@dataclass
class Makes:
    """How often the code of a builder names a model's class, and an input's."""

    models: int = 0
    inputs: int = 0


def makes(builder: Any) -> Makes:
    """What a builder makes, the user's own functions that it names included; a loop counts twice."""
    found = Makes()
    _function(builder, found, 1, 0)
    return found


def _function(function: Any, found: Makes, times: int, depth: int) -> None:
    if isinstance(function, functools.partial):
        for item in (*function.args, *function.keywords.values()):
            _value(item, "", found, times, depth + 1)
    function = plain(function)
    if not isinstance(function, (FunctionType, MethodType)):
        function = vars(type(function)).get("__call__")
    if depth > _DEPTH or not isinstance(function, FunctionType) or not is_own(function.__code__):
        return
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    _code(function.__code__, names, found, times, depth)


def _code(code: CodeType, names: dict[str, Any], found: Makes, times: int, depth: int) -> None:
    for name, value, often in _named(code, names):
        _value(value, name, found, times * often, depth)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = 2 if constant.co_name in ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>") else 1
            _code(constant, names, found, times * inner, depth)


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """``(last name, object or None, how often)`` of every name or chain of attributes in the code."""
    instructions = list(dis.get_instructions(code))
    loops = [(int(one.argval), one.offset) for one in instructions if "JUMP_BACKWARD" in one.opname and isinstance(one.argval, int)]
    name, value, offset = "", None, 0
    for one in instructions:
        if one.opname in ("LOAD_ATTR", "LOAD_METHOD") and name:
            name, value = str(one.argval), getattr(value, str(one.argval), None) if isinstance(value, ModuleType) else None
            continue
        if name:
            yield name, value, 2 if any(first <= offset <= last for first, last in loops) else 1
            name = ""
        if one.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST")) and isinstance(one.argval, str):
            name, value, offset = one.argval, names.get(one.argval), one.offset


def _value(value: Any, name: str, found: Makes, times: int, depth: int) -> None:
    if isinstance(value, type):
        bases = {base.__name__ for base in value.__mro__ if (base.__module__ or "").startswith(("keras.", "tf_keras."))}
        found.models += times * bool(bases & _MODELS)
        found.inputs += times * ("InputLayer" in bases)
    elif (isinstance(value, FunctionType) and is_own(value.__code__)) or isinstance(value, functools.partial):
        _function(value, found, times, depth + 1)
    elif any(base.__name__ == "Model" and (base.__module__ or "").startswith(("keras.", "tf_keras.")) for base in type(value).__mro__):
        found.models += times
    else:
        found.models += times * (name in _MODELS)
        found.inputs += times * (name in _INPUTS)
