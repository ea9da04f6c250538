"""One expression of the user's own code, written anew where it stands."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..text.arguments import Change
from ..text.program import Text
from ..text.source import is_atom
from .base import SpanEdit, kind

# Stand for the expression itself, and for the module that the new text calls, however it is imported there.
IT, MODULE = "{it}", "{module}"


@kind
@dataclass(frozen=True)
class Expression(SpanEdit):
    """``replace`` for the expression ``find`` that ran at ``span``.

    ``{it}`` in ``replace`` is the expression as written; ``{module}`` the name that ``module`` has there. Where several edits
    of one ``choice`` hold at one place, the program does not say which of them is meant.
    """

    op = "expression"

    find: str = ""
    replace: str = ""
    module: str = ""
    choice: str = ""
    # Whether it is a whole statement, such as an ``if`` with its branches.
    statement: bool = False

    @property
    def either(self) -> tuple[Any, ...]:
        return (self.file, *self.span, self.choice) if self.choice else ()

    def write(self, text: Text) -> None:
        source, node = self.found(text, ast.stmt if self.statement else ast.expr)
        it = source.of(node)
        new = self.replace
        imports: list[Change] = []
        if self.module:
            name, imports = text.names(self.file).spell(sys.modules[self.module], node)
            new = new.replace(MODULE, name)
        if IT + "[" in new and isinstance(node, ast.expr) and not is_atom(node):
            it = f"({it})"
        source.splice([*imports, source.change(node, new.replace(IT, it))])

    def written(self) -> list[str]:
        """The pieces of the new text that tell it apart from the old one."""
        return [piece for piece in self.replace.replace(MODULE, "").split(IT) if len(piece) > 1] or [self.replace]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# line {self.span[0]}, in {self.target}:"
        yield f"-{self.find}"
        yield f"+{self.replace.replace(IT, self.find).replace(MODULE, self.module)}"
