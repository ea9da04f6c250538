"""What a function makes anew at each run, made once with its object."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.program import Text
from ..text.source import NoPlace, enclosing, nodes, parents
from .base import Edit, NotThere, kind
from .run import Run


@kind
@dataclass(frozen=True)
class MadeOnce(Edit):
    """A ``cls`` that a method makes on a line becomes an attribute, made in ``__init__``."""

    kind = "replace-op"
    op = "made-once"

    file: str = field(default="", metadata={"needed": True})
    line: int = 0
    cls: str = ""

    @property
    def _stem(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.cls).lower()

    def write(self, text: Text) -> None:
        source = text.source(self.file)
        above = parents(source.tree)
        found = [
            call
            for call in nodes(source.tree, ast.Call)
            if call.lineno <= self.line <= (call.end_lineno or 0) and ast.unparse(call.func).split(".")[-1] == self.cls
        ]
        method = enclosing(above, found[0]) if len(found) == 1 else None
        owner = above.get(method) if method is not None else None
        if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef) or not method.args.args:
            raise NoPlace
        call, me = found[0], method.args.args[0].arg
        # What the call alone knows cannot be used where the object is made.
        local = {item.arg for item in (*method.args.args[1:], *method.args.kwonlyargs)}
        local |= {item.id for item in nodes(method, ast.Name) if isinstance(item.ctx, ast.Store)}
        maker = next((item for item in owner.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
        if maker is None or not maker.args.args or any(item.id in local for item in nodes(call, ast.Name)):
            raise NoPlace
        taken = {item.attr for item in nodes(owner, ast.Attribute)}
        stem = self._stem
        name = next(name for name in (stem, *(f"{stem}_{i}" for i in range(1, 99))) if name not in taken)
        last = maker.body[-1]
        end = source.end(last)
        written = source.of(call).replace(f"{me}.", f"{maker.args.args[0].arg}.")
        source.splice(
            [
                (source.start(call), source.end(call), f"{me}.{name}"),
                (end, end, f"\n{source.indent(last)}{maker.args.args[0].arg}.{name} = {written}"),
            ]
        )

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in __init__, and self.{self._stem} at line {self.line}:"
        yield f"+self.{self._stem} = {self.cls}(...)"

    # Only the text can be changed: a live object has run its ``__init__``.

    def builder(self, run: Run, build: Any, strategy: Any) -> Any:
        raise NotThere
