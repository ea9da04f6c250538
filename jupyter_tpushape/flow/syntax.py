"""Parses Python, whatever other threads do."""

from __future__ import annotations

import ast
from typing import Literal, overload

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


def names_in(text: str) -> set[str]:
    """The names and attributes that an expression reads, such as ``x`` and ``self.kernel``; none where it is no Python."""
    try:
        tree = parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {ast.unparse(item) for item in ast.walk(tree) if isinstance(item, (ast.Name, ast.Attribute))}
