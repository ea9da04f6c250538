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
    made = _calls_that_made(seen) if type(seen.model) is adapter.Model else None
    for call in made[2] if made is not None else ():
        if len(call.args) > 2 and syntax.called(call) == "Model" and not any(isinstance(one, ast.Constant) for one in call.args):
            return Refused(ast.unparse(call.func), apart=tuple(map(ast.unparse, call.args[:-1])), what="inputs")
    return None


def _calls_that_made(seen: Any) -> tuple[Place, ast.AST, list[ast.Call]] | None:
    built = seen.recorder.made.get(id(seen.model)) if seen.recorder is not None else None
    where = built.where if built is not None else None
    scope = scope_of(where) if isinstance(where, Place) else None
    if scope is None or not isinstance(where, Place):
        return None
    return where, scope, [one for one in ast.walk(scope) if isinstance(one, ast.Call) and one.lineno == where[1]]


def replaced_input(seen: Any) -> Replaced | None:
    """The name that the model got as its inputs, where it no longer held the ``Input``."""
    made = _calls_that_made(seen)
    if made is None:
        return None
    where, scope, calls = made
    for call in calls:
        if len(call.args) + len(call.keywords) < 2:
            continue
        given = next((word.value for word in call.keywords if word.arg == "inputs"), next(iter(call.args), None))
        if not isinstance(given, ast.Name):
            continue
        held = [
            one.value
            for one in sorted((one for one in ast.walk(scope) if isinstance(one, ast.Assign)), key=lambda one: one.lineno)
            if one.lineno < call.lineno and [*map(ast.unparse, one.targets)] == [given.id]
        ]
        if len(held) > 1 and syntax.called(held[0]) == "Input" and syntax.called(held[-1]) != "Input":
            return Replaced(given.id, ast.unparse(held[-1]), held[0].lineno, Place(where[0], where[1]))
    return None
