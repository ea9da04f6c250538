"""Numbers that a line cannot use, and the expression that made them, however far above: sizes that are None, and quotients for whole numbers."""

from __future__ import annotations

import ast
import functools
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from ..flow import Shape
from .framework import Framework
from .locations import Place, Span


class Unknown(msgspec.Struct, frozen=True):
    """An expression that reads a static size, and got None.

    Attributes:
        span: where it stands; ``function``: the name of the function around it.
        text: as written; ``tensor``: whose size it reads, as written; ``shape``: of that tensor.
        axis: which of its sizes; ``None`` where the whole shape is meant.
        name: what the size is called, where the whole shape is unpacked there into names.
    """

    file: str
    line: int
    span: Span
    function: str
    text: str
    tensor: str
    shape: Shape
    axis: int | None = None
    name: str = ""


class Quotient(msgspec.Struct, frozen=True):
    """A division whose result is a float, where a line needs a whole number; ``value``: the result, where it is known."""

    file: str
    line: int
    span: Span
    function: str
    text: str
    value: float | None


class Values(Protocol):
    """What the names of a frame lead to."""

    def of(self, node: ast.AST) -> Any: ...


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Module and function that ran, the line, and what the names held; innermost first.
Frames = Sequence[tuple[ast.AST | None, ast.AST | None, Place, Values]]
R = TypeVar("R", bound=msgspec.Struct)


def unknown_sizes(frames: Frames, adapter: Framework) -> tuple[Unknown, ...]:
    """Where the sizes come from that the innermost line needs and that are None."""
    return _traced(frames, lambda value: value is None, functools.partial(_Sizes, adapter))


def quotients(frames: Frames, adapter: Framework) -> tuple[Quotient, ...]:
    """The divisions from which the innermost line has a float without a fraction."""
    return _traced(frames, lambda value: type(value) is float and value.is_integer(), functools.partial(_Quotients, adapter))


def _traced(frames: Frames, holds: Callable[[Any], bool], reader_of: Callable[..., _Reader[R]]) -> tuple[R, ...]:
    for module, scope, place, values in frames:
        if module is None or scope is None:
            return ()
        running, reader = _running(scope, place), reader_of(module, scope, place, values)
        names = {node.id for item in running for node in reader.asked(item) if isinstance(node, ast.Name) and holds(values.of(node))}
        found = [one for item in running for one in reader.read(item)] or [one for name in sorted(names) for one in reader.given(name)]
        if found:
            return tuple(dict.fromkeys(found))
        # What a function was handed, its caller made.
        if not any(_takes(scope, name) for name in names):
            return ()
    return ()


