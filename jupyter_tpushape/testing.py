"""For tests of models."""

from __future__ import annotations

from typing import Any

from .diagnose import trace
from .report import Report


def assert_flows(model: Any, data: Any = None, *, tpu: str | None = None, **options: Any) -> Report:
    """Asserts that a model takes its data down to the loss with nothing serious found.

    Takes the arguments of :func:`trace`; without ``tpu`` only what any device would show counts.

    Raises:
        AssertionError: with the report as its text.
    """
    report = trace(model, data, tpu=tpu, **options)
    if not report.ok:
        raise AssertionError("\n" + repr(report))
    return report
