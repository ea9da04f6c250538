"""Integers of one or two bytes that wrap around in the functions that make the data, seen while their lines run."""

from __future__ import annotations

import ast
import contextlib
import linecache
import operator
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import msgspec
import numpy as np

from ..flow import syntax
from ..trace.locations import is_user_file
from ..trace.raised import values_of

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {ast.Sub: operator.sub, ast.Add: operator.add, ast.Mult: operator.mul}
_NARROW = frozenset({"uint8", "uint16"})
# How often a line is looked at, and how many values are computed both ways.
_TURNS, _MOST = 4, 100_000
# What only reads the remainder of a sum means it to wrap around.
_ROUND = (ast.Mod, ast.BitAnd)


class Wrapped(msgspec.Struct, frozen=True):
    """A line of the data's code: ``text`` computes in ``dtype``, where ``left`` and ``right`` give ``made`` instead of ``meant``. ``array``: an operand."""

    file: str
    line: int
    text: str
    array: str
    dtype: str
    left: int
    right: int
    made: int
    meant: int


class Watch:
    """Looks at the sums, differences and products of the user's functions before their lines run. Nothing of theirs is called or changed."""

    def __init__(self) -> None:
        self.found: list[Wrapped] = []
        # By the id of a code, whose hash is that of all its parts; each is kept, so that no other one gets its id.
        self._lines: dict[int, dict[int, list[ast.BinOp]]] = {}
        self._codes: list[CodeType] = []
        self._turns: dict[int, int] = {}
        self._open = False

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """While this is open; not where a debugger or a measurement of coverage watches already."""
        if sys.gettrace() is not None:
            yield
            return
        self._open, others = True, threading.gettrace()
        threading.settrace(self._entered)  # a first batch may be waited for in a thread
        sys.settrace(self._entered)
        try:
            yield
        finally:
            self._open = False
            sys.settrace(None)
            threading.settrace(others)

    def _entered(self, frame: FrameType, event: str, _: Any) -> Any:
        if not self._open:
            sys.settrace(None)  # a thread of the user's that was started meanwhile and goes on
            return None
        code = frame.f_code
        if id(code) not in self._lines:
            self._lines[id(code)] = dict(_sums(code)) if is_user_file(code.co_filename) else {}
            self._codes.append(code)
        return self._ran if self._lines[id(code)] else None

    def _ran(self, frame: FrameType, event: str, _: Any) -> Any:
        waiting = self._lines[id(frame.f_code)]
        for node in list(waiting.get(frame.f_lineno, ())) if event == "line" else ():
            # An odd object of the user's ends the look at this line, and nothing else.
            with contextlib.suppress(Exception):
                self._turns[id(node)] = self._turns.get(id(node), 0) + 1
                seen = _wrapped(node, frame)
                self.found += [seen] if seen is not None else []
                if seen is not None or self._turns[id(node)] >= _TURNS:
                    waiting[frame.f_lineno].remove(node)
                    if not waiting[frame.f_lineno]:
                        del waiting[frame.f_lineno]
        return self._ran if waiting else None


def _sums(code: CodeType) -> Iterator[tuple[int, list[ast.BinOp]]]:
    """The sums, differences and products of a function, by the lines where their statements begin."""
    linecache.checkcache(code.co_filename)
    tree = syntax.parsed("".join(linecache.getlines(code.co_filename)))
    scopes = [] if tree is None else [one for one in ast.walk(tree) if isinstance(one, syntax.Function) and _begins(one) == code.co_firstlineno]
    for scope in scopes if len(scopes) == 1 and not isinstance(scopes[0], ast.Lambda) else ():
        for statement in _statements(scope):
            parts = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.expr)]
            meant = {id(one.left) for part in parts for one in ast.walk(part) if isinstance(one, ast.BinOp) and isinstance(one.op, _ROUND)}
            sums = [one for part in parts for one in ast.walk(part) if isinstance(one, ast.BinOp) and type(one.op) in _OPERATORS and id(one) not in meant]
            if sums:
                yield statement.lineno, sums


def _begins(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> int:
    return min([scope.lineno, *(int(one.lineno) for one in getattr(scope, "decorator_list", ()))])


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    for one in ast.iter_child_nodes(scope):
        if isinstance(one, ast.stmt):
            yield one
        if not isinstance(one, (*syntax.Function, ast.ClassDef, ast.expr)):
            yield from _statements(one)


def _wrapped(node: ast.BinOp, frame: FrameType) -> Wrapped | None:
    sides = [_value(one, frame) for one in (node.left, node.right)]
    arrays = [one for one in sides if isinstance(one, np.ndarray)]
    if not arrays or any(one is None for one in sides) or not {one.dtype.name for one in arrays} <= _NARROW:
        return None
    left, right = (one.reshape(-1)[:_MOST] if len(arrays) == 1 and isinstance(one, np.ndarray) else one for one in sides)
    if len(arrays) == 2 and arrays[0].size + arrays[1].size > 2 * _MOST:
        rows = max(1, _MOST // max(1, arrays[0].size // max(1, len(arrays[0]))))
        left, right = (one[:rows] if one.ndim == arrays[0].ndim == arrays[1].ndim else one for one in (left, right))
    apply = _OPERATORS[type(node.op)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made, wide = apply(left, right), apply(*(np.asarray(one).astype(np.int64) for one in (left, right)))
    off = np.flatnonzero(made != wide)
    if made.dtype.name not in _NARROW or not len(off):
        return None
    numbers = [int(one.reshape(-1)[off[0]]) for one in np.broadcast_arrays(left, right)]
    array = node.left if isinstance(sides[0], np.ndarray) else node.right
    results = (int(one.reshape(-1)[off[0]]) for one in (made, wide))
    return Wrapped(frame.f_code.co_filename, node.lineno, ast.unparse(node), ast.unparse(array), made.dtype.name, *numbers, *results)


def _value(node: ast.expr, frame: FrameType) -> Any:
    """What an operand is, if that is an array, a part of one, or a whole number; else ``None``."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Subscript):
        whole, index = _value(node.value, frame), _index(node.slice, frame)
        return whole[index] if isinstance(whole, np.ndarray) and index is not None else None
    found = values_of(frame).of(node)
    return found if type(found) is np.ndarray or type(found) is int else None


def _index(node: ast.expr, frame: FrameType) -> Any:
    """An index that is written with numbers, slices and names of both; else ``None``."""
    if isinstance(node, ast.Tuple):
        parts = [_index(one, frame) for one in node.elts]
        return tuple(parts) if all(one is not None for one in parts) else None
    if isinstance(node, ast.Slice):
        ends = [_number(one, frame) for one in (node.lower, node.upper, node.step)]
        written = [one is not None for one in (node.lower, node.upper, node.step)]
        return None if any(there and end is None for there, end in zip(written, ends, strict=True)) else slice(*ends)
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return Ellipsis
    found = _number(node, frame)
    if found is not None:
        return found
    held = values_of(frame).of(node)
    return held if type(held) in (slice, np.ndarray) else None


def _number(node: ast.expr | None, frame: FrameType) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, frame)
        return -inner if inner is not None else None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        sides = [_number(one, frame) for one in (node.left, node.right)]
        return _OPERATORS[type(node.op)](*sides) if None not in sides else None
    held = values_of(frame).of(node) if node is not None else None
    return int(held) if type(held) is int or isinstance(held, np.integer) else None
