"""Hooks for a framework as soon as its import has ended: what a program makes after that knows its line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any

# TensorFlow's import may bring Keras along.
_FRAMEWORKS = ("keras", "tf_keras", "tensorflow")


@contextlib.contextmanager
def hooked() -> Iterator[None]:
    """While a program's file is executed."""
    arrivals = Arrivals(_hook)
    _hook()
    sys.meta_path.insert(0, arrivals)
    try:
        yield
    finally:
        sys.meta_path.remove(arrivals)


def _hook() -> None:
    from .frameworks import MissingBackend, loaded

    with contextlib.suppress(MissingBackend):
        loaded()


class Arrivals:
    """Stands in ``sys.meta_path``, finds nothing by itself, and calls ``arrived`` once a framework's import has ended."""

    def __init__(self, arrived: Callable[[], None]) -> None:
        self.arrived = arrived

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """What the other finders find, with a loader that tells when it is done."""
        if name not in _FRAMEWORKS:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None else None
            if spec is not None:
                with contextlib.suppress(AttributeError):  # a loader that takes no attribute: watched from the next cell on
                    self._tell(spec.loader)
                return spec
        return None

    def _tell(self, loader: Any) -> None:
        load = loader.exec_module

        def exec_module(module: Any) -> None:
            vars(loader).pop("exec_module", None)
            load(module)
            # Inside of TensorFlow's own import it is too early; its end comes here, too.
            spec = getattr(sys.modules.get("tensorflow"), "__spec__", None)
            if module.__name__ == "tensorflow" or not getattr(spec, "_initializing", False):
                self.arrived()

        loader.exec_module = exec_module
