"""Changes inside a function of the user's own: a layer's ``call``, a Lambda, or the model's; its calls and its numbers."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow.syntax import called
from ..rerun import recompiled
from ..text.arguments import Change
from ..text.keras_ops import spelled
from ..text.names import Names
from ..text.program import Text, definition
from ..text.source import NoPlace, Source, nodes
from .base import Edit, kind
from .data_code import DataCode
from .run import Run


@dataclass(frozen=True)
class CodeEdit(Edit):
    """A change of the code that the target runs; ``""`` is the model itself."""

    kind = "replace-op"

    @abstractmethod
    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        """The changes inside a function."""

    def write(self, text: Text) -> None:
        source, scope, function = text.function(self.target)
        self._write(source, Names(source, function.__globals__), scope)

    def _write(self, source: Source, names: Names, scope: ast.AST) -> None:
        found = self.changes(source, names, scope)
        if not found:
            raise NoPlace
        source.splice(found)

    # The code of an object that cannot be built from the text is changed by the very same text.

    def calling(self, run: Run, layer: Any) -> None:
        if id(self) not in run.applied and getattr(layer, "name", None) == self.target and self._change(layer):
            run.done(self)

    def finish(self, run: Run, model: Any) -> bool:
        layer = _find(run.adapter, model, self.target)
        return layer is not None and self._change(layer)

    def _change(self, layer: Any) -> bool:
        anonymous = type(layer).__name__ == "Lambda" and inspect.isfunction(getattr(layer, "function", None))
        function = inspect.unwrap(layer.function if anonymous else type(layer).call)
        try:
            source = Source.read(function.__code__.co_filename)
            self._write(source, Names(source, function.__globals__), definition(source, function.__code__))
            changed = recompiled(function, source)
        except (NoPlace, AttributeError, OSError):
            return False
        if anonymous:
            layer.function = changed
            return True
        cls = type(layer)
        layer.__class__ = type(cls.__name__, (cls,), {"call": changed, "__module__": cls.__module__})
        return True


def _find(adapter: Any, model: Any, name: str) -> Any:
    if name in ("", getattr(model, "name", None)):
        return model
    for layer in getattr(model, "layers", ()) or ():
        if layer.name == name:
            return layer
        found = _find(adapter, layer, name) if getattr(layer, "layers", None) else None
        if found is not None:
            return found
    return None


def numbers(node: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    """Every whole number in code, a minus in front of it included."""
    inside = set()
    for item in ast.walk(node):
        if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub) and isinstance(item.operand, ast.Constant):
            inside.add(id(item.operand))
            if type(item.operand.value) is int:
                yield item, -item.operand.value
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and type(item.value) is int and id(item) not in inside:
            yield item, item.value


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


@dataclass(frozen=True)
class _Another(CodeEdit):
    """Another number or name."""

    find: Any = 0
    replace: Any = 0

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.target}:"
        yield f"-{self.find}"
        yield f"+{self.replace}"


REDUCTIONS = frozenset(name for one in ("sum", "mean", "max", "min", "prod") for name in (one, f"reduce_{one}", f"a{one}"))


def over_everything(call: ast.expr | None) -> bool:
    """Whether a call reduces over all axes: it names none."""
    words = [word.arg for word in call.keywords] if isinstance(call, ast.Call) else []
    return isinstance(call, ast.Call) and called(call) in REDUCTIONS and len(call.args) == 1 and "axis" not in words


@kind
@dataclass(frozen=True)
class Reduced(CodeEdit):
    """The one reduction over everything becomes one over ``axis``."""

    op = "reduced"

    axis: str = "-1"
    more: str = ""

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        found = [call for call in nodes(scope, ast.Call) if over_everything(call)]
        return [source.change(call.args[0], f"{source.of(call.args[0])}, axis={self.axis}{self.more}") for call in found if len(found) == 1]

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.target}, in the reduction:"
        yield f"+axis={self.axis}{self.more}"


@kind
@dataclass(frozen=True)
class FirstNumber(_Another):
    """``replace`` for ``find`` where it leads a tuple or a list; on ``line`` where that is known. -1 only where a function counts for it."""

    find: int = field(default=0, metadata={"needed": True})
    line: int = 0

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        counts = {id(part) for call in nodes(scope, ast.Call) if called(call) == "reshape" for part in (*call.args, *(word.value for word in call.keywords))}
        found = [
            (item.lineno, item.elts[0])
            for item in nodes(scope, (ast.Tuple, ast.List))
            if item.elts
            and isinstance(item.elts[0], ast.Constant)
            and item.elts[0].value == self.find
            # In a shape to draw or to fill, -1 raises when the program runs.
            and (self.replace != -1 or id(item) in counts)
        ]
        here = [pair for pair in found if pair[0] == self.line]
        return [source.change(item, str(self.replace)) for _, item in here or found]


@kind
@dataclass(frozen=True)
class Axis(_Another):
    """Another number for ``axis=``."""

    op = "axis"

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        given = [item.value for item in nodes(scope, ast.keyword) if item.arg == "axis"]
        return [source.change(value, str(self.replace)) for value in given if any(node is value and number == self.find for node, number in numbers(value))]


@kind
@dataclass(frozen=True)
class Name(_Another):
    """A name such as a dtype's, as an attribute or in quotes."""

    op = "name"

    def changes(self, source: Source, names: Names, scope: ast.AST) -> list[Change]:
        found: list[Change] = []
        for item in nodes(scope, (ast.Attribute, ast.Name, ast.Constant)):
            end = source.end(item)
            if isinstance(item, ast.Attribute) and item.attr == self.find:
                found.append((end - len(self.find), end, self.replace))
            elif isinstance(item, ast.Name) and item.id == self.find:
                found.append((source.start(item), end, self.replace))
            elif isinstance(item, ast.Constant) and item.value == self.find:
                quote = source.text[source.start(item)]
                found.append((source.start(item), end, f"{quote}{self.replace}{quote}"))
        return found


@kind
@dataclass(frozen=True)
class BatchNumber(DataCode):
    """``size`` for the one number ``batch`` in the code that makes the data."""

    op = "batch-number"

    batch: int = field(default=0, metadata={"needed": True})
    size: int = 0

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        found = [item for item in _numbers(source.tree, scope) if type(item.value) is int and item.value == self.batch]
        return [source.change(found[0], str(self.size))] if len(found) == 1 else []

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the data code:"
        yield f"-{self.batch}"
        yield f"+{self.size}"


def _numbers(tree: ast.Module, scope: ast.AST) -> list[ast.Constant]:
    """The constants in a function, and in the functions, classes and assignments of its module that it names."""
    named: dict[str, list[ast.AST]] = {}
    for item in tree.body:
        if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            named.setdefault(item.name, []).append(item)
        elif isinstance(item, ast.Assign):
            for target in nodes(item, ast.Name):
                if isinstance(target.ctx, ast.Store):
                    named.setdefault(target.id, []).append(item.value)
    found, waiting, seen = [], [scope], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        found += list(nodes(part, ast.Constant))
        for name in nodes(part, ast.Name):
            waiting += named.get(name.id, [])
    return list({id(item): item for item in found}.values())