class _Reader(ABC, Generic[R]):
    """What one function reads or makes."""

    def __init__(self, adapter: Framework, module: ast.AST, scope: ast.AST, place: Place, values: Values) -> None:
        self.module, self.scope, self.place, self.values, self.adapter = module, scope, place, values, adapter

    def asked(self, running: ast.AST) -> Iterator[ast.AST]:
        """The parts of an expression that are in question; what it compares is no number that it needs."""
        if not isinstance(running, (ast.Compare, ast.Lambda)) and not self.known(running):
            yield running
            for part in ast.iter_child_nodes(running):
                yield from self.asked(part)

    def read(self, running: ast.AST) -> Iterator[R]:
        """What an expression holds of it."""
        inside: set[int] = set()
        for node in self.asked(running):
            found = self.one(node) if isinstance(node, ast.expr) and id(node) not in inside else None
            if found is not None:
                inside |= {id(part) for part in ast.walk(node)}
                yield found

    def given(self, name: str) -> Iterator[R]:
        """What an assignment gave to a name; in a function around, or the module, where this one only reads it."""
        assigned = [node for node in self.assigned(self.scope) if node.lineno <= self.place[1]]
        line = getattr(self.scope, "lineno", 0)
        around = [item for item in ast.walk(self.module) if isinstance(item, _FUNCTIONS) and item.lineno <= line <= (item.end_lineno or 0)]
        if not any(_names(node, name) for node in assigned) and not _takes(self.scope, name):
            scopes = sorted((item for item in around if item is not self.scope), key=lambda item: -item.lineno)
            found = ([node for node in self.assigned(scope) if _names(node, name)] for scope in scopes)
            top = [node for node in getattr(self.module, "body", ()) if isinstance(node, ast.Assign) and _names(node, name)]
            assigned = next((nodes for nodes in found if nodes), top)
        for node in assigned:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name) and target.id == name:
                yield from self.read(value)
            elif isinstance(target, ast.Tuple):
                held = [item.id if isinstance(item, ast.Name) else "" for item in target.elts]
                if name in held and isinstance(value, ast.Tuple) and len(value.elts) == len(held):
                    yield from self.read(value.elts[held.index(name)])
                elif name in held:
                    yield from self.unpacked(value, name, held.index(name))

    @staticmethod
    def assigned(scope: ast.AST) -> list[ast.Assign]:
        return [node for node in ast.walk(scope) if isinstance(node, ast.Assign) and len(node.targets) == 1]

    @abstractmethod
    def one(self, node: ast.expr) -> R | None:
        """What an expression is, where it is one that is asked about."""

    def known(self, node: ast.AST) -> bool:
        """Whether nothing in an expression is in question."""
        return False

    def unpacked(self, node: ast.expr, name: str, place: int) -> Iterator[R]:
        return iter(())

    def kept(self, node: ast.Attribute) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
        """What the methods of the class around give to an attribute."""
        around = [item for item in ast.walk(self.module) if isinstance(item, ast.ClassDef) and any(one is self.scope for one in item.body)]
        for method in (item for cls in around for item in cls.body if isinstance(item, ast.FunctionDef)):
            for item in ast.walk(method):
                if isinstance(item, ast.Assign) and [ast.unparse(target) for target in item.targets] == [ast.unparse(node)]:
                    yield method, item.value

    def tensor(self, node: ast.expr) -> tuple[str, tuple[int | None, ...]] | None:
        """A tensor as written, and its static shape."""
        value = self.values.of(node)
        shape = self.adapter.spec(value).shape if self.adapter.is_tensor(value) else None
        return (ast.unparse(node), shape) if shape is not None else None

    def shape_of(self, node: ast.expr) -> tuple[str, tuple[int | None, ...]] | None:
        """The tensor whose static shape an expression is, as written, and the shape."""
        if isinstance(node, ast.Name):
            # In ``s = s.as_list()``, the second is not given what the first is.
            place, all_of = (node.lineno, node.col_offset), self.assigned(self.scope)
            above = (item for item in all_of if (item.end_lineno or item.lineno, item.end_col_offset or 0) <= place)
            made = [item.value for item in above if _is(item.targets, node.id)]
            return self.shape_of(made[-1]) if made and not isinstance(made[-1], ast.Name) else None
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return self.tensor(node.value)
        if not isinstance(node, ast.Call):
            return None
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = ast.unparse(node.func).rsplit(".", 1)[-1]
        if method in ("as_list", "get_shape") and isinstance(node.func, ast.Attribute):
            return self.shape_of(node.func.value) if method == "as_list" else self.tensor(node.func.value)
        if len(node.args) != 1 or name not in ("int_shape", "tuple", "list"):
            return None
        return self.tensor(node.args[0]) if name == "int_shape" else self.shape_of(node.args[0])

    def where(self, node: ast.expr) -> tuple[str, int, Span, str]:
        span = (node.lineno, node.end_lineno or node.lineno, node.col_offset, node.end_col_offset or 0)
        return self.place[0], node.lineno, span, getattr(self.scope, "name", "<lambda>" if isinstance(self.scope, ast.Lambda) else "")


