"""Hooks for a framework as soon as its import has ended: what a program makes after that knows its line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aftermath import Attempt

# TensorFlow's import may bring Keras along.
_FRAMEWORKS = ("keras", "tf_keras", "tensorflow")


@contextlib.contextmanager
def hooked(caught: list[Attempt]) -> Iterator[None]:
    """While a program's file is executed: up to its first training call, which is put into ``caught``, or a call that raises, which is remembered."""
    held, known = contextlib.ExitStack(), set[int]()

    def hook() -> None:
        from .aftermath import remember
        from .caught import catching
        from .frameworks import MissingBackend, loaded
        from .hooks import listen

        with contextlib.suppress(MissingBackend):
            new = [adapter for adapter in loaded() if id(adapter) not in known]
            known.update(map(id, new))
            held.enter_context(catching(new, caught))
            if new:
                listen("file", remember)
                held.callback(listen, "file", None)

    arrivals = Arrivals(hook)
    hook()
    sys.meta_path.insert(0, arrivals)
    try:
        yield
    finally:
        sys.meta_path.remove(arrivals)
        held.close()


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
