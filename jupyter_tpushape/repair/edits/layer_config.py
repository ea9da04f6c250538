"""Another value for what a layer was given."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...trace.locations import Place
from ..text.arguments import Change, argument, configured, defaults_of
from ..text.names import Names, arguments_of, literal, positions_of
from ..text.program import Text, parameter
from ..text.source import NoPlace, Source, parents
from .base import LayerEdit, arguments, kind
from .run import Run


@kind
@dataclass(frozen=True)
class LayerConfig(LayerEdit):
    """Arguments of the target's constructor, or of the layer that it holds where it takes none of that name.

    ``alone``: a multiple of a size that a name stands for is written where the layer is made, as other layers may read the name.
    """

    kind = "layer-config"

    config: dict[str, Any] = field(default_factory=dict)
    alone: bool = False

    def write(self, text: Text) -> None:
        obj = text.object(self.target)
        source, names, call = text.made(obj)
        twins = text.twins(obj)
        left = dict(self.config)
        for key in list(left):
            if (self.alone and self._multiple(text, obj, key)) or self._factor(text, obj, key) or self._of_one(text, obj, key):
                del left[key]
        if twins and left:
            others = [other.get_config() for other in twins if other.name not in text.targets]
            if any(other.get(key) != obj.get_config().get(key) for other in others for key in left):
                raise NoPlace  # the line takes another value for each, and they would all have this one
            text.remark_shared(len(twins) + 1)
        if left:
            source.splice(configured(source, names, call, type(obj), left, text.seen.adapter.Layer, obj.get_config()))

    def _named(self, text: Text, given: ast.expr | None, key: str, function: Any, outer: Place) -> str:
        """The argument that has the value, where the one that is given is read by other layers, too."""
        reads = [item.id for item in ast.walk(function) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)]
        if not isinstance(given, ast.Name) or reads.count(given.id) < 2:
            return ""
        _, names, call = text.call_of(outer)
        order, default = [item.arg for item in function.args.args if item.arg != "self"], dict(defaults_of(function.args))
        values = {name: argument(call, name, order) or default.get(name) for name in order}
        fit = [
            name
            for name, node in values.items()
            if node is not None and name in reads and (node.value if isinstance(node, ast.Constant) else names.value(node, call)) == self.config[key]
        ]
        return fit[0] if len(fit) == 1 and type(self.config[key]) is int else ""

    def _multiple(self, text: Text, obj: Any, key: str) -> bool:
        source, names, call = text.made(obj)
        given = argument(call, key, positions_of(names.value(call.func, call) or type(obj)))
        known, wanted = obj.get_config().get(key), self.config[key]
        if not isinstance(given, (ast.Name, ast.Attribute)) or type(known) is not int or type(wanted) is not int or known < 1 or wanted % known:
            return False
        source.splice([source.change(given, f"{wanted // known} * {source.of(given)}")])
        return True

    def _factor(self, text: Text, obj: Any, key: str) -> bool:
        source, names, call = text.made(obj)
        given = argument(call, key, positions_of(names.value(call.func, call) or type(obj)))
        if not isinstance(given, (ast.BinOp, ast.Tuple, ast.List)):
            return False  # a layer may have no configuration to look at
        was, now = obj.get_config().get(key), self.config[key]
        several = isinstance(given, (ast.Tuple, ast.List)) and isinstance(was, (tuple, list)) and isinstance(now, (tuple, list))
        parts = given.elts if isinstance(given, (ast.Tuple, ast.List)) and several else [given]
        pairs = list(zip(was, now, strict=False)) if several else [(was, now)]
        if len(parts) != len(pairs) or (several and len(was) != len(now)):
            return False
        changes = []
        for part, (old, new) in zip(parts, pairs, strict=True):
            if old != new:
                found = part and _undone(part, old, new, lambda node: _known(text, obj, source, names, node))
                if not found or part is None:
                    return False
                changes.append(source.change(part, source.of(found)))
        source.splice(changes)
        return bool(changes)

    def _of_one(self, text: Text, obj: Any, key: str) -> bool:
        source, names, call = text.made(obj)
        where = text.where(obj)
        given = argument(call, key, positions_of(names.value(call.func, call) or type(obj)))
        value = literal(self.config[key])
        for outer in where.outer if isinstance(where, Place) else ():
            change = _in_loop(text, source, given, obj, value)
            if change is not None:
                source.splice([change])
                return True
            listed = _of_list(text, source, given, obj, outer, value)
            if listed is not None:
                listed[0].splice([listed[1]])
                return True
            found = parameter(source, given) if given is not None else None
            if found is None:
                return False
            name = self._named(text, given, key, found[0], outer)
            if name and given is not None:
                source.splice([source.change(given, name)])
                return True
            inside = source
            source, names, call = text.call_of(outer)
            order = positions_of(names.value(call.func, call)) or [item.arg for item in found[0].args.args]  # type: ignore[attr-defined]
            given = argument(call, found[2], order)
            if given is None:
                default = dict(defaults_of(found[0].args)).get(found[2])  # type: ignore[attr-defined]
                if default is None or text.twins(obj) or any(item.arg is None for item in call.keywords):
                    return False
                inside.splice([inside.change(default, value)])
                return True
            if not _several(text, obj, outer):
                source.splice([source.change(given, value)])
                return True
        change = _in_loop(text, source, given, obj, value)
        if change is None:
            return False
        source.splice([change])
        return True

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.target}:"
        yield from (f"+{key}={literal(value)}," for key, value in self.config.items())

    # -- while the program is built again ----------------------------------------------------------

    def instead(self, run: Run, layer: Any) -> Any:
        return reconfigured(run.adapter, layer, arguments(self.config))


def reconfigured(adapter: Any, layer: Any, changes: dict[str, Any]) -> Any:
    """The layer made again; what it does not take itself goes to the layers that it holds."""
    config = dict(layer.get_config())
    takes = set(arguments_of(type(layer))) | (set(config) & set(changes))
    own = {key: value for key, value in changes.items() if key in takes}
    inner = {key: value for key, value in changes.items() if key not in takes}
    if inner:
        held = [key for key, value in config.items() if isinstance(value, dict) and isinstance(value.get("config"), dict) and "class_name" in value]
        held = [key for key in held if adapter.is_layer(getattr(layer, key, None)) or key.endswith("layer")]
        for key in held:
            config[key] = {**config[key], "config": {**config[key]["config"], **inner}}
    return type(layer).from_config({**config, **own})


def _undone(node: ast.expr, was: Any, now: Any, known: Callable[[ast.expr], int | None]) -> ast.expr | None:
    if not isinstance(node, ast.BinOp) or type(was) is not int or type(now) is not int:
        return None
    sides = [(node.left, node.right)] if isinstance(node.op, ast.FloorDiv) else [(node.left, node.right), (node.right, node.left)]
    for found, other in sides:
        size = known(other)
        wanted = now // (size or 1) if isinstance(node.op, ast.FloorDiv) else now * (size or 1)
        if isinstance(found, (ast.Name, ast.Attribute)) and size and isinstance(node.op, (ast.FloorDiv, ast.Mult)) and wanted == was:
            return found
    return None


def _known(text: Text, obj: Any, source: Source, names: Names, node: ast.expr) -> int | None:
    """A whole number that is written, or that a name leads to: also that of an argument of the function around."""
    value = node.value if isinstance(node, ast.Constant) else names.value(node)
    found, where = parameter(source, node), text.where(obj)
    if found is not None and isinstance(where, Place) and where.outer:
        _, its, call = text.call_of(where.outer[0])
        function: Any = found[0]
        given = argument(call, found[2], [item.arg for item in function.args.args if item.arg != "self"])
        given = given or dict(defaults_of(function.args)).get(found[2])
        value = given.value if isinstance(given, ast.Constant) else its.value(given) if given is not None else None
    return value if type(value) is int else None


def _several(text: Text, obj: Any, place: Place) -> bool:
    return any(_by_way_of(text, other, place) for other in text.twins(obj))


def _in_loop(text: Text, source: Source, given: ast.expr | None, obj: Any, value: str) -> Change | None:
    if not isinstance(given, ast.Name):
        return None
    above = parents(source.tree)
    node: ast.AST = given
    while not isinstance(node, ast.Module):
        node = above[node]
        loops = [node] if isinstance(node, ast.For) else list(getattr(node, "generators", ()))
        for loop in loops:
            element = _turn(text, obj, loop, given.id)
            if element is not None:
                return source.change(element, value)
    return None


def _of_list(text: Text, source: Source, given: ast.expr | None, obj: Any, outer: Place, value: str) -> tuple[Source, Change] | None:
    above = parents(source.tree)
    node: ast.AST | None = given if isinstance(given, ast.Name) else None
    while node is not None and not isinstance(node, ast.For):
        node = above.get(node)
    if node is None or not isinstance(given, ast.Name) or ast.unparse(node.target) != given.id:
        return None
    found = parameter(source, node.iter)
    if found is None:
        return None
    there, names, call = text.call_of(outer)
    order = positions_of(names.value(call.func, call)) or [item.arg for item in found[0].args.args]  # type: ignore[attr-defined]
    given_list = argument(call, found[2], order)
    if not isinstance(given_list, (ast.List, ast.Tuple)) or any(isinstance(item, ast.Starred) for item in given_list.elts):
        return None
    made = text.seen.recorder.made
    alike = [one for one in (obj, *text.twins(obj)) if id(one) in made and _by_way_of(text, one, outer)]
    place = next((i for i, one in enumerate(sorted(alike, key=lambda one: made[id(one)].ordinal)) if one is obj), None)
    if place is None or not given_list.elts or len(alike) % len(given_list.elts):
        return None
    return there, there.change(given_list.elts[place % len(given_list.elts)], value)


def _by_way_of(text: Text, obj: Any, place: Place) -> bool:
    where = text.where(obj)
    return isinstance(where, Place) and any(item == place and item.span == place.span for item in where.outer)


def _turn(text: Text, obj: Any, loop: Any, name: str) -> ast.expr | None:
    if not isinstance(loop.iter, (ast.List, ast.Tuple)) or any(isinstance(item, ast.Starred) for item in loop.iter.elts):
        return None
    made = text.seen.recorder.made
    order = sorted((item for item in (obj, *text.twins(obj)) if id(item) in made), key=lambda item: made[id(item)].ordinal)
    if len(order) != len(loop.iter.elts) or obj not in order:
        return None
    element = loop.iter.elts[next(i for i, item in enumerate(order) if item is obj)]
    if isinstance(loop.target, ast.Name) and loop.target.id == name:
        return element
    if isinstance(loop.target, ast.Tuple) and isinstance(element, (ast.Tuple, ast.List)):
        names = [item.id if isinstance(item, ast.Name) else "" for item in loop.target.elts]
        if name in names and len(names) == len(element.elts):
            return element.elts[names.index(name)]
    return None
