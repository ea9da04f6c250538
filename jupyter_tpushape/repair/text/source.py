"""One file or cell as text and syntax tree, changed by splices: what is outside of a change stays byte for byte."""

from __future__ import annotations

import ast
import bisect
import linecache
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ...flow import CannotRebuild, syntax
from ...flow.syntax import Function
from ...trace.locations import Span

N = TypeVar("N", bound=ast.AST)
_PARENTS = "_tpushape_parents"
Change = tuple[int, int, str]


class NoPlace(CannotRebuild):
    """The source does not show where an edit belongs."""


def parsed(text: str) -> ast.Module:
    """The tree of a source; several fixes change the same one.

    Raises:
        NoPlace: where it is no Python, or too long to be searched.
    """
    tree = syntax.parsed(text)
    if tree is None:
        raise NoPlace
    return tree


class Source:
    """A source as it stands now, with the way back to where things stood when the program ran."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.original, self.text = file, text, text
        self._splices: list[tuple[int, int, int]] = []
        self._lines: list[int] = _starts(text)
        self._ran = text.split("\n")

    @classmethod
    def read(cls, file: str) -> Source:
        """The source of a file or cell that ran.

        Raises:
            NoPlace: where it is not known.
        """
        text = "".join(linecache.getlines(file))
        if not text.strip():
            raise NoPlace
        return cls(file, text)

    @property
    def tree(self) -> ast.Module:
        return parsed(self.text)

    @property
    def changed(self) -> bool:
        return self.text != self.original

    # -- offsets -----------------------------------------------------------------------------------

    def start(self, node: ast.AST) -> int:
        """The offset in the text of a node's first character."""
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        """A node as it is written."""
        return self.text[self.start(node) : self.end(node)]

    def _offset(self, line: int, column: int) -> int:
        start = self._lines[line - 1]
        stop = self._lines[line] if line < len(self._lines) else len(self.text)
        written = self.text[start:stop]
        return start + (column if written.isascii() else len(written.encode()[:column].decode(errors="ignore")))

    def line_of(self, offset: int) -> int:
        return bisect.bisect_right(self._lines, offset)

    def indent(self, node: ast.AST) -> str:
        """The white space that the line of a node begins with."""
        start = self._lines[node.lineno - 1]  # type: ignore[attr-defined]
        return self.text[start : start + len(self.text[start:]) - len(self.text[start:].lstrip(" \t\f"))] if start < len(self.text) else ""

    def first_in_line(self, node: ast.AST) -> bool:
        return not self.text[self._lines[node.lineno - 1] : self.start(node)].strip()  # type: ignore[attr-defined]

    # -- what ran ----------------------------------------------------------------------------------

    def _ran_offset(self, line: int, column: int) -> int:
        if line > len(self._ran):
            raise NoPlace
        before = sum(len(item) + 1 for item in self._ran[: line - 1])
        written = self._ran[line - 1]
        return before + (column if written.isascii() else len(written.encode()[:column].decode(errors="ignore")))

    def _moved(self, offset: int, *, start: bool) -> int:
        for at, until, size in self._splices:
            if offset > until or (offset == until and (start or until > at)):
                offset += size - (until - at)
            elif offset > at:
                raise NoPlace
        return offset

    def call_at(self, span: Span) -> ast.Call:
        """The call that ran at ``span``.

        Raises:
            NoPlace: where the text has no call just there.
        """
        return self.node_at(span, ast.Call)

    def node_at(self, span: Span, kind: type[N] | tuple[type[N], ...]) -> N:
        """The node of a kind that ran at ``span``.

        Raises:
            NoPlace: where the text has none just there.
        """
        line, end_line, column, end_column = span
        first, last = self._ran_offset(line, column), self._ran_offset(end_line, end_column)
        # What was put right in front of it, or behind it, may have become a part of it.
        starts = self._moved(first, start=True), self._moved(first, start=False)
        ends = self._moved(last, start=False), self._moved(last, start=True)
        lines = self.line_of(min(starts)), self.line_of(max(ends))
        found: dict[tuple[int, int], N] = {(self.start(node), self.end(node)): node for node in nodes(self.tree, kind, lines)}
        for key in ((start, end) for end in ends for start in starts):
            if key in found:
                return found[key]
        raise NoPlace

    # -- changes -----------------------------------------------------------------------------------

    def splice(self, changes: Sequence[Change]) -> None:
        """Puts texts in place of ranges, ``(start, end, text)`` in offsets of the text as it stands.

        Raises:
            NoPlace: where ranges overlap, or what comes out is no Python.
        """
        text = self.text
        done: list[tuple[int, int, int]] = []
        for start, end, new in sorted(changes, key=lambda change: (change[0], change[1]), reverse=True):
            if done and end > done[-1][0]:
                raise NoPlace
            text = text[:start] + new + text[end:]
            done.append((start, end, len(new)))
        parsed(text)
        self.text = text
        self._lines = _starts(text)
        # From the right to the left, so that each range is counted in the text that stood before.
        self._splices += done

    def put(self, text: str) -> None:
        """Another text in place of the whole; what ran is not followed into it."""
        self.text, self._lines = text, _starts(text)

    def change(self, node: ast.AST, new: str) -> Change:
        """The change that puts a text in a node's place."""
        return self.start(node), self.end(node), new

    def replace(self, node: ast.AST, new: str) -> None:
        self.splice([self.change(node, new)])

    def line_end(self, node: ast.AST) -> int:
        """Where the line ends on which a node does."""
        stop = self.text.find("\n", self.end(node))
        return len(self.text) if stop < 0 else stop

    def wrap(self, node: ast.AST, before: str, after: str) -> None:
        self.splice([(self.start(node), self.start(node), before), (self.end(node), self.end(node), after)])


