"""A layer of another class in a layer's place, one around it, or none, and two in each other's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.arguments import argument
from ..text.names import arguments_of, literal, positions_of
from ..text.program import Text
from ..text.source import NoPlace, Source, parents, statement_of, whole_line
from .base import Edit, LayerEdit, NotThere, arguments, kind, written
from .insert_layer import enclosed
from .run import Run


@kind
@dataclass(frozen=True)
class ReplaceLayer(LayerEdit):
    """``layer_class(**config)`` for the target, with those of its own arguments that ``keep`` names."""

    kind = "replace-layer"

    layer_class: str = field(default="", metadata={"name": "layer", "needed": True})
    keep: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)

    def write(self, text: Text) -> None:
        obj = text.object(self.target)
        source, names, call = text.made(obj)
        text.remark_shared(len(text.twins(obj)) + 1)
        cls = text.layer_class(self.layer_class)
        name, changes = names.spell(cls, call, call.func)
        if not self.keep:
            prefix = name[: -len(self.layer_class)] if name.endswith(self.layer_class) else ""
            made = written(text.package(), prefix, self.layer_class, self.config)
            source.splice([*changes, source.change(call, made if made.startswith(name) else name + made[made.index("(") :])])
            return
        order = positions_of(names.value(call.func, call) or type(obj))
        given = {key: value for key in order if (value := argument(call, key, order)) is not None}
        given.update({item.arg: item.value for item in call.keywords if item.arg})
        takes = arguments_of(cls)
        parts, led = [], True
        for key in dict.fromkeys([*takes, "name"]):
            value = given.get(key)
            if key in self.config:
                said = _scalar(value, self.config[key]) or literal(self.config[key])
            elif value is not None and key in (*self.keep, "name"):
                said = source.of(value)
            else:
                led = False
                continue
            led = led and value in call.args
            parts.append(said if led else f"{key}={said}")
        changes.append(source.change(call.func, name))
        changes.append((source.end(call.func), source.end(call), f"({', '.join(parts)})"))
        source.splice(changes)

    def shown(self, dataset: bool) -> Iterator[str]:
        config = ", ".join(f"{key}={literal(value)}" for key, value in self.config.items())
        yield f"# instead of {self.target}:"
        yield f"+layers.{self.layer_class}({config}),"

    # -- while the program is built again ----------------------------------------------------------

    def instead(self, run: Run, layer: Any) -> Any:
        keep = {key: value for key, value in layer.get_config().items() if key in self.keep}
        return getattr(run.package.layers, self.layer_class)(**{"name": layer.name, **keep, **arguments(self.config)})


def _scalar(value: Any, wanted: Any) -> str:
    constant = getattr(value, "value", None)
    return str(constant) if isinstance(constant, int) and isinstance(wanted, list) and set(wanted) == {constant} else ""


@kind
@dataclass(frozen=True)
class ExchangeLayers(Edit):
    """The target and ``exchange`` change places."""

    kind = "replace-layer"

    exchange: str = field(default="", metadata={"needed": True})

    def write(self, text: Text) -> None:
        source, _, one = text.made(text.object(self.target))
        other_source, _, other = text.made(text.object(self.exchange))
        if other_source is not source:
            raise NoPlace
        first, second = source.of(one), source.of(other)
        source.splice([source.change(one, second), source.change(other, first)])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# swap {self.target} and {self.exchange}"

    def layer(self, run: Run, layer: Any) -> Any:
        pair = (self.target, self.exchange)
        if getattr(layer, "name", None) not in pair:
            return layer
        other = pair[1 - pair.index(layer.name)]
        source = next((obj for obj in run.recorder.alive if getattr(obj, "name", None) == other and hasattr(obj, "get_config")), None)
        if source is None:
            raise NotThere(f"{other} does not exist yet where {layer.name} is called.")
        run.done(self)
        new = run.once((id(self), layer.name), lambda: type(source).from_config({**source.get_config(), "name": other}))
        if id(source) in run.recorder.made:
            run.recorder.made[id(new)] = run.recorder.made[id(source)]
        return new


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
    index = owner.elts.index(call)
    if index:
        return source.end(owner.elts[index - 1]), source.end(call), ""
    return source.start(call), source.start(owner.elts[1]), ""


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
    while node in above:
        node = above[node]
        if isinstance(node, ast.ClassDef):
            return True
    return False
