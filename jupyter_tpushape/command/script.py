"""``tpushape check train.py``, where the program raises before it trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from .early import UsageError
from .load import said_at


def report_of_failure(options: Any, error: BaseException) -> Any:
    """The report of what a script raised before its first training call.

    Raises:
        UsageError: shapes have no part in it.
    """
    from ..notebook.hint import has_part, is_ours, report_for, report_of_code

    if not isinstance(error, Exception) or not (is_ours(error) or has_part(error)):
        raise UsageError(f"{Path(options.model).name} raises an error before it trains{said_at(error)}: fix that first.") from error
    report = report_for(error, fixes=not options.no_fixes) or report_of_code(error)
    report.about = replace(report.about, model=options.model)
    return report
