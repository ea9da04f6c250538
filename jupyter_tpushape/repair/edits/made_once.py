"""What a function makes anew at each run, made once with its object, or a layer that it makes, held by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from ...flow import syntax
from ..text.arguments import Change, argument
from ..text.names import arguments_of
from ..text.program import Text
from ..text.source import NoPlace, Source, at_line, behind, enclosing, free_name, made_in_init, method_of, nodes, parents
from .base import SpanEdit, TextEdit, kind, written


@kind
@dataclass(frozen=True)
class MadeOnce(TextEdit):
    """A ``cls`` that a method makes on a line, and all its other layers, become attributes, made in ``__init__`` or ``build``."""

    kind = "replace-op"
    op = "made-once"

    file: str = field(default="", metadata={"needed": True})
    line: int = 0
    cls: str = ""

    @property
    def _stem(self) -> str:
        return _stem(self.cls)

    def write(self, text: Text) -> None:
        source = text.source(self.file)
        above = parents(source.tree)
        found = [call for call in at_line(source.tree, ast.Call, self.line) if ast.unparse(call.func).split(".")[-1] == self.cls]
        method = enclosing(above, found[0]) if len(found) == 1 else None
        owner = above.get(method) if method is not None else None
        if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef) or not method.args.args:
            raise NoPlace
        names, place = text.names(self.file), _Place(source, owner, method)
        layers = [call for call in nodes(method, ast.Call) if call in found or _is_layer(names.value(call.func, call))]
        inner = {part for call in layers for part in nodes(call, ast.Call) if part is not call}
        for call in layers:
            if call not in inner and _repeated(above, call, method):
                raise NoPlace  # one for each pass of a loop
            if call not in inner:
                place.make(call, _stem(ast.unparse(call.func).split(".")[-1]))
        place.write()

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in __init__ or build, and self.{self._stem} at line {self.line}:"
        yield f"+self.{self._stem} = {self.cls}(...)"


def _stem(cls: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls).lower()


def _repeated(above: dict[ast.AST, ast.AST], node: ast.AST, method: ast.AST) -> bool:
    while node is not method:
        node = above[node]
        if isinstance(node, (ast.For, ast.While, ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.Lambda)):
            return True
    return False


def _is_layer(made: Any) -> bool:
    return isinstance(made, type) and any(base.__name__ == "Layer" for base in made.__mro__)


class _Place:
    """Where the objects of a class are made that one of its methods makes: in ``__init__``, or in ``build`` what depends on the shape of the input."""

    def __init__(self, source: Source, owner: ast.ClassDef, method: ast.FunctionDef) -> None:
        self.source, self.owner, self.method = source, owner, method
        self.me = method.args.args[0].arg
        self.init, self.build = method_of(owner, "__init__"), method_of(owner, "build")
        build = self.build.args.args if self.build is not None else []
        self.shape = build[1].arg if len(build) > 1 else "input_shape"
        self.stored = [item.id for item in nodes(method, ast.Name) if isinstance(item.ctx, ast.Store)]
        # What the call alone knows cannot be used where an object is made.
        self.local = {*self.stored, *(item.arg for item in (*method.args.args[1:], *method.args.kwonlyargs))}
        self.names: list[str] = []
        self.changes: list[Change] = []
        self.lines: dict[str, list[str]] = {"__init__": [], "build": []}

    def make(self, call: ast.Call, stem: str) -> None:
        """One object more.

        Raises:
            NoPlace: where it is made from what only the call knows.
        """
        name = free_name(self.owner, stem, self.names)
        self.names.append(name)
        used = {item.id for item in nodes(call, ast.Name)} & self.local
        lines = self.lines["build" if used or self.init is None else "__init__"]
        lines += [line for line in map(self._size, sorted(used)) if line not in lines]
        lines.append(f"{self.me}.{name} = {self.source.of(call)}")
        self.changes.append(self.source.change(call, f"{self.me}.{name}"))

    def _size(self, name: str) -> str:
        """The line of ``build`` that works out what the method reads off the shape of its input."""
        made = [item for item in self.method.body if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == name]
        parameters = [item.arg for item in self.method.args.args]
        if len(made) != 1 or self.stored.count(name) != 1 or len(parameters) < 2:
            raise NoPlace
        sizes = _Sizes(parameters[1], self.shape)
        value = ast.unparse(sizes.visit(syntax.parse(self.source.of(made[0].value), mode="eval").body))
        if not sizes.found or sizes.other & self.local:
            raise NoPlace
        return f"{name} = {value}"

    def write(self) -> None:
        """Writes what was collected."""
        for key, lines in self.lines.items():
            maker = self.init if key == "__init__" else self.build
            if not lines:
                continue
            if maker is not None and maker.args.args:
                last, own = maker.body[-1], maker.args.args[0].arg
                there = {ast.unparse(item) for item in maker.body}
                new = [line.replace(f"{self.me}.", f"{own}.") for line in lines if line not in there]
                self.changes.append(behind(self.source, last, new))
            elif key == "build":
                space, start = self.source.indent(self.method), self.source.start(self.method)
                body = f"\n{space}    ".join(lines)
                self.changes.append((start, start, f"def build({self.me}, {self.shape}):\n{space}    {body}\n\n{space}"))
            else:
                raise NoPlace
        self.source.splice(self.changes)


class _Sizes(ast.NodeTransformer):
    """The shape that ``build`` is given in place of that of a tensor, ``given``."""

    def __init__(self, given: str, shape: str) -> None:
        self.asked = {f"{given}.shape", f"{given}.shape.as_list()", f"{given}.get_shape()", f"{given}.get_shape().as_list()"}
        self.shape, self.found = shape, False
        self.other: set[str] = set()

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, or the shape in its place."""
        if isinstance(node, ast.expr) and ast.unparse(node) in self.asked:
            self.found = True
            return ast.Name(self.shape, ast.Load())
        if isinstance(node, ast.Name):
            self.other.add(node.id)
        return cast("ast.AST", super().visit(node))


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
