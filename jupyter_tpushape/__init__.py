"""Where the tensor shapes of a Keras model part, why, and a fix that was tried and holds, before a TPU is rented."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .diagnose import trace
    from .flow import CannotRebuild, Report

# Public names load on first use, so that importing the package costs milliseconds and no framework.
_HOME = {
    "trace": ".diagnose",
    "Report": ".flow",
    "CannotRebuild": ".flow",
}

__all__ = ["CannotRebuild", "Report", "trace"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
