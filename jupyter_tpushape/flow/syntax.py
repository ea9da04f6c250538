"""Parses Python, whatever other threads do."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Literal, overload

from .text import MOST_SOURCE

Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# How often a parse is begun again.
_AGAIN = 20


@overload
def parse(text: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
@overload
def parse(text: str | bytes, mode: Literal["exec"] = "exec") -> ast.Module: ...
def parse(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """``ast.parse``. Python 3.11 counts how deep a tree is in one place for all threads, and raises where two of them parse at once.

    Raises:
        SyntaxError, ValueError, RecursionError: where it is no Python, as ``ast.parse`` does.
    """
    for _ in range(_AGAIN):
        try:
            return ast.parse(text, mode=mode)
        except SystemError:
            continue
    return ast.parse(text, mode=mode)


@lru_cache(maxsize=32)
def parsed(text: str) -> ast.Module | None:
    """The tree of a source, kept for those who ask for it again; ``None`` where it is no Python, or too long to be searched."""
    if len(text) > MOST_SOURCE:
        return None
    try:
        return parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def called(call: ast.AST | None) -> str:
    """The last part of the name of what is called; ``""`` where nothing is."""
    func = call.func if isinstance(call, ast.Call) else None
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def makes_object(call: ast.AST) -> bool:
    """Whether a call makes an object, by the names that classes have."""
    return called(call)[:1].isupper()


def assigned(statement: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with what it is given, where several are given several as well."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(one, value) for one in statement.targets]


def is_new_axis(index: ast.AST) -> bool:
    """Whether a part of an index inserts an axis of size 1: ``None``, or a library's name for it."""
    named = index.attr if isinstance(index, ast.Attribute) else getattr(index, "id", "")
    return (isinstance(index, ast.Constant) and index.value is None) or named == "newaxis"


def loaded(node: ast.AST) -> set[str]:
    """The names in a tree, without what they are attributes of."""
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def names_in(text: str) -> set[str]:
    """The names and attributes that an expression reads, such as ``x`` and ``self.kernel``; none where it is no Python."""
    try:
        tree = parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {ast.unparse(item) for item in ast.walk(tree) if isinstance(item, (ast.Name, ast.Attribute))}
