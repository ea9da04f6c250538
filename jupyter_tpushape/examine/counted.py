"""Tables with one entry for each sample, such as positions that count the batch, where the size of another axis was meant. Nothing runs here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..flow import Shape
from ..flow.syntax import assigned, called, shape_read
from ..trace.locations import Place
from ..trace.raised import Raised, scope_of

_RANGES = ("range", "arange")
_COMBINES = ("add", "subtract", "multiply")


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
    """The reads of the batch size that the number of entries of a table on the raised line comes from, which needs ``wanted``."""
    scope = scope_of(Place(raised.file, raised.line))
    shapes = {name: spec.shape for name, spec in raised.tensors}
    for node in ast.walk(scope) if scope is not None else ():
        if scope is None or not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant) or node.slice.value != 0:
            continue
        owner = shape_read(node.value) or shape_read(_named(scope, node))
        array = ast.unparse(owner) if owner is not None else ""
        shape = shapes.get(array) or ()
        axes = [axis for axis, size in enumerate(shape) if size == wanted and axis]
        if shape[:1] == (batch,) and len(axes) == 1 and _Tables(node, shapes, batch).on(scope, raised.line):
            yield Counted(node, array, axes[0])


def _named(scope: ast.AST, node: ast.Subscript) -> ast.expr | None:
    name = ast.unparse(node.value)
    found = [item.value for item in ast.walk(scope) if isinstance(item, ast.Assign) and [ast.unparse(one) for one in item.targets] == [name]]
    return found[0] if len(found) == 1 else None


class _Tables:
    """What a function makes with as many entries as ``read`` says. What is picked from tensors has their samples, and is none."""

    def __init__(self, read: ast.Subscript, shapes: Mapping[str, Shape | None], batch: int) -> None:
        self.read, self.shapes, self.batch = read, shapes, batch
        self.sizes, self.names = {ast.unparse(read)}, set[str]()

    def on(self, scope: ast.AST, line: int) -> bool:
        """Whether one is an operand on a line."""
        simple = [item for item in ast.walk(scope) if isinstance(item, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr))]
        for item in sorted(simple, key=lambda one: one.lineno):
            if item.lineno <= line <= (item.end_lineno or item.lineno):
                return any(self.is_one(part) for part in _operands(item))
            for target, given in assigned(item) if isinstance(item, ast.Assign) and item.lineno < line else ():
                size, one = ast.unparse(given) in self.sizes, self.is_one(given)
                for kind, holds in ((self.sizes, size), (self.names, one and not size)):
                    (kind.add if holds else kind.discard)(ast.unparse(target))
        return False

    def is_one(self, node: ast.expr) -> bool:
        """Whether an expression is such a table, or looked up with one alone."""
        inside = {id(part) for whole in ast.walk(node) if ast.unparse(whole) in self.sizes for part in ast.walk(whole)}
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and id(part) not in inside}
        if any((self.shapes.get(name) or ())[:1] in ((self.batch,), (None,)) for name in names - self.names):
            return False
        return bool(names & self.names) or any(self._makes(part) for part in ast.walk(node))

    def _makes(self, node: ast.AST) -> bool:
        """Whether an expression counts to one of the sizes, or takes that many entries of a table."""
        if isinstance(node, ast.Call) and called(node) in _RANGES:
            return any(ast.unparse(part) in self.sizes for part in (*node.args, *(word.value for word in node.keywords)))
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            taken = any(isinstance(part, ast.Slice) and part.upper is not None and ast.unparse(part.upper) in self.sizes for part in parts)
            return taken and (self.shapes.get(ast.unparse(node.value)) or ())[:1] != (self.batch,)
        return False


def _operands(statement: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(statement, ast.AugAssign):
        yield statement.value
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp):
            yield from (node.left, node.right)
        elif isinstance(node, ast.Call) and (called(node) in _COMBINES or isinstance(node.func, ast.Call)):
            for part in node.args:
                yield from part.elts if isinstance(part, (ast.List, ast.Tuple)) else [part]
