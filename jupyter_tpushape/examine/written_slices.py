"""Slices with both ends written, and what they come to; arrays that are read whole where others of their kind are read entry by entry. Nothing runs here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..flow import Location
from ..flow.syntax import assigned, called, computed, is_new_axis, loaded
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


_DEPTH = 3
_LOOKUPS = ("gather", "take", "embedding_lookup")


@dataclass(frozen=True)
class Entry:
    """An index that varies, such as that of a loop or a tensor of positions.

    Attributes:
        array: what it is applied to, as written. before, after: the text around that. line: where it stands.
    """

    array: str
    before: str
    after: str
    line: int

    def of(self, array: str) -> str:
        """The same entry of another array."""
        return f"{self.before}{array}{self.after}"


def unindexed(raised: Raised, fits: Callable[[str], bool]) -> Iterator[tuple[ast.expr, Entry]]:
    """What the raised line, or one that it has a name from, reads whole, with the entries that others read: those of the same array first.

    ``fits``: whether what is written can be meant.
    """
    scope = scope_of(Place(raised.file, raised.line))
    if scope is None:
        return
    shapes = {name: spec.shape for name, spec in raised.tensors}
    entries = list(_entries(scope))
    inside = {id(item.value) for item in ast.walk(scope) if isinstance(item, (ast.Subscript, ast.Attribute))}
    looked = (item.args[0] for item in ast.walk(scope) if isinstance(item, ast.Call) and called(item) in _LOOKUPS and item.args)
    inside |= {id(part) for array in looked for part in ast.walk(array)}
    found: list[tuple[ast.expr, Entry]] = []
    for statement in _from(scope, raised.line, _DEPTH):
        for item in ast.walk(statement):
            if not isinstance(item, (ast.Name, ast.Attribute)) or not isinstance(item.ctx, ast.Load) or id(item) in inside:
                continue
            text = ast.unparse(item)
            for entry in entries if fits(text) else ():
                rows = [(shapes.get(name) or (None,))[0] for name in (text, entry.array)]
                if None in rows or rows[0] == rows[1]:
                    found.append((item, entry))
    yield from sorted(found, key=lambda pair: ast.unparse(pair[0]) != pair[1].array)


def _entries(scope: ast.AST) -> Iterator[Entry]:
    """The reads of one entry: by an index that is a name or computed from one, and by a lookup along the first axis."""
    for item in ast.walk(scope):
        if isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Load) and isinstance(item.value, (ast.Name, ast.Attribute)):
            if loaded(item.slice) and not isinstance(item.slice, (ast.Slice, ast.Tuple)) and _reads(item.value) != "shape":
                yield Entry(ast.unparse(item.value), "", f"[{ast.unparse(item.slice)}]", item.lineno)
        elif isinstance(item, ast.Call) and called(item) in _LOOKUPS and len(item.args) == 2 and not item.keywords:
            array = item.args[0]
            inner = array.args[0] if isinstance(array, ast.Call) and len(array.args) == 1 else array
            yield Entry(ast.unparse(inner), f"{ast.unparse(item.func)}(", f", {ast.unparse(item.args[1])})", item.lineno)


def _reads(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _from(scope: ast.AST, line: int, depth: int) -> Iterator[ast.stmt]:
    simple = [item for item in ast.walk(scope) if isinstance(item, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr))]
    here = [item for item in simple if item.lineno <= line <= (item.end_lineno or item.lineno)]
    yield from here
    names = {name for item in here for name in loaded(item)}
    for item in simple if depth else ():
        targets = {one.id for one in getattr(item, "targets", ()) if isinstance(one, ast.Name)}
        if targets & names and (item.end_lineno or item.lineno) < line:
            yield from _from(scope, item.lineno, depth - 1)
