"""A real IPython with the extension, in this process."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape


class Cells:
    """Runs cells: ``result, out, err = cells(text)``. ``report``: the last one that was shown."""

    def __init__(self) -> None:
        InteractiveShell.clear_instance()
        self.shell: Any = InteractiveShell.instance(colors="nocolor")

    def __call__(self, cell: str, place: object = None) -> tuple[Any, str, str]:
        out, err = io.StringIO(), io.StringIO()
        named = {} if place is None else {"cell_id": f"cell-{place}"}
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            result = self.shell.run_cell(cell, store_history=True, **named)
        return result, out.getvalue(), err.getvalue()

    @property
    def report(self) -> tpushape.Report:
        found: tpushape.Report = self.shell.user_ns["_tpushape_report"]
        return found

    def empty(self) -> None:
        self.shell.run_line_magic("reset", "-f")


@contextlib.contextmanager
def cells() -> Iterator[Cells]:
    made = Cells()
    try:
        yield made
    finally:
        tpushape.unload_ipython_extension(made.shell)
        made.empty()
        InteractiveShell.clear_instance()
