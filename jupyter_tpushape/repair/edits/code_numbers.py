"""Numbers, names and axes in the user's own code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..text.arguments import Change
from ..text.names import Names
from ..text.source import Source, nodes
from .base import kind
from .code import CodeEdit, called, numbers


@kind
@dataclass(frozen=True)
class FirstNumber(CodeEdit):
    """``replace`` for ``find`` where it leads a tuple or a list; on ``line`` where that is known. -1 only where a function counts for it."""

    find: int = field(default=0, metadata={"needed": True})
    replace: int = 0
    line: int = 0

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        counts = {
            id(part)
            for call in nodes(scope, ast.Call)
            if called(call) == "reshape"
            for part in (*call.args, *(word.value for word in call.keywords))
        }
        found = [
            (item.lineno, item.elts[0])
            for item in nodes(scope, (ast.Tuple, ast.List))
            if item.elts
            and isinstance(item.elts[0], ast.Constant)
            and item.elts[0].value == self.find
            # In a shape to draw or to fill, -1 raises when the program runs.
            and (self.replace != -1 or id(item) in counts)
        ]
        here = [pair for pair in found if pair[0] == self.line]
        return [(source.start(item), source.end(item), str(self.replace)) for _, item in here or found]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.target}:"
        yield f"-{self.find}"
        yield f"+{self.replace}"


@kind
@dataclass(frozen=True)
class Number(CodeEdit):
    """``replace`` for a number that occurs once."""

    op = "number"

    find: int = 0
    replace: int = 0

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        found = [item for item, value in numbers(scope) if value == self.find]
        return [(source.start(item), source.end(item), str(self.replace)) for item in found] if len(found) == 1 else []

    shown = FirstNumber.shown


@kind
@dataclass(frozen=True)
class Axis(CodeEdit):
    """Another number for ``axis=``."""

    op = "axis"

    find: int = 0
    replace: int = 0

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        given = [item.value for item in nodes(scope, ast.keyword) if item.arg == "axis"]
        return [
            (source.start(value), source.end(value), str(self.replace))
            for value in given
            if any(node is value and number == self.find for node, number in numbers(value))
        ]

    shown = FirstNumber.shown


@kind
@dataclass(frozen=True)
class Name(CodeEdit):
    """A name such as a dtype's, as an attribute or in quotes."""

    op = "name"

    find: str = ""
    replace: str = ""

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        found: list[Change] = []
        for item in nodes(scope, (ast.Attribute, ast.Name, ast.Constant)):
            end = source.end(item)
            if isinstance(item, ast.Attribute) and item.attr == self.find:
                found.append((end - len(self.find), end, self.replace))
            elif isinstance(item, ast.Name) and item.id == self.find:
                found.append((source.start(item), end, self.replace))
            elif isinstance(item, ast.Constant) and item.value == self.find:
                quote = source.text[source.start(item)]
                found.append((source.start(item), end, f"{quote}{self.replace}{quote}"))
        return found

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.target}:"
        yield f"-{self.find}"
        yield f"+{self.replace}"