class _Sizes(_Reader[Unknown]):
    """Static sizes that are None."""

    def known(self, node: ast.AST) -> bool:
        whole = isinstance(node, ast.Subscript) and _whole(node.slice) is not None and self.shape_of(node.value) is not None
        return whole and self.one(node) is None  # type: ignore[arg-type]  # a subscript

    def one(self, node: ast.expr) -> Unknown | None:
        if isinstance(node, ast.Attribute) and self.values.of(node) is None:
            return self._of_build(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            counted = self.tensor(node.args[0])
            return Unknown(*self.where(node), ast.unparse(node), *counted, axis=0) if counted is not None and counted[1] else None
        if isinstance(node, ast.Subscript):
            return self._missing(node, self.shape_of(node.value), _whole(node.slice))
        known = None if isinstance(node, ast.Name) else self.shape_of(node)
        return Unknown(*self.where(node), ast.unparse(node), *known) if known is not None and None in known[1] else None

    def unpacked(self, node: ast.expr, name: str, place: int) -> Iterator[Unknown]:
        known = self.shape_of(node)
        if known is not None:
            yield Unknown(*self.where(node), ast.unparse(node), *known, axis=place, name=name)

    def _of_build(self, node: ast.Attribute) -> Unknown | None:
        """A size that ``build`` kept in an attribute: the first tensor that this function takes has it."""
        taken = getattr(self.scope, "args", None)
        if taken is None or len(taken.args) < 2:
            return None
        first = self.tensor(ast.Name(taken.args[1].arg, ast.Load()))
        for method, made in self.kept(node):
            shape = method.args.args[1].arg if method.name == "build" and len(method.args.args) > 1 else ""
            if isinstance(made, ast.Subscript) and ast.unparse(made.value) == shape:
                return self._missing(node, first, _whole(made.slice))
        return None

    def _missing(self, node: ast.expr, known: tuple[str, tuple[int | None, ...]] | None, axis: int | None) -> Unknown | None:
        if known is None or axis is None or not -len(known[1]) <= axis < len(known[1]) or known[1][axis] is not None:
            return None
        return Unknown(*self.where(node), ast.unparse(node), *known, axis=axis)


_COMPUTES: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


class _Quotients(_Reader[Quotient]):
    """Divisions of numbers whose result has no fraction."""

    def known(self, node: ast.AST) -> bool:
        # A number beside a tensor has its dtype, and is no size; a list is repeated a whole number of times.
        listed = isinstance(node, ast.BinOp) and any(isinstance(side, (ast.List, ast.Tuple)) for side in (node.left, node.right))
        return isinstance(node, ast.BinOp) and not listed and self.number(node) is None

    def one(self, node: ast.expr) -> Quotient | None:
        if isinstance(node, ast.Attribute):
            value = self.values.of(node)
            made = [expr for _, expr in self.kept(node)] if type(value) is float and value.is_integer() else []
            divided = next((part for expr in made for part in ast.walk(expr) if _divides(part)), None)
            return Quotient(*self.where(divided), ast.unparse(divided), value) if isinstance(divided, ast.BinOp) else None
        if not isinstance(node, ast.BinOp) or not _divides(node):
            return None
        value = self.number(node)
        return Quotient(*self.where(node), ast.unparse(node), value) if type(value) is float and value.is_integer() else None

    def number(self, node: ast.expr) -> float | None:
        """What an expression of numbers comes to."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTES:
            left, right = self.number(node.left), self.number(node.right)
            try:
                return None if left is None or right is None else float(v) if isinstance(v := _COMPUTES[type(node.op)](left, right), float) else v
            except (ArithmeticError, ValueError):
                return None
        if isinstance(node, ast.Subscript):
            known, axis = self.shape_of(node.value), _whole(node.slice)
            # A shape that build was handed is a tuple of numbers.
            held = known[1] if known is not None else self.values.of(node.value)
            value = held[axis] if type(held) in (list, tuple) and axis is not None and -len(held) <= axis < len(held) else None
            return value if type(value) in (int, float) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            held = self.values.of(node.args[0])
            return len(held) if type(held) in (list, tuple, str, dict, set) else None
        value = self.values.of(node)
        return value if type(value) in (int, float) and math.isfinite(value) else None


def _divides(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _running(scope: ast.AST, place: Place) -> list[ast.AST]:
    span, line = place.span, place[1]
    held = [node for node in ast.walk(scope) if isinstance(node, (ast.expr, ast.stmt))]
    exact = [node for node in held if isinstance(node, ast.expr) and span == (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)]
    if exact:
        return list(exact[:1])
    simple = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
    return [node for node in held if isinstance(node, simple) and node.lineno <= line <= (node.end_lineno or line)] or (
        [scope.body] if isinstance(scope, ast.Lambda) else []
    )


def _names(node: ast.Assign, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name for target in node.targets for item in ast.walk(target))


def _takes(scope: ast.AST, name: str) -> bool:
    taken = getattr(scope, "args", None)
    return taken is not None and name in {arg.arg for arg in [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]}


def _is(targets: list[ast.expr], name: str) -> bool:
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


def _whole(node: ast.expr) -> int | None:
    minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    value = node.operand if isinstance(node, ast.UnaryOp) and minus else node
    if not isinstance(value, ast.Constant) or type(value.value) is not int:
        return None
    return -value.value if minus else value.value
