"""The frameworks of this process, each with its adapter.

A framework is picked by the object's own type (:func:`adapter_for`), never by trying imports: what is
not loaded in the process cannot be the model's framework.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from .adapter import Adapter


class MissingBackend(ValueError):
    """The process lacks what tracing stands on; the message says what to type."""


_ADAPTERS: dict[str, Adapter] = {}


def adapter(name: str) -> Adapter:
    """The adapter of ``"keras"`` or ``"tf_keras"``, hooks installed."""
    if name not in _ADAPTERS:
        if importlib.util.find_spec("tensorflow") is None:
            raise MissingBackend('Tracing needs TensorFlow, which is not installed: type pip install "jupyter_tpushape[tensorflow]".')
        if name == "keras":
            backend = sys.modules["keras"].backend.backend() if "keras" in sys.modules else "tensorflow"
            if backend != "tensorflow":
                raise MissingBackend(
                    f"Keras runs on its {backend} backend here, and tracing needs TensorFlow's: set KERAS_BACKEND=tensorflow before importing keras."
                )
            from .keras3 import Keras3

            _ADAPTERS[name] = Keras3()
        else:
            from .tfkeras import TfKeras

            _ADAPTERS[name] = TfKeras()
    found = _ADAPTERS[name]
    found.install()
    return found


def adapter_for(obj: Any) -> Adapter | None:
    """The adapter of the object's own framework, or ``None`` where it belongs to neither."""
    for base in type(obj).__mro__:
        root = (base.__module__ or "").split(".")[0]
        if root in ("keras", "tf_keras") and root in sys.modules:
            return adapter(root)
    return None


def loaded() -> list[Adapter]:
    """Adapters of the frameworks that this process has loaded."""
    return [adapter(name) for name in ("keras", "tf_keras") if _ready(name)]


def _ready(name: str) -> bool:
    # A framework in the middle of its own import is not ready to be hooked.
    module = sys.modules.get(name)
    return module is not None and hasattr(module, "Model") and hasattr(module, "layers")


def uninstall() -> None:
    """Takes the hooks of every framework away."""
    for one in _ADAPTERS.values():
        one.uninstall()


__all__ = ["MissingBackend", "adapter", "adapter_for", "loaded", "uninstall"]
