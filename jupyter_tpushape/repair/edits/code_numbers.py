"""Numbers, names and axes in the user's own code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow.syntax import called
from ..text.arguments import Change
from ..text.names import Names
from ..text.source import Source, nodes
from .base import kind
from .code import CodeEdit, numbers


@dataclass(frozen=True)
class _Another(CodeEdit):
    """Another number or name."""

    find: Any = 0
    replace: Any = 0

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.target}:"
        yield f"-{self.find}"
        yield f"+{self.replace}"


@kind
@dataclass(frozen=True)
class FirstNumber(_Another):
    """``replace`` for ``find`` where it leads a tuple or a list; on ``line`` where that is known. -1 only where a function counts for it."""

    find: int = field(default=0, metadata={"needed": True})
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
        return [source.change(item, str(self.replace)) for _, item in here or found]


@kind
@dataclass(frozen=True)
class Number(_Another):
    """``replace`` for a number that occurs once."""

    op = "number"

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        found = [item for item, value in numbers(scope) if value == self.find]
        return [source.change(item, str(self.replace)) for item in found] if len(found) == 1 else []


@kind
@dataclass(frozen=True)
class Axis(_Another):
    """Another number for ``axis=``."""

    op = "axis"

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        given = [item.value for item in nodes(scope, ast.keyword) if item.arg == "axis"]
        return [
            source.change(value, str(self.replace))
            for value in given
            if any(node is value and number == self.find for node, number in numbers(value))
        ]


@kind
@dataclass(frozen=True)
class Name(_Another):
    """A name such as a dtype's, as an attribute or in quotes."""

    op = "name"

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
