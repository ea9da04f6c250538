"""Another loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.arguments import Change, argument, compile_call
from ..text.names import Names, literal
from ..text.program import Text
from ..text.source import NoPlace, Source
from .base import Arguments, Edit, kind
from .run import Run

_SHORT = {"Mse": "MeanSquaredError", "Mae": "MeanAbsoluteError"}


@kind
@dataclass(frozen=True)
class Loss(Edit):
    """``loss`` by name, as an object where it has ``options``; of several losses those that ``was`` names."""

    kind = "loss"

    loss: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    was: str = ""
    metrics: Any = None

    @property
    def _class(self) -> str:
        cls = "".join(part.capitalize() for part in self.loss.split("_"))
        return _SHORT.get(cls, cls)

    @property
    def _said(self) -> dict[str, Any]:
        return {key: value for key, value in self.options.items() if value not in (None, False)}

    def write(self, text: Text) -> None:
        source, names, call = compile_call(text, "loss")
        value = argument(call, "loss", ["optimizer", "loss"])
        if value is None:
            raise NoPlace
        changes = [change for one in self._of(names, value) for change in self._changes(text, source, names, one)]
        source.splice([*dict.fromkeys(changes)])

    def _of(self, names: Names, value: ast.expr) -> list[ast.expr]:
        several = value.values if isinstance(value, ast.Dict) else value.elts if isinstance(value, (ast.List, ast.Tuple)) else None
        old = [value] if several is None else [item for item in several if self._was(names, item)]
        if not old:
            raise NoPlace
        return old

    def _was(self, names: Names, value: ast.expr) -> bool:
        if isinstance(value, ast.Constant):
            return bool(value.value == self.was)
        made = names.value(value.func, value) if isinstance(value, ast.Call) else names.value(value)
        name = str(getattr(made, "__name__", ""))
        return name in (self.was, "".join(part.capitalize() for part in self.was.split("_")))

    def _changes(self, text: Text, source: Source, names: Names, value: ast.expr) -> list[Change]:
        start, end = source.start(value), source.end(value)
        if isinstance(value, ast.Call):
            cls = getattr(text.package().losses, self._class, None)
            if cls is not None:
                name, changes = names.spell(cls, value, value.func)
                kept = "" if value.args and not self._said else self._kept(source, value)
                return [*changes, (start, end, f"{name}({kept})")]
        if not self._said:
            quote = source.text[start] if isinstance(value, ast.Constant) and source.text[start] in "'\"" else '"'
            return [(start, end, f"{quote}{self.loss}{quote}")]
        name, changes = names.spell(getattr(text.package().losses, self._class), value)
        given = ", ".join(f"{key}={literal(item)}" for key, item in self._said.items())
        return [*changes, (start, end, f"{name}({given})")]

    def _kept(self, source: Source, value: ast.Call) -> str:
        parts = [source.of(item) for item in value.args]
        for item in value.keywords:
            said = literal(self.options[item.arg]) if item.arg in self.options else source.of(item.value)
            parts.append(f"{item.arg}={said}" if item.arg else f"**{said}")
        known = {item.arg for item in value.keywords}
        parts += [f"{key}={literal(item)}" for key, item in self.options.items() if key not in known and item is not None]
        return ", ".join(parts)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        given = ", ".join(f"{key}={literal(item)}" for key, item in self._said.items())
        yield f"+loss={f'keras.losses.{self._class}({given})' if given else literal(self.loss)},"

    def made(self, package: Any) -> Any:
        """The loss as ``compile`` takes it."""
        return getattr(package.losses, self._class)(**self.options) if self.options else self.loss

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        before = args[1] if len(args) > 1 else kwargs.get("loss")
        loss = self._among(before, self.made(run.package))
        if len(args) > 1:
            args = (args[0], loss, *args[2:])
        else:
            kwargs = {**kwargs, "loss": loss}
        return args, ({**kwargs, "metrics": self.metrics} if self.metrics is not None else kwargs)

    def _among(self, before: Any, loss: Any) -> Any:

        def named(value: Any) -> bool:
            said = value if isinstance(value, str) else getattr(value, "name", "") or getattr(value, "__name__", "")
            return bool(said) and said == self.was

        if isinstance(before, dict) and any(map(named, before.values())):
            return {key: loss if named(value) else value for key, value in before.items()}
        if isinstance(before, (list, tuple)) and any(map(named, before)):
            return [loss if named(value) else value for value in before]
        return loss
