"""The data that a failed ``fit`` was to be validated on: traced where the data that it trains on raises nothing."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING, Any

from ..flow import DATA_EDITS, syntax
from ..report import Report
from ..views.names import only_names

if TYPE_CHECKING:
    from ..trace.aftermath import Attempt

# Training data has what this would put in or leave out.
_ELSE = frozenset({"pad_axis", "crop_axis"})


def report_of_held(attempt: Attempt, *, fixes: bool) -> Report | None:
    """The report of the model on ``validation_data``; ``None`` where there is none."""
    if attempt.held is None:
        return None
    from ..diagnose import trace
    from ..examine import HANDED
    from ..rules.facts.training import HeldBack
    from ..trace.locations import Variables

    typed = _typed(attempt.where) if attempt.where is not None else ""
    token = HANDED.set(Variables.typed(attempt.where[0], typed) if attempt.where is not None and typed else None)
    try:
        report = trace(attempt.model, attempt.held, tpu=None, batch_size=attempt.batch_size, fixes=fixes and bool(typed))
    finally:
        HANDED.reset(token)
    # A fix of the model would be judged by the held data alone, and break what trains.
    for finding in report.findings:
        finding.fixes = [
            fix
            for fix in finding.fixes
            if fix.verified and all(edit.kind in DATA_EDITS and edit.detail.get("op") not in _ELSE for edit in fix.edits)
        ]
        if finding.severity == "error":
            finding.add(HeldBack())
    return report


def _typed(where: tuple[str, int]) -> str:
    """What stands for ``validation_data`` in the call at a line, where it is made of names."""
    try:
        tree = syntax.parse("".join(linecache.getlines(where[0])))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.lineno <= where[1] <= (node.end_lineno or node.lineno):
            given: Any = next((part.value for part in node.keywords if part.arg == "validation_data"), None)
            if given is not None and only_names(given):
                return ast.unparse(given)
    return ""
