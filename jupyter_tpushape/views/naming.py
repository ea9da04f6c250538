"""The names of model and data in the user's code, and when and where the trace was started."""

from __future__ import annotations

import ast
import datetime as dt
from typing import TYPE_CHECKING, Any

import msgspec

from ..flow import syntax
from ..flow.wire import About
from .names import canonical

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
    """What the statement at a line of a cell, as it ran, makes or trains: the model's name, and the data's as it is written; ``""`` where it says none."""
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
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
    return (_name(targets[0]) if len(targets) == 1 else ""), ""


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def line_of_cell(error: BaseException | None, namespace: dict[str, Any]) -> int:
    """The line of the cell itself that an exception passed through; 0 where there is none."""
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        if trace.tb_frame.f_globals is namespace and trace.tb_frame.f_code.co_name == "<module>":
            return trace.tb_lineno
        trace = trace.tb_next
    return 0
