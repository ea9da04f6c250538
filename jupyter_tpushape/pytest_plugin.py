"""The pytest fixture ``assert_flows``, and the marker and option that set its target. pytest loads this module, so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tpushape", "shapes of Keras models")
    group.addoption("--tpushape-tpu", default=None, metavar="TARGET", help="the TPU that assert_flows plans for, such as v5e-8 (default: none)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tpushape(tpu=None, **options): options that the assert_flows fixture passes to tpushape.trace in this test")


@pytest.fixture
def assert_flows(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``tpushape.assert_flows``, with the options of the ``tpushape`` marker, and ``--tpushape-tpu`` as the default target."""
    marker = request.node.get_closest_marker("tpushape")
    given: dict[str, Any] = {"tpu": request.config.getoption("--tpushape-tpu")}
    given.update(marker.kwargs if marker else {})

    def check(model: Any, data: Any = None, **options: Any) -> Any:
        from .diagnose import trace

        __tracebackhide__ = True
        report = trace(model, data, **{**given, **options})
        if not report.ok:
            pytest.fail(repr(report), pytrace=False)
        return report

    return check
