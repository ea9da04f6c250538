"""Another argument of a metric that is made for ``compile``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow.syntax import called
from ..text.arguments import argument, with_argument
from ..text.compiling import compile_call
from ..text.names import literal
from ..text.program import Text
from ..text.source import NoPlace, enclosing, nodes, parents
from .base import Arguments, Edit, kind
from .compile_argument import exchanged
from .run import Run


@kind
@dataclass(frozen=True)
class MetricArgument(Edit):
    """``argument=setting`` for the only metric of the class ``metric``."""

    kind = "strategy"
    op = "metric-argument"

    metric: str = field(default="", metadata={"needed": True})
    argument: str = ""
    setting: Any = field(default=None, metadata={"name": "value"})

    def write(self, text: Text) -> None:
        source, names, call = compile_call(text, "metrics")
        scope = enclosing(parents(source.tree), call)
        made = [one for one in nodes(scope, ast.Call) if called(one) == self.metric]
        if len(made) != 1:
            raise NoPlace
        source.splice([with_argument(source, names, made[0], self.argument, literal(self.setting), [])])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.metric}():"
        yield f"+{self.argument}={literal(self.setting)},"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        return exchanged(args, kwargs, "metrics", self._set)

    def _set(self, given: Any) -> Any:
        if isinstance(given, dict):
            return {name: self._set(one) for name, one in given.items()}
        if isinstance(given, (list, tuple)):
            return [self._set(one) for one in given]
        if type(given).__name__ != self.metric:
            return given
        return type(given).from_config({**given.get_config(), self.argument: self.setting})


_SHORT = frozenset({"accuracy", "acc"})


@kind
@dataclass(frozen=True)
class MetricExchanged(Edit):
    """An object of the class ``metric`` with ``options`` for the only metric that ``compile`` names by a text."""

    kind = "strategy"
    op = "metric-exchanged"

    metric: str = field(default="", metadata={"needed": True})
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, text: Text) -> None:
        source, names, call = compile_call(text, "metrics")
        value = argument(call, "metrics", [])
        found = [one for one in nodes(value, ast.Constant) if self._named(one.value)] if value is not None else []
        if len(found) != 1:
            raise NoPlace
        name, changes = names.spell(getattr(text.package().metrics, self.metric), found[0])
        source.splice([*changes, (source.start(found[0]), source.end(found[0]), f"{name}({self._given()})")])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield f"+metrics=[..., keras.metrics.{self.metric}({self._given()})],"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        cls = getattr(run.package.metrics, self.metric)
        return exchanged(args, kwargs, "metrics", lambda given: self._set(given, cls))

    def _set(self, given: Any, cls: Any) -> Any:
        if isinstance(given, dict):
            return {name: self._set(one, cls) for name, one in given.items()}
        if isinstance(given, (list, tuple)):
            return [self._set(one, cls) for one in given]
        return cls(**self.options) if self._named(given) else given

    def _named(self, value: Any) -> bool:
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in self.metric).lstrip("_")
        return isinstance(value, str) and value in (*_SHORT, snake)

    def _given(self) -> str:
        return ", ".join(f"{key}={literal(value)}" for key, value in self.options.items())
