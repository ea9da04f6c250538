"""Expressions and whole statements of the user's own code, written anew where they stand."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.arguments import Change
from ..text.program import Text
from ..text.source import NoPlace, Source, is_atom, whole_line
from .base import SpanEdit, kind

# Stand for the expression itself, and for the module that the new text calls, however it is imported there.
IT, MODULE = "{it}", "{module}"


@kind
@dataclass(frozen=True)
class Expression(SpanEdit):
    """``replace`` for the expression ``find`` that ran at ``span``.

    ``{it}`` in ``replace`` is the expression as written; ``{module}`` the name that ``module`` has there. Where several edits
    of one ``choice`` hold at one place, the program does not say which of them is meant.
    """

    op = "expression"

    find: str = ""
    replace: str = ""
    module: str = ""
    choice: str = ""
    # Whether it is a whole statement, such as an ``if`` with its branches.
    statement: bool = False

    @property
    def either(self) -> tuple[Any, ...]:
        return (self.file, *self.span, self.choice) if self.choice else ()

    def write(self, text: Text) -> None:
        source, node = self.found(text, ast.stmt if self.statement else (ast.expr, ast.arg))
        it = source.of(node)
        new = self.replace
        imports: list[Change] = []
        if self.module:
            name, imports = text.names(self.file).spell(sys.modules[self.module], node)
            new = new.replace(MODULE, name)
        if IT + "[" in new and isinstance(node, ast.expr) and not is_atom(node):
            it = f"({it})"
        source.splice([*imports, source.change(node, new.replace(IT, it))])

    def written(self) -> list[str]:
        """The pieces of the new text that tell it apart from the old one."""
        return [piece for piece in self.replace.replace(MODULE, "").split(IT) if len(piece) > 1] or [self.replace]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# line {self.span[0]}, in {self.target}:"
        yield f"-{self.find}"
        yield f"+{self.replace.replace(IT, self.find).replace(MODULE, self.module)}"


@kind
@dataclass(frozen=True)
class Statement(SpanEdit):
    """``text`` as a statement in front of the one that ran at ``span``; ``{module}`` in it is the name that ``module`` has there."""

    op = "statement"

    text: str = ""
    module: str = ""

    def write(self, text: Text) -> None:
        source, node = self.found(text, ast.stmt)
        name, imports = text.names(self.file).spell(sys.modules[self.module], node) if self.module else ("", [])
        source.splice([*imports, _before(source, node, self.text.replace(MODULE, name))])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# before line {self.span[0]}:"
        yield f"+{self.text.replace(MODULE, self.module)}"


@kind
@dataclass(frozen=True)
class Removed(SpanEdit):
    """Without the statement that ran at ``span``, which is a line of its own; ``find`` is its text."""

    op = "removed"

    find: str = ""

    def write(self, text: Text) -> None:
        source, node = self.found(text, ast.stmt)
        source.splice([whole_line(source, node)])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# line {self.span[0]}:"
        yield f"-{self.find}"


@kind
@dataclass(frozen=True)
class Undecorated(SpanEdit):
    """A function without the decorator at ``span``, which is a line of its own; ``find`` is its text."""

    op = "undecorated"

    find: str = ""

    def write(self, text: Text) -> None:
        source, node = self.found(text, ast.expr)
        start, stop = source.text.rfind("\n", 0, source.start(node)) + 1, source.text.find("\n", source.end(node)) + 1
        if source.text[start : source.start(node)].strip() != "@" or not stop or source.text[source.end(node) : stop].strip():
            raise NoPlace
        source.splice([(start, stop, "")])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# line {self.span[0]}:"
        yield f"-@{self.find}"


@kind
@dataclass(frozen=True)
class OneParameter(SpanEdit):
    """The parameters of a method, which fit passes as one, become one that its first line unpacks; ``span`` is that of the method."""

    op = "one-parameter"

    name: str = "inputs"
    names: list[str] = field(default_factory=list)

    def write(self, text: Text) -> None:
        source, method = self.found(text, ast.FunctionDef)
        found = [item for item in method.args.args if item.arg in self.names]
        if [item.arg for item in found] != self.names or any(item.annotation for item in found):
            raise NoPlace
        body = method.body[1:] if ast.get_docstring(method) is not None else method.body
        if not body:
            raise NoPlace
        parameters = (source.start(found[0]), source.end(found[-1]), self.name)
        source.splice([parameters, _before(source, body[0], f"{', '.join(self.names)} = {self.name}")])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# at line {self.span[0]}: {self.name} instead of {', '.join(self.names)}"
        yield f"+{', '.join(self.names)} = {self.name}"


def _before(source: Source, node: ast.stmt, text: str) -> tuple[int, int, str]:
    if not source.first_in_line(node):
        raise NoPlace
    start = source.start(node)
    return start, start, f"{text}\n{source.indent(node)}"
