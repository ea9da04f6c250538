"""What a report is of, as the user calls it, and when and where it was asked for."""

from __future__ import annotations

import datetime as dt
import sys
from typing import Any

from ..flow.wire import About


def named(report: Any, shell: Any, model: str = "", data: str = "", *, failed: bool = False) -> Any:
    """The report, with model, data, backend, time and cell in it; the user's names for the first two.

    ``failed``: it is of what failed last, so the cell is the one that raised.
    """
    extension = getattr(shell, "_tpushape", None)
    execution = 0 if extension is None else extension.count if failed else extension.running
    report.about = About(
        model=model,
        data=data,
        backend=_backend(report.flow.framework),
        when=dt.datetime.now().astimezone().isoformat(timespec="seconds"),
        cell=getattr(shell, "_tpushape_cells", {}).get(execution, ""),
        execution=execution,
        kernel=extension.kernel if extension is not None else "",
    )
    return report


def _backend(framework: str) -> str:
    """``keras on jax``; nothing is imported for it."""
    config = getattr(sys.modules.get("keras"), "config", None)
    if framework != "keras" or config is None:
        return framework
    return f"{framework} on {config.backend()}"
