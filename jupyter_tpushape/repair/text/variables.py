"""Data that variables of a notebook hold, and its changes in the cells that gave the variables their values."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable
from typing import Any

from ...flow import syntax
from ...trace.locations import Variables, cells_of
from .cells import binding
from .handed import Expression, Handed
from .program import Text
from .source import NoPlace


def handed(text: Text, role: str = "x") -> Handed:
    """The data's expression in the program's text: in a function, at a call, or under the names of variables."""
    return (InVariables if isinstance(text.seen.program.handed, Variables) else Handed)(text, role)


class InVariables(Handed):
    """A transform is one more statement, right behind the last one that gave the variable its value."""

    def _found(self) -> tuple[list[ast.expr], ast.Call | None]:
        place = self.text.seen.program.handed
        try:
            typed = syntax.parse(place.expression.strip(), mode="eval").body
        except SyntaxError as error:
            raise NoPlace from error
        if isinstance(typed, ast.Tuple) and not self.dataset:
            index = {"x": 0, "y": 1, "weight": 2}[self.role]
            if index >= len(typed.elts):
                raise NoPlace
            typed = typed.elts[index]
        elif not self.dataset and self.parts > 1:
            raise NoPlace
        self._open(_root_name(typed))
        return [typed], None

    def _open(self, name: str) -> None:
        for file in reversed(cells_of(self.text.seen.program.handed[0])):
            with contextlib.suppress(NoPlace):
                source = self.text.source(file)
                statement = binding(source.tree.body, name)
                if statement is not None:
                    self.source, self.scope, self.statement = source, source.tree, statement
                    self.names = self.text.names(file)
                    return
        raise NoPlace

    def _visit(self, leaf: Any, pipeline: Any, whole: Any) -> None:
        for value in self.values:
            if self.dataset and not isinstance(value, ast.Name):
                raise NoPlace  # what was typed around the name stands in no cell that makes the data
            (pipeline if self.dataset else leaf)(value)

    def _leaf(self, value: ast.expr, path: tuple[Any, ...], expression: Expression) -> None:
        spec, done = self._spec(path), 0
        while not isinstance(value, ast.Name):
            inside = value.elts[path[done]] if isinstance(value, (ast.List, ast.Tuple)) and done < len(path) else None
            if inside is None:
                raise NoPlace
            value, done = inside, done + 1
        if done:
            self._open(value.id)
        self._append(value.id, self._rebuilt(value.id, path[:done], path[done:], expression, spec, tensor=False))

    def _behind(self, value: ast.expr, tail: str) -> None:
        if not isinstance(value, ast.Name):
            raise NoPlace
        given = self.statement.value if isinstance(self.statement, ast.Assign) and len(self.statement.targets) == 1 else None
        if given is not None and isinstance(self.statement.targets[0], ast.Name):  # type: ignore[attr-defined]
            super()._behind(given, tail)
        else:
            self._append(value.id, value.id + tail)

    def _append(self, name: str, made: str) -> None:
        end = self.source.end(self.statement)
        rest = self.source.text[end:].split("\n", 1)[0].strip()
        if rest.startswith(";"):
            self.changes.append((end, end, f"; {name} = {made}"))
            return
        if rest and not rest.startswith("#"):
            raise NoPlace
        line = self.source.text.find("\n", end)
        at = line if line >= 0 else len(self.source.text)
        self.changes.append((at, at, f"\n{self.source.indent(self.statement)}{name} = {made}"))

    def _exchanged(self, value: ast.expr, order: Any, expression: Expression) -> None:
        if not isinstance(value, ast.Name):
            raise NoPlace
        self._append(value.id, expression(value.id, None, tensor=False))

    def _opened(self, value: ast.expr, path: tuple[Any, ...], expression: Expression) -> None:
        raise NoPlace

    def _wholes(self) -> Iterable[ast.expr | None]:  # type: ignore[override]
        raise NoPlace


def _root_name(node: ast.expr) -> str:
    found = next((item.id for item in ast.walk(node) if isinstance(item, ast.Name)), "")
    if not found:
        raise NoPlace
    return found
