"""Calls in the user's own code: rows counted, masks that keep the size, axes exchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...flow.syntax import called
from ..text.arguments import Change
from ..text.names import Names
from ..text.operations import spelled
from ..text.source import Source, nodes
from .base import kind
from .code import CodeEdit


@kind
@dataclass(frozen=True)
class StaticMask(CodeEdit):
    """``tf.boolean_mask(x, mask)`` becomes a product: the rows stay, those outside the mask are zero."""

    op = "static-mask"

    axes: int = 0

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        found = [
            call
            for call in nodes(scope, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "boolean_mask" and len(call.args) == 2 and not call.keywords
        ]
        if len(found) != 1:
            return []
        call = found[0]
        assert isinstance(call.func, ast.Attribute)
        value, mask, module = source.of(call.args[0]), source.of(call.args[1]), source.of(call.func.value)
        inside = f"({mask})[{', '.join(['...'] + [f'{module}.newaxis'] * self.axes)}]" if self.axes else mask
        return [source.change(call, f"{module}.where({inside}, {value}, {module}.zeros_like({value}))")]

    def shown(self, dataset: bool) -> Iterator[str]:
        inner = "[" + ", ".join(["..."] + ["tf.newaxis"] * self.axes) + "]" if self.axes else ""
        yield f"# in {self.target}, instead of tf.boolean_mask(x, mask):"
        yield f"+tf.where(mask{inner}, x, tf.zeros_like(x))"


@kind
@dataclass(frozen=True)
class Transposed(CodeEdit):
    """``reshape(x, shape)`` becomes ``transpose(x, order)`` at one call: axes are exchanged and not only renamed."""

    op = "transpose"

    order: list[int] = field(default_factory=list)

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        found = [
            call
            for call in nodes(scope, ast.Call)
            if called(call) == "reshape" and isinstance(call.func, ast.Attribute) and len(call.args) + len(call.keywords) == 2
        ]
        if len(found) != 1:
            return []
        call = found[0]
        assert isinstance(call.func, ast.Attribute)
        end = source.end(call.func)
        shape = call.args[1] if len(call.args) > 1 else call.keywords[0]
        order = f"({', '.join(map(str, self.order))})"
        return [(end - len("reshape"), end, "transpose"), source.change(shape, order)]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.target or 'the model'}, instead of the reshape:"
        yield f"+{spelled()}.transpose(x, {tuple(self.order)})"
