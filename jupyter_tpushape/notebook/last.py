"""What failed last, traced again: for ``%tpushape`` alone and for the sidebar."""

from __future__ import annotations

from typing import Any


def last_report(extension: Any, chosen: dict[str, Any]) -> Any:
    """The flow of the last failure over shapes; ``None`` where nothing has failed.

    Args:
        chosen: options of ``trace``; with ``fixes`` a cell that only builds is run again to try them.
    """
    error = extension.error
    if error is None:
        return None
    from .cell import rerun_report
    from .hint import report_for, report_of_code

    report = rerun_report(extension, chosen) if chosen["fixes"] and extension.said else None
    return report or report_for(error, fixes=bool(chosen["fixes"])) or report_of_code(error)
