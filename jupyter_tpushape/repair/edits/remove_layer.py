"""A layer taken out of the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..text.program import Text
from ..text.source import NoPlace, Source, parents, statement_of, whole_line
from .base import LayerEdit, kind
from .run import Run


@kind
@dataclass(frozen=True)
class RemoveLayer(LayerEdit):
    """The program without the target, where its text shows what it is called on or which layers it stands between."""

    kind = "replace-layer"
    op = "remove"

    def write(self, text: Text) -> None:
        obj = text.object(self.target)
        source, _, call = text.made(obj)
        text.remark_shared(len(text.twins(obj)) + 1)
        above = parents(source.tree)
        parent = above[call]
        if isinstance(parent, ast.Call) and parent.func is call and len(parent.args) == 1 and not parent.keywords:
            given = source.of(parent.args[0])
            whole = above[parent]
            same = isinstance(whole, ast.Assign) and [source.of(target) for target in whole.targets] == [given]
            source.splice([whole_line(source, whole) if same and isinstance(whole, ast.Assign) else source.change(parent, given)])
        elif isinstance(parent, (ast.List, ast.Tuple)) and len(parent.elts) > 1:
            source.splice([_element(source, parent, call)])
        elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "add":
            source.splice([whole_line(source, statement_of(above, parent))])
        else:
            raise NoPlace

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"-{self.target}"

    def instead(self, run: Run, layer: Any) -> Any:
        return run.package.layers.Identity(name=layer.name)


def _element(source: Source, owner: ast.List | ast.Tuple, call: ast.expr) -> tuple[int, int, str]:
    """An element of a list, with the comma and the space between it and a neighbor."""
    index = owner.elts.index(call)
    if index:
        return source.end(owner.elts[index - 1]), source.end(call), ""
    return source.start(call), source.start(owner.elts[1]), ""
