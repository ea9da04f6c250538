"""Traces the last failure again: for ``%tpushape`` without arguments and for the sidebar."""

from __future__ import annotations

from typing import Any


def last_report(extension: Any, chosen: dict[str, Any]) -> Any:
    """The flow of the last shape error; ``None`` if there was none.

    Args:
        chosen: options of ``trace``; with ``fixes``, a cell that only builds is run again to try them.
    """
    error = extension.error
    if error is None:
        return None
    from .cell import rerun_report
    from .hint import report_for, report_of_code

    report = rerun_report(extension, chosen) if chosen["fixes"] and extension.said else None
    return report or report_for(error, fixes=bool(chosen["fixes"])) or report_of_code(error)
