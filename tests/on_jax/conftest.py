"""Keras on JAX needs a process of its own, so these run where KERAS_BACKEND=jax says so, and nowhere else: make test-jax."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("KERAS_BACKEND") == "jax" else ["test_*.py"]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPUSHAPE_STRICT", "1")

if not collect_ignore_glob:
    # There this is the folder of all tests.
    pytest_plugins = ["settled"]
