"""A training step that the user's own loop called, read from the traceback of its failure: the function, and what it was called with."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..flow import syntax
from ..views.naming import only_names

# What hands on the elements of a dataset, each with the place of the dataset among its arguments.
_AROUND = frozenset({"enumerate", "tqdm", "iter", "zip"})
# What the bounds of a slice are made with.
_SUMS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
_PART = frozenset({"take", "skip", "as_numpy_iterator", "prefetch", "repeat", "shuffle", "cache"})


@dataclass
class Stepped:
    """A step, or a model, that raised: the function, its batches, and what was typed for them; ``""`` where that is one batch.

    ``loss``: the loss that the loop called with the model's output, where that is what raised.
    """

    step: Any
    data: Any
    typed: str
    file: str
    loss: Any = None


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
        if not isinstance(call.func, (ast.Name, ast.Attribute)) or not (call.args or call.keywords):
            continue
        try:
            step = _read(call.func, names)
            adapter, code = adapter_for(step), getattr(plain(step), "__code__", None)
            own = code is not None and is_own(code) and is_step(step)
            compared = None if own else _compared(step, call, tree, names, file)
            if compared is not None:
                return compared
            if not own and (adapter is None or not adapter.is_model(step)):
                continue
            bound = _bound(step, call, names) if own else (step, [_read(part, names) for part in call.args], call.args)
        except (LookupError, TypeError, ValueError):
            continue
        if bound is None or not bound[1] or not all(map(_is_batch, bound[1])):
            continue
        step, given, written = bound
        return Stepped(step, *_data(tree, written, given, names), file)
    return None


def _data(tree: ast.Module, written: list[ast.expr], given: list[Any], names: dict[str, Any]) -> tuple[Any, str]:
    """The dataset that the batches come from and its name, or the batches themselves and ``""``."""
    source = _source(tree, written) if all(map(only_names, written)) else ""
    if source and hasattr(held := names.get(source), "element_spec"):
        return held, source
    return (given[0] if len(given) == 1 else tuple(given)), ""


def _compared(loss: Any, call: ast.Call, tree: ast.Module, names: dict[str, Any], file: str) -> Stepped | None:
    """The model and the labels of a loss that the loop calls: the model is the one whose output, of the last line above, the loss is given."""
    from ..trace.frameworks import loaded

    if not any(isinstance(loss, adapter.Loss) for adapter in loaded()) or len(call.args) != 2 or not isinstance(call.args[1], ast.Name):
        return None
    made = [
        (one.lineno, one.value) for one in ast.walk(tree)
        if isinstance(one, ast.Assign) and one.lineno < call.lineno and isinstance(one.value, ast.Call) and ast.dump(one.targets[0]) == ast.dump(_stored(call.args[1]))
    ]  # fmt: skip
    if not made:
        return None
    _, forward = max(made, key=lambda one: one[0])
    model = _read(forward.func, names)
    if not any(isinstance(model, adapter.Model) for adapter in loaded()) or len(forward.args) != 1:
        return None
    written = [forward.args[0], call.args[0]]
    given = [_read(part, names) for part in written]
    return Stepped(model, *_data(tree, written, given, names), file, loss) if all(map(_is_batch, given)) else None


def _stored(name: ast.Name) -> ast.Name:
    return ast.Name(name.id, ast.Store())


def _bound(step: Any, call: ast.Call, names: dict[str, Any]) -> tuple[Any, list[Any], list[ast.expr]] | None:
    """The step as a function of its batches alone, the batches, and how they are written; models, optimizers and numbers stay as they were given.

    ``None`` where batches and the rest alternate, which no partial function says.
    """
    given = inspect.signature(step).bind(*call.args, **{str(one.arg): one.value for one in call.keywords})
    written = list(given.arguments.items())
    if any(not isinstance(part, ast.expr) for _, part in written):
        return None
    values = {name: _read(part, names) for name, part in written}
    batches = [number for number, (name, _) in enumerate(written) if _is_batch(values[name])]
    if not batches or batches != list(range(batches[0], batches[-1] + 1)):
        return None
    before, after = written[: batches[0]], written[batches[-1] + 1 :]
    of_batches = [written[number] for number in batches]
    if before or after:
        step = functools.partial(step, *(values[name] for name, _ in before), **{name: values[name] for name, _ in after})
    return step, [values[name] for name, _ in of_batches], [part for _, part in of_batches]


def _read(node: ast.expr, names: dict[str, Any]) -> Any:
    """The value of an expression that calls nothing: names, what their objects hold, parts of arrays and of containers, numbers.

    Raises:
        LookupError: it is none of these, or not there.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return names[node.id]
        case ast.Tuple() | ast.List():
            return [_read(part, names) for part in node.elts] if isinstance(node, ast.List) else tuple(_read(part, names) for part in node.elts)
        case ast.Dict() if all(key is not None for key in node.keys):
            return {_read(key, names): _read(part, names) for key, part in zip(node.keys, node.values, strict=True) if key is not None}
        case ast.Attribute():
            return _held(_read(node.value, names), node.attr)
        case ast.Slice():
            return slice(*(None if part is None else _read(part, names) for part in (node.lower, node.upper, node.step)))
        case ast.Subscript():
            owner = _read(node.value, names)
            if isinstance(owner, (dict, list, tuple)) or (hasattr(owner, "shape") and hasattr(owner, "dtype")):
                return owner[_read(node.slice, names)]
        case ast.BinOp() if type(node.op) in _SUMS:
            left, right = _read(node.left, names), _read(node.right, names)
            if isinstance(left, int) and isinstance(right, int):
                return _SUMS[type(node.op)](left, right)
    raise LookupError(ast.unparse(node))


def _held(owner: Any, name: str) -> Any:
    """What an object holds under a name, or its method; a property is not asked."""
    from ..trace.reach import is_graph_function

    held = getattr(owner, "__dict__", {})
    if name in held:
        return held[name]
    method = inspect.getattr_static(type(owner), name, None)
    if inspect.isfunction(method) or is_graph_function(method):
        return getattr(owner, name)
    raise LookupError(name)


def _is_batch(value: Any) -> bool:
    """Whether it holds values; a symbolic tensor, which a function that builds a model is given, does not."""
    from ..trace.frameworks import loaded

    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else [value]
    held = [part for part in parts if len(getattr(part, "shape", None) or ()) > 0 and hasattr(part, "dtype")]
    return bool(held) and not any(adapter.is_symbolic(part) for part in held for adapter in loaded())


def _source(tree: ast.Module, batches: list[ast.expr]) -> str:
    """The name of the dataset whose elements the batches are: those of the innermost loop that names them all."""
    given = {node.id for part in batches for node in ast.walk(part) if isinstance(node, ast.Name)}
    found = ""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and any(node is batches[0] for node in ast.walk(loop)):
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
