"""The line of the user's own that raised: where in it, and what its names held then."""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any, Literal

import msgspec
import numpy as np

from ..flow import Location, Spec, syntax
from ..flow.text import words
from ..internal import last_entry
from .framework import Framework
from .locations import Place, Span, is_user_file, location, own_file, written_by_the_user
from .written_numbers import Quotient, Unknown, quotients, unknown_sizes

_MISSING = object()
# What autograph writes in front of the line behind one that it generated.
_CONVERTED = re.compile(r'File "([^"]+)", line (\d+), in (\w+)')
# What is said where a size is missing: None, or that a length has no number.
_NONE = re.compile(r"\bNone|len is not well defined")
# What is said where a float stands for a whole number.
_WHOLE = re.compile(r"\bfloat\b|\binteger|\d\.0\b|__index__")
_CALLERS = 3  # lines further out, that may have called with something else than they meant
_GENERATED = "__autograph_generated_file"


class Raised(msgspec.Struct, frozen=True):
    """The innermost line of the user's own code that was running when something raised.

    Attributes:
        span: the expression that ran, as the interpreter tells it from Python 3.11 on; ``text``: as written.
        function: the name of the function that the line stands in; ``method``: whether it is one of an object.
        tensors: the expressions in the function that hold a tensor, as written, with their specs; names come first.
        numbers: those that hold a whole number; ``lengths``: a list or a tuple. ``variables``: those that hold a variable of the framework;
            ``holders``: a list or tuple with one.
        nothing: the names that hold None, each with the expression that gave it to them. ``watched``: what tapes were told to watch.
        unknown: where the line's sizes come from that are None because a tensor does not have them yet.
        quotients: the divisions from which it has floats where it needs whole numbers.
        decides: the statement whose condition stands on the line, a loop or an assertion; ``""`` for any other.
        callers: the user's lines that were calling it, innermost first.
    """

    file: str
    line: int
    span: Span | None
    function: str
    tensors: tuple[tuple[str, Spec], ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()
    text: str = ""
    method: bool = False
    variables: tuple[str, ...] = ()
    nothing: tuple[tuple[str, str], ...] = ()
    watched: tuple[tuple[str, str], ...] = ()
    decides: Literal["", "while", "assert"] = ""
    unknown: tuple[Unknown, ...] = ()
    quotients: tuple[Quotient, ...] = ()
    callers: tuple[Raised, ...] = ()
    lengths: tuple[tuple[str, int], ...] = ()
    holders: tuple[str, ...] = ()


def raised_at(error: BaseException, adapter: Framework) -> Raised | None:
    """The line that raised; ``None`` where none of the user's own was running."""
    running: list[tuple[FrameType, Place]] = []
    seen: set[int] = set()
    said = words(error)
    while not running and error is not None and id(error) not in seen:
        seen.add(id(error))
        running = frames_of(error)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    if not running:
        return None
    frame, place = running[0]
    scope = scope_of(place)
    if scope is None:
        return None
    frames = [(*_around(at), at, _Values(one)) for one, at in running]
    return msgspec.structs.replace(
        _line(frame, place, scope, adapter),
        nothing=tuple(_given(scope, [name for name, value in frame.f_locals.items() if value is None])),
        watched=tuple(_watched(scope)),
        decides=_decides(scope, place[1]),
        unknown=unknown_sizes(frames, adapter) if _NONE.search(said) else (),
        quotients=quotients(frames, adapter) if _WHOLE.search(said) else (),
        callers=tuple(
            _line(one, at, around, adapter)
            for one, at in running[1 : _CALLERS + 1]
            if (around := scope_of(at)) is not None and not isinstance(around, ast.Module)
        ),
    )


def _line(frame: FrameType, place: Place, scope: ast.AST, adapter: Framework) -> Raised:
    values = _Values(frame)
    tensors, numbers, lengths, variables, holders = {}, {}, {}, [], []
    read = [item for item in ast.walk(scope) if isinstance(item, (ast.Name, ast.Attribute))]
    taken = [ast.Name(item.arg) for item in ast.walk(scope) if isinstance(item, ast.arg)]  # arguments that nothing reads
    for node in sorted([*read, *taken], key=_depth):
        text = ast.unparse(node)
        if text in tensors or text in numbers:
            continue
        value = values.of(node)
        with contextlib.suppress(Exception):  # an object may refuse to be looked at
            if type(value) is int:
                numbers[text] = value
            elif type(value) in (list, tuple):
                lengths[text] = len(value)
                holders += [text] if _holds_variable(value, adapter) else []
            elif value is not _MISSING and adapter.is_tensor(value):
                tensors[text] = adapter.spec(value)
            elif value is not _MISSING and adapter.is_variable(value):
                variables.append(text)
            elif isinstance(value, np.ndarray) and value.ndim:
                tensors[text] = Spec(value.shape, str(value.dtype))
    return Raised(
        place[0],
        place[1],
        place.span,
        frame.f_code.co_name.removeprefix("tf__"),
        tuple(tensors.items()),
        tuple(numbers.items()),
        _text(place),
        frame.f_code.co_varnames[:1] == ("self",),
        tuple(dict.fromkeys(variables)),
        lengths=tuple(lengths.items()),
        holders=tuple(dict.fromkeys(holders)),
    )


def _holds_variable(value: Any, adapter: Framework, depth: int = 3) -> bool:
    if type(value) in (list, tuple):
        return depth > 0 and any(_holds_variable(one, adapter, depth - 1) for one in value[:20])
    return adapter.is_variable(value)


def _decides(scope: ast.AST, line: int) -> Literal["", "while", "assert"]:
    for node in ast.walk(scope):
        if isinstance(node, (ast.While, ast.Assert)) and node.test.lineno <= line <= (node.test.end_lineno or 0):
            return "while" if isinstance(node, ast.While) else "assert"
    return ""


def _watched(scope: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "watch" and node.args:
            given = node.args[0]
            for one in given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]:
                yield ast.unparse(node.func.value), ast.unparse(one)


def _given(scope: ast.AST, names: list[str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names:
            yield node.targets[0].id, ast.unparse(node.value)


def innermost(error: BaseException) -> tuple[FrameType, Place, str] | None:
    """The user's innermost line that was running when something raised, its frame, and the expression as written."""
    found = next(iter(frames_of(error)), None)
    return None if found is None else (*found, _text(found[1]))


def values_of(frame: FrameType) -> _Values:
    """What the names of a frame lead to."""
    return _Values(frame)


def raised_by(place: Place) -> Raised | None:
    """The line that made an operation, where the operation raised long after it had run; what its names held is gone."""
    scope = scope_of(place)
    if scope is None:
        return None
    return Raised(place[0], place[1], place.span, getattr(place.code, "co_name", ""), text=_text(place))


def _text(place: Place) -> str:
    span, lines = place.span, linecache.getlines(place[0])
    if span is None:
        return linecache.getline(*place).strip()
    written = [line.encode() for line in lines[span[0] - 1 : span[1]]]
    if written:
        written[-1] = written[-1][: span[3]]
        written[0] = written[0][span[2] :]
    return b"".join(written).decode(errors="replace")


def _depth(node: ast.AST) -> int:
    return 1 if isinstance(node, ast.Attribute) else 0


def frames_of(error: BaseException) -> list[tuple[FrameType, Place]]:
    """The user's lines that were running when something raised, each with its frame, innermost first."""
    found: list[tuple[FrameType, Place]] = []
    outer: list[str] = []
    converted = [match for match in _CONVERTED.findall(words(error)) if is_user_file(match[0])]
    trace = error.__traceback__
    while trace is not None:
        frame, code = trace.tb_frame, trace.tb_frame.f_code
        if is_user_file(code.co_filename):
            place = Place(code.co_filename, trace.tb_lineno)
            place.code, place.instruction = code, trace.tb_lasti
            found.append((frame, place))
            outer.append(code.co_filename)
        elif _GENERATED in code.co_filename and converted:
            name = code.co_name.removeprefix("tf__")
            file, at, _ = next((match for match in reversed(converted) if match[2] == name), converted[-1])
            line = int(at)
            found.append((frame, Place(own_file(frame, line) or _running(outer, file, line), line)))
        trace = trace.tb_next
    return found[::-1]


def converted_lines(error: BaseException | None, function: str) -> set[int]:
    """The lines of a function that the message of a converted program names."""
    return {int(line) for _, line, name in _CONVERTED.findall(words(error)) if name == function} if error is not None else set()


def unwritten(error: BaseException) -> tuple[str, str] | None:
    """The class and the name of the method that raised because nobody wrote it, as an abstract class leaves it to those that inherit from it."""
    # Frameworks raise it again with what the layer was called with.
    chain = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) is not None and inner not in chain:
        chain.append(inner)
    root = next((one for one in reversed(chain) if isinstance(one, NotImplementedError)), None)
    trace = last_entry(root)
    owner = trace.tb_frame.f_locals.get("self") if trace is not None else None
    name = trace.tb_frame.f_code.co_name if trace is not None else ""
    # A method that raises with words of its own refuses something that it was given.
    if owner is None or not written_by_the_user(type(owner)) or any(map(str.isalnum, str(root))) or not hasattr(type(owner), name):
        return None
    return type(owner).__name__, name


def _running(files: list[str], file: str, line: int) -> str:
    """The file that a line is of: autograph names the first that had this very code, and a cell that is run again has it too."""
    text = linecache.getline(file, line)
    return next((name for name in reversed(files) if name != file and linecache.getline(name, line) == text), file) if file not in files else file


def scope_of(place: Place) -> ast.AST | None:
    """The function that a line stands in, or the file's whole text."""
    return _around(place)[1]


def innermost_function(error: BaseException) -> tuple[FrameType, Place, str, ast.AST] | None:
    """:func:`innermost`, and the function that its line stands in."""
    found = innermost(error)
    scope = scope_of(found[1]) if found is not None else None
    return (*found, scope) if found is not None and scope is not None else None


def tree_of(place: Place) -> ast.AST | None:
    """The whole text of the file that a line stands in."""
    return _around(place)[0]


def _around(place: Place) -> tuple[ast.AST | None, ast.AST | None]:
    tree, functions = _scopes("".join(linecache.getlines(place[0])))
    around = [node for node in functions if node.lineno <= place[1] <= (node.end_lineno or 0)]
    return tree, max(around, key=lambda node: node.lineno, default=tree)


@lru_cache(maxsize=8)
def _scopes(text: str) -> tuple[ast.AST | None, list[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]]:
    tree = syntax.parsed(text)
    return tree, [node for node in ast.walk(tree) if isinstance(node, syntax.Function)] if tree is not None else []


class _Values:
    """What names lead to in a frame. Nothing is computed: properties and calls are left alone."""

    def __init__(self, frame: FrameType) -> None:
        self.names: Mapping[str, Any] = frame.f_locals
        self.globals: Mapping[str, Any] = frame.f_globals

    def of(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return self.names.get(node.id, self.globals.get(node.id, _MISSING))
        if isinstance(node, ast.Attribute):
            owner = self.of(node.value)
            if owner is _MISSING or isinstance(owner, ModuleType):
                return _MISSING
            found = inspect.getattr_static(owner, node.attr, _MISSING)
            return _MISSING if isinstance(found, property) or hasattr(found, "__get__") else found
        return _MISSING

    def function(self, node: ast.AST) -> Any:
        """The function or class that a name, or a name in a module, leads to."""
        if isinstance(node, ast.Attribute):
            owner = self.function(node.value)
            return vars(owner).get(node.attr) if isinstance(owner, ModuleType) else None
        found = self.of(node)
        return None if found is _MISSING else found


def error_line(error: BaseException) -> Location | None:
    """The innermost line of the user's own source that an exception went through, also in a function that TensorFlow has converted."""
    found = next(((place[0], place[1]) for _, place in frames_of(error)), None)
    return location(found)
