"""Keras on JAX needs a process of its own, so these run where KERAS_BACKEND=jax says so, and nowhere else: make test-jax."""

from __future__ import annotations

import gc
import os

import pytest

collect_ignore_glob = [] if os.environ.get("KERAS_BACKEND") == "jax" else ["test_*.py"]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPUSHAPE_STRICT", "1")

if not collect_ignore_glob:

    def pytest_collection_finish() -> None:
        """What was imported stays to the end, and so does what a file leaves behind: a session that is cleared need not walk through it."""
        gc.set_threshold(50_000, 50, 50)
        _settle()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if nextitem is not None and nextitem.path != item.path:
            _settle()


def _settle() -> None:
    gc.collect()
    gc.freeze()
