"""Assertions for tests of models."""

from __future__ import annotations

from typing import Any

from .diagnose import trace
from .report import Report


def assert_flows(model: Any, data: Any = None, *, tpu: str | None = None, **options: Any) -> Report:
    """Asserts that a model processes its data up to the loss, and that :func:`trace` finds no serious problem.

    Args:
        model: a model, or a function that builds one, as for :func:`trace`.
        data: the data, or specs, as for :func:`trace`.
        tpu: the TPU slice to plan for, such as ``"v5e-8"``; without one, only problems on every device count.
        **options: more arguments of :func:`trace`.

    Returns:
        The report, which may still contain performance findings and notes.

    Raises:
        AssertionError: if there is a serious problem; the report is its text.

    Example::

        def test_shapes():
            tpushape.assert_flows(make_model, make_data, tpu="v5e-8")
    """
    report = trace(model, data, tpu=tpu, **options)
    if not report.ok:
        raise AssertionError("\n" + repr(report))
    return report
