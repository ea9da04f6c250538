"""What a name was given in the text of the program: by the lines above it, by its file, or by the cells before it. Nothing runs here."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..flow import syntax
from ..flow.syntax import Function
from ..trace.locations import cells_of


@dataclass(frozen=True)
class At:
    """A place in the text: names have there the values that the lines above gave them."""

    file: str
    scope: ast.AST
    line: int


@dataclass
class Texts:
    """The texts in which names are looked up: the function's, its file's, and the cells before it."""

    files: list[str]
    trees: dict[str, ast.Module | None] = field(default_factory=dict)

    @classmethod
    def of(cls, file: str) -> Texts:
        """The text of a file, or of a notebook's cells."""
        texts = cls(cells_of(file))
        texts.tree(file)
        return texts

    def loaded(self) -> list[ast.Module]:
        """Every tree: that of the file, and those of the cells."""
        return [tree for file in dict.fromkeys((*self.files, *self.trees)) if (tree := self.tree(file)) is not None]

    def tree(self, file: str) -> ast.Module | None:
        if file not in self.trees:
            self.trees[file] = syntax.parsed("".join(linecache.getlines(file)))
        return self.trees[file]

    def given(self, name: str, at: At) -> tuple[At, ast.Assign, ast.expr | None] | None:
        """The last assignment to a name before a place, where that is, and the name's value; no value where it is one of a call's results.

        ``None`` where something else gives the name its value.
        """
        for scope in dict.fromkeys((at.scope, self.tree(at.file))):
            inside = isinstance(scope, Function)
            last: ast.Assign | None = None
            for node in own_statements(scope) if scope is not None else ():
                early = node.lineno < at.line or (scope is not at.scope and isinstance(at.scope, Function))
                if early and name in names_given(node):
                    last = node if isinstance(node, ast.Assign) else None
            if last is not None and scope is not None:
                return At(at.file, scope, last.lineno), last, _value(last, name)
            if inside and name in {item.arg for item in ast.walk(scope.args) if isinstance(item, ast.arg)}:  # type: ignore[union-attr]
                return None
        before = self.files[: self.files.index(at.file)] if at.file in self.files else []
        for file in reversed(before):
            tree = self.tree(file)
            found = [node for node in own_statements(tree) if name in names_given(node)] if tree is not None else []
            if found and tree is not None:
                last = found[-1] if isinstance(found[-1], ast.Assign) else None
                return (At(file, tree, last.lineno), last, _value(last, name)) if last is not None else None
        return None

    def is_module(self, node: ast.expr) -> bool:
        """Whether an expression is a name that an import gives, or part of what it imports."""
        name = next((item.id for item in ast.walk(node) if isinstance(item, ast.Name)), "")
        return isinstance(node, (ast.Name, ast.Attribute)) and any(
            name == (alias.asname or alias.name.split(".")[0])
            for tree in self.loaded()
            for item in ast.walk(tree)
            if isinstance(item, (ast.Import, ast.ImportFrom))
            for alias in item.names
        )

    def function(self, name: str, at: At) -> tuple[At, ast.FunctionDef] | None:
        for file in (at.file, *reversed(self.files)):
            tree = self.tree(file)
            for node in tree.body if tree is not None else ():
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return At(file, node, node.end_lineno or node.lineno), node
        return None


def _value(given: ast.Assign, name: str) -> ast.expr | None:
    """What an assignment gives to one name: of several in a row, the value in the same place."""
    return next((value for target, value in syntax.assigned(given) if isinstance(target, ast.Name) and target.id == name), None)


def names_given_in(file: str) -> list[str]:
    """Every name that an assignment in a file, or in the cells beside it, gives a value."""
    return list(dict.fromkeys(name for node in _assignments(file) for name in sorted(names_given(node))))


def values_given(file: str, name: str) -> list[ast.expr]:
    """What a name is given in a file or the cells beside it, at every place."""
    return [node.value for node in _assignments(file) if name in names_given(node)]


def _assignments(file: str) -> Iterator[ast.Assign]:
    texts = Texts(cells_of(file))
    for one in dict.fromkeys((file, *texts.files)):
        tree = texts.tree(one)
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.Assign)) if tree is not None else ()


def own_statements(scope: ast.AST, kind: Any = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.With, ast.FunctionDef, ast.ClassDef)) -> Iterator[Any]:
    """The statements of a function or file, without those of functions inside it, in the order of the text."""
    pending = list(ast.iter_child_nodes(scope))
    found = []
    while pending:
        node = pending.pop()
        if isinstance(node, kind):
            found.append(node)
        if not isinstance(node, (*Function, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))


def names_given(node: ast.stmt) -> set[str]:
    """The names to which a statement itself gives a value."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    held = list(getattr(node, "items", ()))
    targets = [item.optional_vars for item in held if item.optional_vars is not None] or getattr(node, "targets", None)
    if targets is None:
        targets = [node.target] if hasattr(node, "target") else []
    return {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}


def begins(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> int:
    """The first line of a function as Python counts it: its first decorator's."""
    decorators: list[ast.expr] = getattr(function, "decorator_list", [])
    return min([function.lineno, *(item.lineno for item in decorators)])
