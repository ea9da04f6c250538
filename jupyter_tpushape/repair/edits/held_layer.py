"""A layer for one operand in the user's own code, held by the class and made in its ``__init__``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow import syntax
from ..text.arguments import argument
from ..text.names import arguments_of
from ..text.program import Text
from ..text.source import NoPlace, enclosing, free_name, made_in_init, parents
from .base import SpanEdit, kind, written


@kind
@dataclass(frozen=True)
class HeldLayer(SpanEdit):
    """``self.name(find)`` at ``span``, with ``self.name = layer(**config)`` in ``__init__``; ``given``: arguments that are parameters there."""

    op = "held-layer"

    find: str = ""
    name: str = ""
    layer_class: str = field(default="", metadata={"name": "layer"})
    config: dict[str, Any] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    def write(self, text: Text) -> None:
        source, node = self.found(text, ast.expr)
        above = parents(source.tree)
        method = enclosing(above, node)
        owner = above.get(method)
        if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef) or not method.args.args:
            raise NoPlace
        cls = text.layer_class(self.layer_class)
        spelled, changes = text.names(self.file).spell(cls, owner)
        new = written(text.package(), "", self.layer_class, self.config)
        call = syntax.parse(new, mode="eval").body
        assert isinstance(call, ast.Call)
        for key, name in sorted(self.given.items(), reverse=True):
            literal = argument(call, key, arguments_of(cls))
            if literal is None or literal.end_col_offset is None:
                raise NoPlace
            new = f"{new[: literal.col_offset]}{name}{new[literal.end_col_offset :]}"
        attribute = free_name(owner, self.name)
        made = made_in_init(source, owner, attribute, spelled + new[len(self.layer_class) :])
        source.splice([*changes, made, source.change(node, f"{method.args.args[0].arg}.{attribute}({source.of(node)})")])

    def shown(self, dataset: bool) -> Iterator[str]:
        config = ", ".join(f"{key}={self.given.get(key, repr(value))}" for key, value in self.config.items())
        yield f"# in __init__, and self.{self.name}({self.find}) at line {self.span[0]}:"
        yield f"+self.{self.name} = layers.{self.layer_class}({config})"
