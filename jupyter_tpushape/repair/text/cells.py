"""The cells of a notebook as one program: the order in which they ran, and what their statements bind, read and change."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...flow.syntax import Function, called, writes
from .source import Source, parsed

_USED = "_tpushape_used"
_TRAINING = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "fit_generator", "summary"})


def binding(statements: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """The last of some statements that gives a name its value."""
    return next((item for item in reversed(statements) if name in bound(item)), None)


def own(statement: ast.AST) -> Iterator[ast.AST]:
    """A statement's nodes without those of functions and classes inside it, nor what a comprehension gives its values to."""
    pending = [statement]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.comprehension):
            pending += [node.iter, *node.ifs]
        elif node is statement or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def bound(statement: ast.AST) -> list[str]:
    """The names that a statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    found = []
    for node in own(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [alias.asname or alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not statement:
            found.append(node.name)
    return found


def touched(statement: ast.AST) -> list[str]:
    """The names whose objects a statement changes in place: ``model.add(...)``, ``x[0] = ...``."""
    found = []
    for node in own(statement):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            found.append(_root(node.value.func))
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            found.append(_root(node))
    return [name for name in found if name]


def used(statement: ast.AST) -> list[str]:
    """The names that a statement reads, functions inside it included, without what is a function's own; ``x += 1`` reads ``x``."""
    # Trees are shared and stay as they are: the names are looked for once in each statement.
    known: list[str] | None = statement.__dict__.get(_USED)
    if known is None:
        known = list(_read(statement, frozenset()))
        known += [node.target.id for node in own(statement) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)]
        statement.__dict__[_USED] = known
    return list(known)


def _read(node: ast.AST, inner: frozenset[str]) -> Iterator[str]:
    """``inner``: the names that a function around the node, or a comprehension, gives to its own."""
    inside: Sequence[ast.AST] = ()
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in inner:
            yield node.id
    elif isinstance(node, Function):
        inside = [node.body] if isinstance(node, ast.Lambda) else node.body
    elif isinstance(node, _COMPREHENSIONS):
        # What it goes through is read outside of it.
        yield from _read(node.generators[0].iter, inner)
        inside = list(ast.iter_child_nodes(node))
    for child in ast.iter_child_nodes(node):
        if child not in inside:
            yield from _read(child, inner)
    if inside:
        held = inner | _names_of(node)
        for child in inside:
            yield from _read(child, held)


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _names_of(scope: Any) -> set[str]:
    """What a function or a comprehension binds for itself."""
    if isinstance(scope, _COMPREHENSIONS):
        return {name for part in scope.generators for name in bound(part.target)}
    named = {item.arg for item in ast.walk(scope.args) if isinstance(item, ast.arg)}
    body = [] if isinstance(scope, ast.Lambda) else scope.body
    outer = {name for item in body for node in own(item) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    return (named | {name for item in body for name in bound(item)}) - outer


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def added(source: Source, now: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a changed source that were not there, or not like this."""
    lines = source.original.encode().split(b"\n")
    left = Counter(_text(lines, item) for item in parsed(source.original).body)
    lines, found = source.text.encode().split(b"\n"), []
    for item in now:
        key = _text(lines, item)
        if left[key]:
            left[key] -= 1
        else:
            found.append(item)
    return found


def moved(source: Source, now: list[ast.stmt]) -> list[ast.stmt]:
    """The stretch of statements that a changed source has in another order."""
    before, after = ([ast.dump(item) for item in body] for body in (parsed(source.original).body, source.tree.body))
    if Counter(before) != Counter(after):
        return []
    apart = [i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    stretch = source.tree.body[apart[0] : apart[-1] + 1] if apart else []
    return [item for item in now if item in stretch]


def _text(lines: list[bytes], statement: ast.stmt) -> bytes:
    first = min((statement, *getattr(statement, "decorator_list", ())), key=lambda node: node.lineno)
    end = statement.end_lineno or statement.lineno
    held = lines[first.lineno - 1 : end]
    if held:
        held[-1] = held[-1][: statement.end_col_offset]
        held[0] = held[0][first.col_offset :]
    return b"\n".join(held)


def trains(statement: ast.stmt) -> bool:
    """Whether a statement calls what trains, prints or writes files, as its own purpose."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return any(
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr in _TRAINING)
            or (isinstance(node.func, ast.Name) and node.func.id == "print")
            or writes(called(node))
        )
        for node in own(statement)
    )


def is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in used(statement.test)


def execute(body: list[ast.stmt], file: str, names: dict[str, Any]) -> None:
    if body:
        module = ast.Module(body=body, type_ignores=[])
        exec(compile(module, file, "exec"), names)
