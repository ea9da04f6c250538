"""Collections of garbage that do not walk through what stays: hooks for the tests of each backend."""

from __future__ import annotations

import gc

import pytest


def pytest_collection_finish() -> None:
    """What was imported stays to the end: collections of garbage, of which a cleared session is one, need not walk through it.

    Of what a trace makes, little is garbage a moment later: looked at seven hundred objects at a time, it took a tenth of the tests' time.
    """
    gc.set_threshold(50_000, 50, 50)
    _settle()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Nor through what a file leaves behind, such as graphs that a framework keeps: after a thousand tests they are millions of objects."""
    if nextitem is not None and nextitem.path != item.path:
        _settle()


def _settle() -> None:
    gc.collect()
    gc.freeze()
