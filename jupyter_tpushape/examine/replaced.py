"""The name of an input that is given to something else before the model is made of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from ..flow import syntax
from ..trace.framework import Framework
from ..trace.locations import Place
from ..trace.raised import scope_of
from ..trace.signature import Refused


@dataclass(frozen=True)
class Replaced:
    """``name`` held an ``Input``, made at ``made``; it was given ``value`` before the model was made of it, at ``place``."""

    name: str
    value: str
    made: int
    place: Place


def inputs_apart(seen: Any, adapter: Framework) -> Refused | None:
    """The inputs of a model that were given one by one, which were taken for the arguments of a subclass."""
    built = seen.recorder.made.get(id(seen.model)) if seen.recorder is not None and type(seen.model) is adapter.Model else None
    where = built.where if built is not None else None
    scope = scope_of(where) if isinstance(where, Place) else None
    if scope is None or where is None:
        return None
    for call in ast.walk(scope):
        if isinstance(call, ast.Call) and call.lineno == where[1] and len(call.args) > 2 and syntax.called(call) == "Model":
            return Refused(ast.unparse(call.func), apart=tuple(map(ast.unparse, call.args[:-1])), what="inputs")
    return None


def replaced_input(seen: Any) -> Replaced | None:
    """The name that the model got as its inputs, where it no longer held the ``Input``."""
    built = seen.recorder.made.get(id(seen.model)) if seen.recorder is not None else None
    where = built.where if built is not None else None
    scope = scope_of(where) if isinstance(where, Place) else None
    if scope is None or where is None:
        return None
    for call in ast.walk(scope):
        if not isinstance(call, ast.Call) or call.lineno != where[1] or len(call.args) + len(call.keywords) < 2:
            continue
        given = next((word.value for word in call.keywords if word.arg == "inputs"), next(iter(call.args), None))
        if not isinstance(given, ast.Name):
            continue
        held = [
            one.value
            for one in ast.walk(scope)
            if isinstance(one, ast.Assign) and one.lineno < call.lineno and [*map(ast.unparse, one.targets)] == [given.id]
        ]
        if len(held) > 1 and syntax.called(held[0]) == "Input" and syntax.called(held[-1]) != "Input":
            return Replaced(given.id, ast.unparse(held[-1]), held[0].lineno, Place(where[0], where[1]))
    return None