def _starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def nodes(tree: ast.AST, kind: type[N] | tuple[type[N], ...], lines: tuple[int, int] | None = None) -> Iterator[Any]:
    """Every node of a kind in a tree, outer ones first; of the statements on some ``lines``, first to last, where these are given."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, kind):
            yield node
        inside = reversed(list(ast.iter_child_nodes(node)))
        pending.extend(inside if lines is None else (item for item in inside if not isinstance(item, ast.stmt) or _reaches(item, lines)))


def at_line(tree: ast.AST, kind: type[N] | tuple[type[N], ...], line: int) -> Iterator[Any]:
    """The nodes of a kind that stand on a line, or around it."""
    return (node for node in nodes(tree, kind, (line, line)) if node.lineno <= line <= (node.end_lineno or node.lineno))


def words_of(call: ast.Call) -> list[ast.expr]:
    """All that a call is given, by place or by name."""
    return [*call.args, *(word.value for word in call.keywords)]


def given_to(scope: ast.AST, name: ast.expr, above: float = math.inf) -> list[ast.expr]:
    """What is assigned to just this name or attribute, in order; in front of a line only where one is said."""
    wanted = [ast.unparse(name)]
    found = (item for item in nodes(scope, ast.Assign) if item.lineno < above)
    return [item.value for item in found if [ast.unparse(target) for target in item.targets] == wanted]


def given_before(scope: ast.AST, name: ast.expr) -> list[ast.expr]:
    """The same by assignments that end in front of where the name is read: in ``x = 2 * x``, the second is not given what the first is."""
    place = (name.lineno, name.col_offset)
    ended = (item for item in nodes(scope, ast.Assign) if (item.end_lineno or item.lineno, item.end_col_offset or 0) <= place)
    return [item.value for item in ended if [ast.unparse(target) for target in item.targets] == [ast.unparse(name)]]


def class_of(tree: ast.AST, name: str) -> ast.ClassDef | None:
    return next((item for item in nodes(tree, ast.ClassDef) if item.name == name), None)


def method_of(owner: ast.AST | None, name: str) -> ast.FunctionDef | None:
    """A method of a class, by its name."""
    inside = ast.iter_child_nodes(owner) if owner is not None else ()
    return next((item for item in inside if isinstance(item, ast.FunctionDef) and item.name == name), None)


def some(changes: list[Change]) -> list[Change]:
    """Changes that an edit cannot be without.

    Raises:
        NoPlace: where there are none.
    """
    if not changes:
        raise NoPlace
    return changes


def free_name(owner: ast.AST, stem: str, more: Iterable[str] = ()) -> str:
    """A name for a new attribute of a class; ``more``: names that others are about to get."""
    taken = {*more, *(item.attr for item in nodes(owner, ast.Attribute))}
    return next(name for name in (stem, *(f"{stem}_{i}" for i in range(1, 99))) if name not in taken)


def made_in_init(source: Source, owner: ast.AST, attribute: str, made: str, beside: str = "") -> Change:
    """The line of ``__init__`` that makes an attribute: its last one, or behind the one that assigns ``beside``.

    Raises:
        NoPlace: where the class has no ``__init__``.
    """
    maker = method_of(owner, "__init__")
    if maker is None or not maker.args.args:
        raise NoPlace
    same = [item for item in maker.body if isinstance(item, ast.Assign) and any(source.of(target) == beside for target in item.targets)]
    last = same[-1] if same else maker.body[-1]
    return behind(source, last, [f"{maker.args.args[0].arg}.{attribute} = {made}"], comment=bool(beside))


def behind(source: Source, statement: ast.stmt, lines: Sequence[str], *, comment: bool = False) -> Change:
    """The change that puts lines behind a statement, and behind its ``comment``."""
    end = source.line_end(statement) if comment else source.end(statement)
    return end, end, "".join(f"\n{source.indent(statement)}{line}" for line in lines)


def whole_line(source: Source, statement: ast.stmt) -> Change:
    """The change that takes a statement out with its line.

    Raises:
        NoPlace: where something else stands on the line.
    """
    start, end = source.start(statement) - len(source.indent(statement)), source.end(statement)
    stop = source.text.find("\n", end) + 1
    if not source.first_in_line(statement) or not stop or source.text[end:stop].strip():
        raise NoPlace
    return start, stop, ""


def _reaches(statement: ast.stmt, lines: tuple[int, int]) -> bool:
    first = min([statement.lineno, *(item.lineno for item in getattr(statement, "decorator_list", ()))])
    return first <= lines[1] and (statement.end_lineno or first) >= lines[0]


def parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    """The node that each node stands in. Trees are shared and stay as they are, so it is worked out once for each."""
    known: dict[ast.AST, ast.AST] | None = tree.__dict__.get(_PARENTS)
    if known is None:
        known = tree.__dict__[_PARENTS] = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return known


def enclosing(above: dict[ast.AST, ast.AST], node: ast.AST) -> ast.AST:
    """The function, lambda or module that a node stands in."""
    while not isinstance(node, ast.Module):
        node = above[node]
        if isinstance(node, Function):
            return node
    return node


def statement_of(above: dict[ast.AST, ast.AST], node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = above[node]
    return node


def outermost_loop(source: Source, node: ast.AST) -> ast.For | ast.While | None:
    """The outermost loop around a node in the function, or the file, that it is in; it must begin its line."""
    above, found = parents(source.tree), None
    while node in above and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        node = above[node]
        found = node if isinstance(node, (ast.For, ast.While)) else found
    return found if found is not None and source.first_in_line(found) else None


def calls_nothing(node: ast.AST) -> bool:
    """Whether an expression may be written twice: it calls nothing that could return another value the second time."""
    return next(nodes(node, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)), None) is None


def is_atom(node: ast.AST) -> bool:
    """Whether an expression keeps its meaning with ``.method()`` or ``[index]`` put behind it."""
    return isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Tuple, ast.Dict)) and not (
        isinstance(node, ast.Tuple) and not isinstance(node.ctx, ast.Load)
    )
