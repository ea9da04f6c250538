"""Tables with one entry for each sample, such as positions that count the batch, where the size of another axis was meant. Nothing runs here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..flow.syntax import assigned, called, loaded
from ..trace.locations import Place
from ..trace.raised import Raised, scope_of

_RANGES = ("range", "arange")


@dataclass(frozen=True)
class Counted:
    """``node`` reads the batch size off the shape of ``array``, and the raised line has a table of that many entries; ``axis``: the one that has as many as it needs."""

    node: ast.Subscript
    array: str
    axis: int

    @property
    def new(self) -> str:
        return f"{ast.unparse(self.node.value)}[{self.axis}]"


def counted(raised: Raised, batch: int, wanted: int) -> Iterator[Counted]:
    """The reads of the batch size that the number of entries of a table on the raised line comes from.

    Args:
        raised: the line that raised.
        batch: the number of samples.
        wanted: how many entries the table needs.
    """
    scope = scope_of(Place(raised.file, raised.line))
    shapes = {name: spec.shape for name, spec in raised.tensors}
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant) or node.slice.value != 0:
            continue
        array = ast.unparse(owner) if (owner := _whose(node.value)) is not None else ""
        shape = shapes.get(array) or ()
        axes = [axis for axis, size in enumerate(shape) if size == wanted and axis]
        if shape[:1] == (batch,) and len(axes) == 1 and scope is not None and _reaches(scope, node, raised.line, shapes, batch):
            yield Counted(node, array, axes[0])


def _whose(node: ast.expr) -> ast.expr | None:
    """The tensor whose shape is read."""
    if isinstance(node, ast.Call) and called(node) in ("shape", "int_shape") and len(node.args) == 1:
        return node.args[0]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "shape" else None


def _reaches(scope: ast.AST, node: ast.Subscript, line: int, shapes: dict[str, tuple[int | None, ...] | None], batch: int) -> bool:
    """Whether a table with as many entries as ``node`` reads is on a line, by itself or looked up. What is picked from tensors has their rows."""
    sizes, tables = {ast.unparse(node)}, set[str]()
    simple = [item for item in ast.walk(scope) if isinstance(item, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr))]
    for item in sorted(simple, key=lambda one: one.lineno):
        value = item.value
        made = value is not None and any(_makes(part, sizes, shapes, batch) for part in ast.walk(value))
        if item.lineno <= line <= (item.end_lineno or item.lineno):
            return made or bool(tables & loaded(item))
        if not isinstance(item, ast.Assign) or item.lineno > line:
            continue
        for target, given in assigned(item):
            name = ast.unparse(target)
            size = ast.unparse(given) in sizes
            others = [text for text in loaded(given) - tables - sizes if shapes.get(text) and text != _array(node)]
            makes = tables & loaded(given) or any(_makes(part, sizes, shapes, batch) for part in ast.walk(given))
            for kind, is_one in ((sizes, size), (tables, not size and not others and bool(makes))):
                (kind.add if is_one else kind.discard)(name)
    return False


def _array(node: ast.Subscript) -> str:
    owner = _whose(node.value)
    return ast.unparse(owner) if owner is not None else ""


def _makes(node: ast.AST, sizes: set[str], shapes: dict[str, tuple[int | None, ...] | None], batch: int) -> bool:
    """Whether an expression counts to one of the sizes, or takes that many entries of a table."""
    if isinstance(node, ast.Call) and called(node) in _RANGES:
        return any(ast.unparse(part) in sizes for part in (*node.args, *(word.value for word in node.keywords)))
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        taken = any(isinstance(part, ast.Slice) and part.upper is not None and ast.unparse(part.upper) in sizes for part in parts)
        return taken and (shapes.get(ast.unparse(node.value)) or ())[:1] != (batch,)
    return False
