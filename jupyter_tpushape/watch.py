"""``with watch() as seen``: records the layers that are built in a block, even if it raises an error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .examine import Program, assemble_recorded
from .report import Report
from .rules import run_rules
from .trace.build import watching
from .trace.frameworks import loaded
from .trace.recorder import Recorder


class Seen:
    """What a watched block built. ``report`` is available after the block."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._error: BaseException | None = None
        self._report: Report | None = None

    @property
    def report(self) -> Report:
        """The flow up to the end of the block, or up to the error, and the findings."""
        if self._report is None:
            self._report = report_of(self._recorder, self._error)
        return self._report


@contextlib.contextmanager
def watch() -> Iterator[Seen]:
    """Records the layers that are created and called inside the block.

    An exception propagates unchanged; ``seen.report`` then contains the flow up to the error.

    Yields:
        An object whose ``report`` is the :class:`Report` of the block.

    Example::

        with tpushape.watch() as seen:
            model = build()
        seen.report
    """
    loaded()
    recorder = Recorder()
    seen = Seen(recorder)
    try:
        with watching(recorder, restore=False):
            yield seen
    except Exception as error:
        seen._error = error
        raise


def report_of(recorder: Recorder, error: BaseException | None, data: Any = None) -> Report:
    """A report of recorded calls without a model."""
    seen = assemble_recorded(Program(None, data), recorder, error)
    title = "watched block"
    if error is not None:
        failed = seen.evidence.failed
        # Where no layer took part, the line is all that there is to name.
        title = str(failed.location) if failed is not None and failed.op == "python" and failed.location is not None else ""
    return Report(seen.evidence.flow, run_rules(seen.evidence, seen.limits), title=title, limits=tuple(seen.limits))
