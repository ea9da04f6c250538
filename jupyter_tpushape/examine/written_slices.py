"""Slices with both ends written, and what they come to. Nothing runs here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..flow import Location
from ..flow.syntax import assigned, computed, is_new_axis
from ..trace.locations import Place, file_of
from ..trace.raised import Raised, scope_of, tree_of


@dataclass(frozen=True)
class Written:
    """``node`` takes ``start`` to ``stop`` along one axis; the ends are ``lower`` and ``upper`` as written."""

    node: ast.Subscript
    lower: ast.expr
    upper: ast.expr
    start: int
    stop: int

    @property
    def text(self) -> str:
        return f"{ast.unparse(self.lower)}:{ast.unparse(self.upper)}"


def slices_at(place: Location, axis: int, rank: int, numbers: Mapping[str, int]) -> list[Written]:
    """The slices along an axis, counted from the front, of tensors of a rank in the function around a line, those on the line first.

    ``numbers``: what names are known to hold beside the constants of the text. Ends that a loop sets, and those that no text tells, are left out.
    """
    where = Place(file_of(place), place.line)
    tree, scope = tree_of(where), scope_of(where)
    if tree is None or scope is None:
        return []
    known = {**_constants(tree), **(_constants(scope) if scope is not tree else {}), **numbers}
    loops = {name.id for item in ast.walk(scope) if isinstance(item, (ast.For, ast.comprehension))
             for name in ast.walk(item.target) if isinstance(name, ast.Name)}  # fmt: skip
    found = []
    for node in ast.walk(scope):
        part = _along(node, axis, rank) if isinstance(node, ast.Subscript) else None
        if not isinstance(node, ast.Subscript) or part is None or part.lower is None or part.upper is None or part.step is not None:
            continue
        if {name.id for name in ast.walk(part) if isinstance(name, ast.Name)} & loops:
            continue
        start, stop = _value(part.lower, known), _value(part.upper, known)
        if start is not None and stop is not None:
            found.append(Written(node, part.lower, part.upper, start, stop))
    return sorted(found, key=lambda one: not one.node.lineno <= place.line <= (one.node.end_lineno or one.node.lineno))


def _along(node: ast.Subscript, axis: int, rank: int) -> ast.Slice | None:
    index = node.slice
    parts = [part for part in (index.elts if isinstance(index, ast.Tuple) else [index]) if not is_new_axis(part)]
    rest = next((i for i, part in enumerate(parts) if isinstance(part, ast.Constant) and part.value is ...), None)
    at = axis if rest is None or axis < rest else axis - rank + len(parts)
    part = parts[at] if 0 <= at < len(parts) and (rest is None or at != rest) else None
    return part if isinstance(part, ast.Slice) else None


def _constants(scope: ast.AST) -> dict[str, int]:
    """The whole numbers that the statements of a file or function give to names, each once."""
    found: dict[str, int] = {}
    body = getattr(scope, "body", [])
    statements = [item for item in (body if isinstance(body, list) else []) if isinstance(item, ast.Assign)]
    for item in statements:
        for name, value in assigned(item):
            number = _value(value, found)
            if isinstance(name, ast.Name) and number is not None:
                found[name.id] = number
    return found


def _value(node: ast.expr, known: Mapping[str, int]) -> int | None:
    return computed(node, lambda one: known.get(ast.unparse(one)))


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
    parts = {id(item.value) for item in ast.walk(scope) if isinstance(item, (ast.Subscript, ast.Attribute))}
    return [
        item
        for item in ast.walk(scope)
        if isinstance(item, (ast.Name, ast.Attribute)) and isinstance(item.ctx, ast.Load) and ast.unparse(item) == text and id(item) not in parts
    ]
