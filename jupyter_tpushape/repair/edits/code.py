"""What every change inside a function of the user's own shares: a layer's ``call``, a Lambda, or the model's."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..rerun import recompiled
from ..text.arguments import Change
from ..text.names import Names
from ..text.program import Text, definition
from ..text.source import NoPlace, Source
from .base import Edit
from .run import Run


@dataclass(frozen=True)
class CodeEdit(Edit):
    """A change of the code that the target runs; ``""`` is the model itself."""

    kind = "replace-op"

    @abstractmethod
    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        """The changes inside a function."""

    def write(self, text: Text) -> None:
        source, scope, function = text.function(self.target)
        self._write(source, Names(source, function.__globals__), scope)

    def _write(self, source: Source, names: Names, scope: ast.AST) -> None:
        found = self.changes(source, names, scope)
        if not found:
            raise NoPlace
        source.splice(found)

    # The code of an object that cannot be built from the text is changed by the very same text.

    def calling(self, run: Run, layer: Any) -> None:
        if id(self) not in run.applied and getattr(layer, "name", None) == self.target and self._change(layer):
            run.done(self)

    def finish(self, run: Run, model: Any) -> bool:
        layer = _find(run.adapter, model, self.target)
        return layer is not None and self._change(layer)

    def _change(self, layer: Any) -> bool:
        """Gives a layer a ``call``, or a Lambda its function, with the edit made; ``False`` where its source is not known."""
        anonymous = type(layer).__name__ == "Lambda" and inspect.isfunction(getattr(layer, "function", None))
        function = inspect.unwrap(layer.function if anonymous else type(layer).call)
        try:
            source = Source.read(function.__code__.co_filename)
            self._write(source, Names(source, function.__globals__), definition(source, function.__code__))
            changed = recompiled(function, source)
        except (NoPlace, AttributeError, OSError):
            return False
        if anonymous:
            layer.function = changed
            return True
        cls = type(layer)
        layer.__class__ = type(cls.__name__, (cls,), {"call": changed, "__module__": cls.__module__})
        return True


def _find(adapter: Any, model: Any, name: str) -> Any:
    if name in ("", getattr(model, "name", None)):
        return model
    for layer in getattr(model, "layers", ()) or ():
        if layer.name == name:
            return layer
        found = _find(adapter, layer, name) if getattr(layer, "layers", None) else None
        if found is not None:
            return found
    return None


def numbers(node: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    """Every whole number in code, a minus in front of it included."""
    inside = set()
    for item in ast.walk(node):
        if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub) and isinstance(item.operand, ast.Constant):
            inside.add(id(item.operand))
            if type(item.operand.value) is int:
                yield item, -item.operand.value
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and type(item.value) is int and id(item) not in inside:
            yield item, item.value
