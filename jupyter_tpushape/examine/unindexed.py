"""Arrays that a function reads whole where it reads one entry of them, or of others of their kind, elsewhere. Nothing runs here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..flow.syntax import called, loaded
from ..trace.locations import Place
from ..trace.raised import Raised, scope_of

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
