"""A sequence that a function uses once without its first or last step, and once whole. Nothing runs here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..trace.locations import Place
from ..trace.raised import Raised, scope_of

_OTHER = {":-1": "1:", "1:": ":-1"}


@dataclass(frozen=True)
class Shifted:
    """``whole`` reads a sequence of which ``cut`` takes all steps but one; ``other`` is the slice that goes with that one."""

    whole: ast.expr
    cut: ast.Subscript
    other: str


def shifted(raised: Raised) -> Iterator[Shifted]:
    """The sequences of the function around a line."""
    scope = scope_of(Place(raised.file, raised.line))
    for item in ast.walk(scope) if scope is not None else ():
        cut = _cut(item) if isinstance(item, ast.Subscript) else ""
        if scope is not None and isinstance(item, ast.Subscript) and cut:
            text = ast.unparse(item.value)
            yield from (Shifted(whole, item, f"{text}[:, {_OTHER[cut]}]") for whole in _whole(scope, text))


def _cut(item: ast.Subscript) -> str:
    """The slice along the steps, where an index takes all steps but the first or the last of all samples."""
    parts = [ast.unparse(part) for part in item.slice.elts] if isinstance(item.slice, ast.Tuple) else []
    others = (*parts[:1], *parts[2:])
    return parts[1] if len(parts) > 1 and parts[1] in _OTHER and all(part == ":" for part in others) else ""


def _whole(scope: ast.AST, text: str) -> list[ast.expr]:
    """Where a function reads the same sequence, and takes no part of it."""
    parts = {id(item.value) for item in ast.walk(scope) if isinstance(item, (ast.Subscript, ast.Attribute))}
    return [
        item
        for item in ast.walk(scope)
        if isinstance(item, (ast.Name, ast.Attribute))
        and isinstance(item.ctx, ast.Load)
        and ast.unparse(item) == text
        and id(item) not in parts
    ]
