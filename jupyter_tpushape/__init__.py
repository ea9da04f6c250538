"""Where the tensor shapes of a Keras model part, why, and a fix that was tried and holds, before a TPU is rented."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .diagnose import trace
    from .flow import CannotRebuild, Report
    from .rules import rules

# Public names load on first use, so that importing the package costs milliseconds and no framework.
_HOME = {
    "trace": ".diagnose",
    "Report": ".flow",
    "CannotRebuild": ".flow",
    "rules": ".rules",
    "_jupyter_labextension_paths": "._labextension",
}

__all__ = ["CannotRebuild", "Report", "rules", "trace"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    """Keeps ``trace`` and ``rules`` the public functions when the packages of these names are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
