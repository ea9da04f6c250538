"""A layer inside of another one, such as ``TimeDistributed``, or without the one that it is inside of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.arguments import argument
from ..text.program import Text
from ..text.source import NoPlace, parents
from .base import LayerEdit, kind
from .insert_layer import enclosed
from .run import Run


@kind
@dataclass(frozen=True)
class WrapLayer(LayerEdit):
    """``wrapper(target)`` in the target's place: a layer, or a model that is called like one."""

    kind = "replace-layer"

    wrapper: str = field(default="", metadata={"needed": True})

    def write(self, text: Text) -> None:
        obj = text.object(self.target)
        places = text.calls(self.target)
        if len(places) == 1:
            source, names, call = text.call_of(places[0], called=self.target)
            if not _in_method(parents(source.tree), call):
                name, changes = names.spell(text.layer_class(self.wrapper), call, call.func)
                source.splice([*changes, *enclosed(source, call.func, f"{name}(", ")")])
                return
        if len(places) > 1:
            raise NoPlace
        source, names, call = text.made(obj)
        text.remark_shared(len(text.twins(obj)) + 1)
        name, changes = names.spell(text.layer_class(self.wrapper), call, call.func)
        source.splice([*changes, *enclosed(source, call, f"{name}(", ")")])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# around {self.target}:"
        yield f"+layers.{self.wrapper}(...)"

    # -- while the program is built again ----------------------------------------------------------

    def instead(self, run: Run, layer: Any) -> Any:
        return getattr(run.package.layers, self.wrapper)(layer)


@kind
@dataclass(frozen=True)
class UnwrapLayer(LayerEdit):
    """What the target was given to hold, in the target's place."""

    kind = "replace-layer"
    op = "unwrap"

    def write(self, text: Text) -> None:
        obj = text.object(self.target)
        source, _, call = text.made(obj)
        text.remark_shared(len(text.twins(obj)) + 1)
        held = argument(call, "layer", ["layer"])
        if held is None:
            raise NoPlace
        source.splice([source.change(call, source.of(held))])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# instead of {self.target}: the layer that it holds"

    # -- while the program is built again ----------------------------------------------------------

    def instead(self, run: Run, layer: Any) -> Any:
        return layer.layer


def _in_method(above: dict[ast.AST, ast.AST], node: ast.AST) -> bool:
    """Whether a call stands in a class: what is made there would be made at each run."""
    while node in above:
        node = above[node]
        if isinstance(node, ast.ClassDef):
            return True
    return False
