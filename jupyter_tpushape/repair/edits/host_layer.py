"""A layer moved from the model into the pipeline: made where both can see it, called in ``map``, gone from the model."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...flow import CannotRebuild, Spec
from ..text.arguments import Change, with_argument
from ..text.cells import bound
from ..text.handed import Handed
from ..text.names import literal, positions_of
from ..text.program import Text
from ..text.source import NoPlace, Source, enclosing, nodes, parents, statement_of, whole_line
from ..text.variables import handed
from .base import Edit, kind
from .input_shape import InputShape
from .run import Run
from .transform import at


@kind
@dataclass(frozen=True)
class HostLayer(Edit):
    """The target, called on the host on the leaf ``key`` of x; ``input``: the number of the declared input that it reads.

    ``training``: called as in training, for a layer that does nothing else.
    """

    kind = "data-transform"
    op = "host-layer"

    key: Any = None
    input: int | None = None
    training: bool = False

    @property
    def path(self) -> tuple[Any, ...]:
        return () if self.key is None else (self.key,)

    def write(self, text: Text) -> None:
        obj = text.object(self.target)
        place = handed(text, "x")
        if text.where(obj) is None:
            # Made before anything was recorded; at the top of the file it still stands under its name.
            self._at_top(text, place, obj)
            return
        source, _, call = text.made(obj)
        if place.source is not source:
            raise NoPlace
        assign = parents(source.tree)[call]
        named = isinstance(assign, ast.Assign) and isinstance(assign.targets[0], ast.Name)
        name = assign.targets[0].id if named else self._name(source, assign)  # type: ignore[attr-defined]
        # The data first: the lines of the model are where they were, and the layer's line moves last.
        place.transform(self.path, lambda value, *_, **__: f"{name}({value}{', training=True' if self.training else ''})")
        if named:
            self._moved(text, source, obj, name)
        elif isinstance(assign, ast.Assign):
            self._held(text, source, obj, name)
        else:
            self._taken_out(text, source, obj, name)

    def _name(self, source: Source, assign: ast.AST) -> str:
        held = assign.targets[0].attr if isinstance(assign, ast.Assign) and isinstance(assign.targets[0], ast.Attribute) else ""
        taken = {item.id for item in nodes(source.tree, ast.Name)} | {one for item in source.tree.body for one in bound(item)}
        for name in (held, self.target.rstrip("0123456789").rstrip("_")):
            if name.isidentifier() and name not in taken:
                return name
        raise NoPlace

    def _held(self, text: Text, source: Source, obj: Any, name: str) -> None:
        above = parents(source.tree)
        assign = above[text.made(obj)[2]]
        assert isinstance(assign, ast.Assign)
        owner: ast.AST = assign
        while not isinstance(owner, (ast.ClassDef, ast.Module)):
            owner = above[owner]
        held = ast.unparse(assign.targets[0])
        uses = [item for item in nodes(owner, ast.Attribute) if ast.unparse(item) == held and isinstance(item.ctx, ast.Load)]
        if not isinstance(owner, ast.ClassDef) or len(assign.targets) != 1 or not isinstance(above[owner], ast.Module):
            raise NoPlace
        if not uses:
            raise NoPlace
        changes: list[Change] = []
        for use in uses:
            changes += _unwrapped(source, above[use], use) or [source.change(use, name)]
        put = _in_front(source, above, owner)
        source.splice([*changes, (put, put, f"{name} = {source.of(assign.value)}\n\n\n"), whole_line(source, assign)])

    def _taken_out(self, text: Text, source: Source, obj: Any, name: str) -> None:
        _, _, call = text.made(obj)
        above = parents(source.tree)
        changes = _unwrapped(source, above[call], call)
        if not changes:
            raise NoPlace
        put = _in_front(source, above, call)
        gap = "\n" if isinstance(enclosing(above, call), ast.Module) else "\n\n\n"
        source.splice([*self._declared(text, source), *changes, (put, put, f"{name} = {source.of(call)}{gap}")])

    def _at_top(self, text: Text, handed: Handed, obj: Any) -> None:
        source = handed.source
        name = next((key for key, value in text.globals(source.file).items() if value is obj and not key.startswith("_")), "")
        if not name:
            raise NoPlace
        handed.transform(self.path, lambda value, *_, **__: f"{name}({value}{', training=True' if self.training else ''})")
        above = parents(source.tree)
        changes: list[Change] = []
        for use in _uses(source.tree, above, name, training=True):
            changes += _unwrapped(source, above[use], use)
        if not changes:
            raise NoPlace
        source.splice([*self._declared(text, source), *changes])

    def _moved(self, text: Text, source: Source, obj: Any, name: str) -> None:
        _, _, call = text.made(obj)
        above = parents(source.tree)
        assign = above[call]
        scope = enclosing(above, call)
        changes = self._declared(text, source)
        for use in _uses(scope, above, name, self.training or isinstance(scope, ast.Module)):
            found = _unwrapped(source, above[use], use)
            if not found and not isinstance(scope, ast.Module):
                raise NoPlace
            changes += found
        if not isinstance(scope, ast.Module):
            changes += self._lifted(source, above, assign)
        source.splice(changes)

    def _declared(self, text: Text, source: Source) -> list[Change]:
        if self.input is None:
            return []
        gives = self._gives(text)
        _, names, door = text.made(text.door(self.target, self.input))
        shaped = InputShape(self.target, self.input, list((gives.shape or ())[1:]))._shaped(source, door, positions_of(names.value(door.func)))
        return [shaped, with_argument(source, names, door, "dtype", literal(gives.dtype), [])]

    def _lifted(self, source: Source, above: dict[ast.AST, ast.AST], assign: ast.AST) -> list[Change]:
        statement = statement_of(above, assign)
        # With the remarks that stand right above it.
        lines = source.text.split("\n")
        first = statement.lineno - 1
        while first > 0 and lines[first - 1].strip().startswith("#"):
            first -= 1
        start = sum(len(line) + 1 for line in lines[:first])
        end = source.end(statement)
        rest = source.text.find("\n", end)
        put = _in_front(source, above, statement)
        if source.text[end:rest].strip(" \t;") and not source.text[end:rest].strip().startswith("#"):
            # Other statements share the line.
            stop = end + len(source.text[end:rest]) - len(source.text[end:rest].lstrip(" ;"))
            return [(put, put, source.of(statement) + "\n\n\n"), (source.start(statement), stop, "")]
        moved = source.text[source.start(statement) : rest if rest >= 0 else len(source.text)]
        return [(put, put, moved + "\n\n\n"), (start, (rest if rest >= 0 else len(source.text)) + 1, "")]

    def _gives(self, text: Text) -> Spec:
        flow = text.seen.evidence.flow
        node = next((node for node in flow.nodes if node.name == self.target), None)
        edge = next(iter(flow.out_of(node.id)), None) if node is not None else None
        if edge is not None and edge.spec.shape is None:
            made: Any = getattr(text.object(self.target), "output", None)
            spec = Spec(tuple(made.shape), str(made.dtype)) if hasattr(made, "shape") else None
        else:
            spec = edge.spec if edge is not None else None
        if spec is None or spec.shape is None or None in spec.shape[1:]:
            raise NoPlace
        return Spec(spec.shape, spec.dtype)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the pipeline, instead of the layer in the model:"
        yield f"+ds = ds.map(lambda x, y: ({self.target}(x), y), num_parallel_calls=tf.data.AUTOTUNE)"

    def hosts(self, run: Run, layer: Any) -> bool:
        if getattr(layer, "name", None) != self.target:
            return False
        run.done(self)
        run.hosted[self.target] = layer
        return True

    def data(self, run: Run, data: Any) -> Any:
        if self.target not in run.hosted:
            raise CannotRebuild(f"{self.target} was not found while the model was built.")
        hosted = run.hosted[self.target]
        layer = functools.partial(hosted, training=True) if self.training else hosted
        if hasattr(data, "element_spec"):
            tf = sys.modules["tensorflow"]

            def map_element(*parts: Any) -> Any:
                items = [at(parts[0], self.path, layer), *parts[1:]]
                return tuple(items) if len(items) > 1 else items[0]

            return data.map(map_element, num_parallel_calls=tf.data.AUTOTUNE)
        x, *rest = data if isinstance(data, tuple) else (data, None)
        return (at(x, self.path, lambda value: np.asarray(layer(value))), *rest)


def _in_front(source: Source, above: dict[ast.AST, ast.AST], node: ast.AST) -> int:
    while not isinstance(above[node], ast.Module):
        node = above[node]
    head = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])  # type: ignore[attr-defined]
    return sum(len(line) + 1 for line in source.text.split("\n")[: head - 1])


def _uses(scope: ast.AST, above: dict[ast.AST, ast.AST], name: str, training: bool) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in nodes(scope, ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        around = enclosing(above, node)
        # What stands at the top is called in the function that builds the model; the pipeline calls it in a lambda.
        if around is not scope and not (training and isinstance(scope, ast.Module) and isinstance(around, ast.FunctionDef)):
            continue
        if isinstance(above[node], (ast.Call, ast.List)) and (getattr(above[node], "func", None) is node or isinstance(above[node], ast.List)):
            found.append(node)
    return found


def _unwrapped(source: Source, parent: ast.AST, use: ast.AST) -> list[Change]:
    if isinstance(parent, ast.Call) and parent.func is use and len(parent.args) == 1:
        return [(source.start(parent), source.start(parent.args[0]), ""), (source.end(parent.args[0]), source.end(parent), "")]
    return [_taken(source, parent, use)] if isinstance(parent, ast.List) else []


def _taken(source: Source, owner: ast.List, use: ast.AST) -> Change:
    at = owner.elts.index(use)  # type: ignore[arg-type]
    if at + 1 < len(owner.elts):
        return source.start(use), source.start(owner.elts[at + 1]), ""
    return (source.end(owner.elts[at - 1]) if at else source.start(use)), source.end(use), ""
