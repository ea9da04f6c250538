"""The expressions that hand data over, array by array: what a function returns, or the arguments of a call. Nothing runs here."""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from ..flow import KeyPath, syntax
from ..flow.syntax import Function, called
from ..sources.kinds import is_pydataset, is_sequence
from ..trace.aftermath import FITTING
from ..trace.locations import Variables, cells_of, is_ours
from .given_names import At, Texts, begins, own_statements
from .program import Examined

TRACING = frozenset({"trace", "assert_flows"})


def handed(seen: Examined) -> Iterator[tuple[Texts, At, KeyPath, ast.expr]]:
    """Each array's path and the expression that hands it over: what a function returns, or the arguments of a call.

    Where a changed text is tried, it is the changed one.
    """
    program, aliases = seen.program, seen.program.aliases
    each = batches(seen.data)
    if each is not None:
        texts, file = _texts(each.co_filename, {})
        scope = _changed(texts, file, file, Function, lambda node: begins(node) == each.co_firstlineno)
        for at, value in returned(texts, At(file, scope, scope.end_lineno or 0), scope) if scope is not None else ():
            yield from parts_of(texts, at, value)
        return
    function = getattr(program.data, "func", program.data)
    code = getattr(getattr(function, "stands_for", function), "__code__", None)
    if code is not None and not is_ours(code.co_filename):
        texts, file = _texts(code.co_filename, aliases)
        scope = _changed(texts, code.co_filename, file, Function, lambda node: begins(node) == code.co_firstlineno)
        if scope is not None:
            for at, value in returned(texts, At(file, scope, scope.end_lineno or 0), scope):
                yield from parts_of(texts, at, value)
        return
    where = program.handed
    if where is None or (code is None and callable(program.data)):
        return
    texts, file = _texts(where[0], aliases)
    if isinstance(where, Variables):
        yield from _typed(texts, where)
        return
    call = _changed(texts, where[0], file, ast.Call, lambda node: called(node) in FITTING | TRACING and node.lineno <= where[1] <= (node.end_lineno or 0))
    tree = texts.tree(file)
    if call is None or tree is None:
        return
    given = call.args
    at = at_of(tree, file, call)
    words = {word.arg: word.value for word in call.keywords}
    if called(call) in TRACING:
        data = given[1] if len(given) > 1 else words.get("data")
        if data is not None:
            yield from parts_of(texts, at, data)
        return
    for index, (role, name) in enumerate((("x", "x"), ("y", "y"), ("weight", "sample_weight"))):
        part = given[index] if index < min(len(given), 2) else words.get(name)
        if part is not None:
            yield from _leaves(texts, at, (role,), part)


def batches(data: Any) -> CodeType | None:
    """The code that returns or yields each batch, where data is a generator's, or a ``PyDataset`` or ``Sequence`` of the program's own."""
    if inspect.isgenerator(data):
        return data.gi_code
    code: CodeType | None = getattr(type(data).__getitem__, "__code__", None) if is_pydataset(data) or is_sequence(data) else None
    return code


def _texts(file: str, aliases: dict[str, str]) -> tuple[Texts, str]:
    return Texts([aliases.get(one, one) for one in cells_of(file)]), aliases.get(file, file)


def _changed(texts: Texts, file: str, alias: str, kind: Any, chosen: Callable[[Any], bool]) -> Any:
    before, after = texts.tree(file), texts.tree(alias)
    if before is None or after is None:
        return None
    every = [node for node in ast.walk(before) if isinstance(node, kind)]
    found = [node for node in every if chosen(node)]
    if len(found) != 1 or before is after:
        return found[0] if len(found) == 1 else None
    alike = [[node for node in nodes if _title(node) == _title(found[0])] for nodes in (every, [node for node in ast.walk(after) if isinstance(node, kind)])]
    return alike[1][alike[0].index(found[0])] if len(alike[0]) == len(alike[1]) else None


def _title(node: ast.AST) -> str:
    return called(node) if isinstance(node, ast.Call) else getattr(node, "name", "lambda")


def _typed(texts: Texts, where: Variables) -> Iterator[tuple[Texts, At, KeyPath, ast.expr]]:
    """What was typed for the data, where the names have the values that the cells gave them last."""
    file = texts.files[-1] if texts.files else where[0]
    tree = texts.tree(file)
    with contextlib.suppress(SyntaxError):
        if tree is not None:
            yield from parts_of(texts, At(file, tree, sys.maxsize), syntax.parse(where.expression.strip(), mode="eval").body)


def returned(texts: Texts, at: At, scope: ast.AST) -> Iterator[tuple[At, ast.expr]]:
    """What a function returns or yields, where it does so at one place; of a function that it only calls, what that one returns."""
    values = (
        [scope.body] if isinstance(scope, ast.Lambda) else [node.value for node in own_statements(scope, (ast.Return, ast.Yield)) if node.value is not None]
    )
    if len(values) != 1:
        return
    value = values[0]
    inner = texts.function(value.func.id, at) if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
    if inner is not None and inner[1] is not scope:
        yield from returned(texts, *inner)
    else:
        yield At(at.file, scope, value.lineno + (isinstance(scope, ast.Lambda))), value


def parts_of(texts: Texts, at: At, value: ast.expr) -> Iterator[tuple[Texts, At, KeyPath, ast.expr]]:
    """The arrays of data that is one expression: ``(x, y)``, or x alone."""
    found = texts.given(value.id, at) if isinstance(value, ast.Name) else None
    if found is not None and isinstance(found[1].value, ast.Tuple) and isinstance(found[1].targets[0], ast.Name):
        at, value = found[0], found[1].value
    for role, part in zip(("x", "y", "weight"), value.elts if isinstance(value, ast.Tuple) else [value], strict=False):
        yield from _leaves(texts, at, (role,), part)


def _leaves(texts: Texts, at: At, path: KeyPath, value: ast.expr) -> Iterator[tuple[Texts, At, KeyPath, ast.expr]]:
    found = texts.given(value.id, at) if isinstance(value, ast.Name) else None
    if found is not None and isinstance(found[2], (ast.List, ast.Tuple, ast.Dict)) and ast.dump(found[2]) != "List(elts=[], ctx=Load())":
        at, value = found[0], found[2]
    if isinstance(value, (ast.List, ast.Tuple)):
        for index, item in enumerate(value.elts):
            yield from _leaves(texts, at, (*path, index), item)
    elif isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant):
                yield from _leaves(texts, at, (*path, key.value), item)
    else:
        yield texts, at, path, value


def at_of(tree: ast.Module, file: str, node: ast.expr) -> At:
    """The function that an expression stands in, else its file."""
    around = [item for item in ast.walk(tree) if isinstance(item, Function) and item.lineno <= node.lineno <= (item.end_lineno or 0)]
    return At(file, max(around, key=lambda item: item.lineno) if around else tree, node.lineno)


def sliced(texts: Texts, at: At, value: ast.expr) -> tuple[At, ast.expr] | None:
    """What ``from_tensor_slices`` is given at the beginning of a pipeline that is handed over."""
    for _ in range(24):
        found = texts.given(value.id, at) if isinstance(value, ast.Name) else None
        if found is not None and found[2] is not None:
            at, value = found[0], found[2]
        elif isinstance(value, ast.Call) and called(value) == "from_tensor_slices" and value.args:
            return at, value.args[0]
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            value = value.func.value
        else:
            break
    return None
