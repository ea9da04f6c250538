"""Another argument of a metric that is made for ``compile``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow.syntax import called
from ..text.arguments import with_argument
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
