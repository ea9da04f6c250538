"""Find where tensor shapes do not match in a Keras model, why, and a fix that was re-run and works, before you rent a TPU."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .compilers.fit import fit_batch
    from .compilers.lengths import fit_length
    from .diagnose import trace
    from .flow import CannotRebuild
    from .port import port
    from .repair.patch import apply
    from .replicas import tpu_strategy
    from .report import Report
    from .rules import rules
    from .suggest import suggest_layout
    from .testing import assert_flows
    from .watch import watch

# Public names load on first use, so that importing the package costs milliseconds and no framework.
_HOME = {
    "trace": ".diagnose",
    "apply": ".repair.patch",
    "diff": ".views.comparison",
    "assert_flows": ".testing",
    "tpu_strategy": ".replicas",
    "fit_batch": ".compilers.fit",
    "fit_length": ".compilers.lengths",
    "port": ".port",
    "suggest_layout": ".suggest",
    "watch": ".watch",
    "Report": ".report",
    "CannotRebuild": ".flow",
    "rules": ".rules",
    "_jupyter_labextension_paths": "._labextension",
    "load_ipython_extension": ".notebook",
    "unload_ipython_extension": ".notebook",
}

__all__ = [
    "CannotRebuild",
    "Report",
    "apply",
    "assert_flows",
    "diff",
    "fit_batch",
    "fit_length",
    "port",
    "rules",
    "suggest_layout",
    "tpu_strategy",
    "trace",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def view(name: str) -> Any:
    """A module of the views, or the package itself for ``""``: modules above the views reach them only through this function."""
    return import_module(f".views.{name}".rstrip("."), __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(ModuleType):
    """Keeps ``trace`` and ``rules`` the public functions when the packages of these names are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
