"""The loaded frameworks, each with its backend.

The type of an object determines its framework (:func:`adapter_for`); no imports are tried: a framework that is
not loaded in the process cannot be the model's framework.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from .backend import Backend
from .framework import Framework


class MissingBackend(ValueError):
    """The process lacks a backend for tracing; the message says what to install or set."""


_FRAMEWORKS: dict[str, Framework] = {}
_BACKENDS: dict[str, Backend] = {}


def backend(name: str) -> Backend:
    """The backend with this name.

    Raises:
        MissingBackend: if it is not installed or not supported.
    """
    if name not in ("tensorflow", "jax"):
        raise MissingBackend(
            f"Keras uses its {name} backend here, but tracing needs TensorFlow or JAX: set KERAS_BACKEND=jax or KERAS_BACKEND=tensorflow before you import keras. "
            f"A model that uses only keras.ops is the same program there."
        )
    if importlib.util.find_spec(name) is None:
        title = {"tensorflow": "TensorFlow", "jax": "JAX"}[name]
        raise MissingBackend(f'Tracing needs {title}, which is not installed: run pip install "jupyter_tpushape[{name}]".')
    if name not in _BACKENDS:
        if name == "jax":
            from .jax import Jax

            _BACKENDS[name] = Jax()
        else:
            from .tensorflow import TensorFlow

            _BACKENDS[name] = TensorFlow()
    return _BACKENDS[name]


def adapter(name: str) -> Framework:
    """The framework ``"keras"`` or ``"tf_keras"`` on the backend of this process, with hooks installed.

    Raises:
        MissingBackend: if its backend is not supported.
    """
    if name not in _FRAMEWORKS:
        if name == "keras":
            below = backend(sys.modules["keras"].backend.backend() if "keras" in sys.modules else "tensorflow")
            from .keras3 import Keras3

            _FRAMEWORKS[name] = Keras3(below)
        else:
            below = backend("tensorflow")
            from .tfkeras import TfKeras

            _FRAMEWORKS[name] = TfKeras(below)
    found = _FRAMEWORKS[name]
    found.install()
    return found


def adapter_for(obj: Any) -> Framework | None:
    """The object's framework, or ``None`` if it belongs to neither."""
    for base in type(obj).__mro__:
        root = (base.__module__ or "").split(".")[0]
        if root in ("keras", "tf_keras") and root in sys.modules:
            return adapter(root)
    return None


def loaded() -> list[Framework]:
    """The frameworks that are loaded in this process."""
    return [adapter(name) for name in ("keras", "tf_keras") if _ready(name)]


def _ready(name: str) -> bool:
    # A framework in the middle of its own import is not ready to be hooked.
    module = sys.modules.get(name)
    return module is not None and hasattr(module, "Model") and hasattr(module, "layers")


def uninstall() -> None:
    """Removes the hooks of every framework."""
    for one in _FRAMEWORKS.values():
        one.uninstall()


def backend_of(framework: str) -> str:
    """``keras on jax``, for example; imports nothing."""
    config = getattr(sys.modules.get("keras"), "config", None)
    if framework != "keras" or config is None:
        return framework
    return f"{framework} on {config.backend()}"


__all__ = ["MissingBackend", "adapter", "adapter_for", "backend_of", "loaded", "uninstall"]


def registered() -> list[dict[Any, Any]]:
    """The tables of the loaded frameworks in which programs have registered classes and functions by name."""
    modules = [sys.modules.get(f"{one.package}.src.saving.object_registration") for one in loaded()]
    return [value for module in modules for name, value in vars(module or object).items() if name.strip("_").startswith("GLOBAL_CUSTOM")]
