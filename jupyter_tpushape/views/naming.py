"""The names of model and data in the user's code, also of several arrays or a dict of them, and when and where the trace was started."""

from __future__ import annotations

import ast
import datetime as dt
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..flow import syntax
from ..flow.wire import About

if TYPE_CHECKING:
    from ..report import Report

_TRAINING = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch")


def named(report: Any, shell: Any, model: str = "", data: str = "", *, failed: bool = False, execution: int = 0) -> Any:
    """The report, with model, data, backend, time and cell in it; the user's names for the first two.

    ``failed``: it is of what failed last, or of an earlier ``execution``, so the cell is the one that raised, and its text says what was made there.
    """
    from ..trace.frameworks import backend_of  # loaded by whatever traced; `%load_ext` alone does without

    extension = getattr(shell, "_tpushape", None)
    execution = 0 if extension is None else execution or (extension.count if failed else extension.running)
    if failed and extension is not None and not model:
        source, line, _ = extension.earlier.get(execution) or (extension.source, line_of_cell(extension.error, shell.user_ns), None)
        model, data = made_at(shell.transform_cell(source), line)
        held = report.subject.kept()[0] if report.subject is not None else None
        if hasattr(type(held), "get_config") and "." not in model and shell.user_ns.get(model) is not held:
            # A function of the program's own trained it: what the cell names is that function's result.
            model, data = report.subject.called(shell.user_ns)
    data = canonical(data)
    if extension is not None and model and not failed:
        extension.seen[model] = data
    report.about = About(
        model=model,
        data=data,
        backend=backend_of(report.flow.framework),
        when=dt.datetime.now().astimezone().isoformat(timespec="seconds"),
        cell=getattr(shell, "_tpushape_cells", {}).get(execution, ""),
        execution=execution,
        kernel=extension.kernel if extension is not None else "",
        explains=failed,
    )
    return report


def named_here(report: Report) -> Report:
    """A report that is shown in a notebook, named where it is not yet: model and data by the variables that hold them."""
    if report.about.execution or report.about.kernel:
        return report
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or report.subject is None:
        return report
    model, data = report.subject.called(shell.user_ns)
    named(report, shell, model or report.about.model, data or report.about.data)
    report.about = msgspec.structs.replace(report.about, when=report.subject.when)
    return report


def made_at(source: str, line: int) -> tuple[str, str]:
    """What the statement at a line of a cell, as it ran, makes or trains: the model's name, and the data's as it is written."""
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", ""
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)]
    if not around:
        return "", ""
    statement = max(around, key=lambda node: (node.lineno, node.col_offset))
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _TRAINING:
        data = ", ".join(ast.unparse(part) for part in value.args)
        return _name(value.func.value), data if len(data) <= 60 else ""
    targets = syntax.targets_of(statement)
    return (_name(targets[0]) if len(targets) == 1 else ""), ""


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def line_of_cell(error: BaseException | None, namespace: dict[str, Any]) -> int:
    """The line of the cell itself that an exception passed through; of the body, where a magic ran it."""
    trace, line = error.__traceback__ if error is not None else None, 0
    while trace is not None:
        if trace.tb_frame.f_globals is namespace and trace.tb_frame.f_code.co_name == "<module>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def looked_up(written: str, namespace: Mapping[str, Any]) -> Any:
    """What stands behind the names: a variable's value, or a tuple, list or dict of several; ``None`` where nothing is written.

    Raises:
        NameError: a variable is no longer there.
        ValueError: it is written otherwise than as names.
    """
    if not written.strip():
        return None
    node = _parsed(written)
    if node is None:
        raise ValueError(f"{written} is not a variable: expected names, such as model, or x, y, or [left, right], y.")
    return _value(node, namespace)


def canonical(written: str) -> str:
    """Names of data as the list of variables has them: ``(x,y)`` as ``x, y``. Text that is no names stays as it is."""
    node = _parsed(written)
    return written if node is None else shown(node)


def shown(node: ast.expr) -> str:
    """The text of names, the outermost tuple without its parentheses."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(ast.unparse(part) for part in node.elts)
    return ast.unparse(node)


def only_names(node: ast.AST) -> bool:
    """Whether an expression is a name, or lists, tuples and dicts with texts for keys, of names."""
    if isinstance(node, ast.Dict):
        keys = all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys)
        return keys and bool(node.values) and all(map(only_names, node.values))
    return isinstance(node, ast.Name) or (isinstance(node, (ast.List, ast.Tuple)) and bool(node.elts) and all(map(only_names, node.elts)))


def first_name(written: str) -> str:
    """The variable that stands first."""
    node = _parsed(written)
    found = next((part.id for part in ast.walk(node) if isinstance(part, ast.Name)), "") if node is not None else ""
    return found or written


@functools.lru_cache(maxsize=1024)
def _parsed(written: str) -> ast.expr | None:
    try:
        node = syntax.parse(written.strip(), "eval").body
        return node if only_names(node) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            if name not in namespace:
                raise NameError(f"{name} no longer exists in this kernel: refresh the list.", name=name)
            return namespace[name]
        case ast.List(elts=parts):
            return [_value(part, namespace) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(_value(part, namespace) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return {ast.literal_eval(key): _value(part, namespace) for key, part in zip(keys, values, strict=True) if key is not None}
    raise AssertionError(node)
