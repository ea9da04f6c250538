"""Definitions that run again, and what they enter themselves into: a table of models that a decorator fills, a list that a base class keeps."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..trace.frameworks import registered
from ..trace.reach import Reached, reach_into
from .text.program import Text
from .text.source import NoPlace, Source


@contextlib.contextmanager
def entries_kept(text: Text) -> Iterator[None]:
    """What the decorators and base classes of a changed text's definitions write to gets back what it held: only a trial made the new entries.

    So do the tables of a framework, from which a model is loaded by its classes' names.
    """
    found = Reached(holders=[(table, dict(table)) for table in registered()])
    for file, source in text.sources.items():
        if source.changed:
            with contextlib.suppress(NoPlace):
                _collect(source, text.globals(file), found)
    try:
        yield
    finally:
        found.restore()


def _collect(source: Source, names: dict[str, Any], found: Reached) -> None:
    for item in source.tree.body:
        if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for decorator in item.decorator_list:
            for part in ast.walk(decorator):
                reach_into(_value(part, names), found)
        for base in item.bases if isinstance(item, ast.ClassDef) else ():
            _inherited(_value(base, names), found)


def _value(part: ast.AST, names: dict[str, Any]) -> Any:
    if isinstance(part, ast.Name):
        return names.get(part.id)
    if isinstance(part, ast.Attribute):
        owner = _value(part.value, names)
        return vars(owner).get(part.attr) if isinstance(owner, ModuleType) else owner
    return None


def _inherited(base: Any, found: Reached) -> None:
    for one in getattr(base, "__mro__", ()):
        told = vars(one).get("__init_subclass__")
        function = getattr(told, "__func__", told)
        if isinstance(function, FunctionType):
            reach_into(function, found)
            for held in list(vars(one).values()):
                if isinstance(held, (list, dict, set)):
                    reach_into(held, found)
