"""``tpushape check train.py``: the program up to its first training call, or up to where it raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from .check import chooses_backend, traced
from .early import UsageError
from .load import said_at, script
from .quiet import import_backend


def report_of_script(options: Any) -> Any:
    """The report of what the script trains, on the data that it trains it on.

    Raises:
        UsageError: it raises an error that shapes have no part in, or trains nothing.
    """
    from ..notebook.hint import has_part, is_ours, report_for, report_of_code

    file = Path(options.model)
    if not chooses_backend(options.model):
        import_backend()
    attempt, error = script(file)
    if attempt is not None:
        return traced(options, attempt.model, attempt)
    assert error is not None
    if not isinstance(error, Exception) or not (is_ours(error) or has_part(error)):
        raise UsageError(f"{file.name} raises an error before it trains{said_at(error)}: fix that first.") from error
    report = report_for(error, fixes=not options.no_fixes) or report_of_code(error)
    report.about = replace(report.about, model=options.model)
    return report
