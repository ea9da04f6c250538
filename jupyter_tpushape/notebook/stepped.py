"""A training step that the user's own loop called, read from the traceback of its failure: the function, and what it was called with."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..flow import syntax
from ..views.naming import looked_up, only_names

# What hands on the elements of a dataset, each with the place of the dataset among its arguments.
_AROUND = frozenset({"enumerate", "tqdm", "iter", "zip"})
_PART = frozenset({"take", "skip", "as_numpy_iterator", "prefetch", "repeat", "shuffle", "cache"})


@dataclass
class Stepped:
    """A step, or a model, that raised: the function, its batches, and what was typed for them; ``""`` where that is one batch."""

    step: Any
    data: Any
    typed: str
    file: str


def stepped(error: BaseException) -> Stepped | None:
    """The outermost call of a function of the user's, or of a model, with tensors, in a line that the error came through."""
    from ..trace.locations import is_user_file

    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if is_user_file(frame.f_code.co_filename):
            names = {**frame.f_globals, **frame.f_locals}
            found = _called(frame.f_code.co_filename, trace.tb_lineno, names)
            if found is not None:
                return found
        trace = trace.tb_next
    return None


def _called(file: str, line: int, names: dict[str, Any]) -> Stepped | None:
    from ..trace.frameworks import adapter_for
    from ..trace.reach import is_own, is_step, plain

    try:
        tree = syntax.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno)):
        if not isinstance(call.func, ast.Name) or not call.args or not all(only_names(part) for part in call.args):
            continue
        step = names.get(call.func.id)
        adapter, code = adapter_for(step), getattr(plain(step), "__code__", None)
        own = code is not None and is_own(code) and is_step(step) and not call.keywords
        if not own and (adapter is None or not adapter.is_model(step)):
            continue
        try:
            given = [looked_up(ast.unparse(part), names) for part in call.args]
        except NameError:
            continue
        if not all(_is_batch(part) for part in given):
            continue
        source = _source(tree, call)
        if source and hasattr(held := names.get(source), "element_spec"):
            return Stepped(step, held, source, file)
        return Stepped(step, given[0] if len(given) == 1 else tuple(given), "", file)
    return None


def _is_batch(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else [value]
    return any(len(getattr(part, "shape", ())) > 0 and hasattr(part, "dtype") for part in parts)


def _source(tree: ast.Module, call: ast.Call) -> str:
    """The name of the dataset whose elements the call's arguments are: those of the innermost loop that names them all."""
    given = {node.id for part in call.args for node in ast.walk(part) if isinstance(node, ast.Name)}
    found = ""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and any(node is call for node in ast.walk(loop)):
            targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
            if given <= targets:
                found = next(_datasets(loop.iter), "")
    return found


def _datasets(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _AROUND and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _PART:
            node = node.func.value
        else:
            return
    if isinstance(node, ast.Name):
        yield node.id
