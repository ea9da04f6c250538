"""What a function makes anew at each run, made once with its object."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..text.program import Text
from ..text.source import NoPlace, at_line, enclosing, free_name, made_in_init, method_of, nodes, parents
from .base import TextEdit, kind


@kind
@dataclass(frozen=True)
class MadeOnce(TextEdit):
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
        found = [call for call in at_line(source.tree, ast.Call, self.line) if ast.unparse(call.func).split(".")[-1] == self.cls]
        method = enclosing(above, found[0]) if len(found) == 1 else None
        owner = above.get(method) if method is not None else None
        if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef) or not method.args.args:
            raise NoPlace
        call, me = found[0], method.args.args[0].arg
        # What the call alone knows cannot be used where the object is made.
        local = {item.arg for item in (*method.args.args[1:], *method.args.kwonlyargs)}
        local |= {item.id for item in nodes(method, ast.Name) if isinstance(item.ctx, ast.Store)}
        maker = method_of(owner, "__init__")
        if maker is None or not maker.args.args or any(item.id in local for item in nodes(call, ast.Name)):
            raise NoPlace
        name = free_name(owner, self._stem)
        written = source.of(call).replace(f"{me}.", f"{maker.args.args[0].arg}.")
        source.splice([source.change(call, f"{me}.{name}"), made_in_init(source, owner, name, written)])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in __init__, and self.{self._stem} at line {self.line}:"
        yield f"+self.{self._stem} = {self.cls}(...)"
