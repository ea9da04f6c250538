"""Imports the backend that a program needs, without TensorFlow's startup messages, which are printed before any setting can stop them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .early import UsageError

_BACKENDS = ("tensorflow", "jax", "torch", "numpy", "openvino")


def configured() -> str:
    """The backend that Keras 3 will use, from the environment or its configuration file."""
    chosen = os.environ.get("KERAS_BACKEND")
    if chosen:
        return chosen
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        return str(json.loads((home / "keras.json").read_text(encoding="utf-8")).get("backend", "tensorflow"))
    except (OSError, ValueError, AttributeError):
        return "tensorflow"


def import_backend() -> None:
    """Imports the Keras backend quietly. On JAX, a check uses the CPU and leaves the machine's chips free.

    Raises:
        UsageError: if it is not installed.
    """
    backend = configured()
    if backend not in _BACKENDS:
        raise UsageError(f"Keras is configured for the backend {backend[:80]}, which it does not have: set KERAS_BACKEND=tensorflow or KERAS_BACKEND=jax.")
    if backend == "jax":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        if importlib.util.find_spec("jax") is None:
            raise UsageError('Keras is configured for JAX, which is not installed: run pip install "jupyter_tpushape[jax]".')
    elif backend == "tensorflow" and importlib.util.find_spec("tensorflow") is None and importlib.util.find_spec("jax") is not None:
        raise UsageError("Keras is configured for TensorFlow, which is not installed, but JAX is: run export KERAS_BACKEND=jax, then try again.")
    else:
        import_tensorflow()


def import_tensorflow() -> None:
    """Imports TensorFlow, and shows its messages only if that fails. A check uses no GPU.

    TensorFlow selects the Keras version at first use, so a program that runs later can still choose it.

    Raises:
        UsageError: if TensorFlow is not installed.
    """
    if "tensorflow" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    try:
        with _held_back():
            import tensorflow as tf  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "") == "tensorflow":
            raise UsageError('TensorFlow is not installed: run pip install "jupyter_tpushape[tensorflow]".') from None
        raise UsageError(f"TensorFlow is installed but cannot be imported ({error}).") from None


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    sys.stderr.flush()
    with tempfile.TemporaryFile() as kept:
        real = os.dup(2)
        os.dup2(kept.fileno(), 2)
        failed = False
        try:
            yield
        except Exception:
            failed = True
            raise
        finally:
            os.dup2(real, 2)
            os.close(real)
            if failed:
                kept.seek(0)
                sys.stderr.write(kept.read().decode(errors="replace"))
