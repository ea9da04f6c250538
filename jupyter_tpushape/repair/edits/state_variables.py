"""What an object keeps from step to step in attributes, kept in variables instead."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...flow.syntax import called
from ..text.arguments import Change, argument
from ..text.names import Names
from ..text.program import Text
from ..text.source import NoPlace, Source, at_line, nodes
from .base import TextEdit, kind

_MAKERS = ("__init__", "build")
_ADDED = {ast.Add: "assign_add", ast.Sub: "assign_sub"}
_KEYS = ("PRNGKey", "key")


@kind
@dataclass(frozen=True)
class StateVariables(TextEdit):
    """The ``attributes`` of the class around a line of a file become variables of the object: what ``__init__`` gives them is their first
    value, and what other methods give them is assigned. ``metric``: the class is one of a metric."""

    kind = "replace-op"
    op = "state-variables"

    file: str = field(default="", metadata={"needed": True})
    line: int = 0
    attributes: list[str] = field(default_factory=list)
    metric: bool = False

    def write(self, text: Text) -> None:
        source, names = text.source(self.file), text.names(self.file)
        owner = _owner(source, self.line)
        changes: list[Change] = []
        for attribute in self.attributes:
            first, later = _assignments(owner, attribute)
            made, imports = self._made(source, names, attribute, first)
            changes += [one for one in imports if one not in changes]
            changes.append(source.change(first.value, made))
            for item in later:
                changes.append(source.change(item, _assigned(source, item)))
        source.splice(changes)

    def _made(self, source: Source, names: Names, attribute: str, first: ast.Assign) -> tuple[str, list[Change]]:
        value, more = first.value, ""
        imports: list[Change] = []
        me = source.of(first.targets[0].value)  # type: ignore[attr-defined]
        number = _number(value)
        if number is not None:
            shape, initializer = "()", '"zeros"' if number == 0 else '"ones"' if number == 1 else ""
            if not initializer:
                module, imports = names.spell(sys.modules["keras.initializers"], first)
                initializer = f"{module}.Constant({source.of(value)})"
            more = ', dtype="int32"' if type(number) is int else ""
        elif isinstance(value, ast.Call) and called(value) in ("zeros", "ones") and (sized := argument(value, "shape", ["shape"])) is not None:
            shape, initializer = source.of(sized), f'"{called(value)}"'
            dtype = argument(value, "dtype", ["shape", "dtype"])
            more = f", dtype={source.of(dtype)}" if dtype is not None else ""
        elif isinstance(value, ast.Call) and not self.metric:  # reset_state of a metric fills its variables with zeros
            module, imports = names.spell(sys.modules["keras"], first)
            return f'{module}.Variable({source.of(value)}, trainable=False, name="{attribute}")', imports
        else:
            raise NoPlace
        if self.metric:
            return f'{me}.add_variable(shape={shape}, initializer={initializer}{more}, name="{attribute}")', imports
        return f'{me}.add_weight(shape={shape}, initializer={initializer}{more}, trainable=False, name="{attribute}")', imports

    def shown(self, dataset: bool) -> Iterator[str]:
        make = "add_variable(...)" if self.metric else "add_weight(..., trainable=False)"
        yield "# a variable in __init__, and assign where it changes:"
        for attribute in self.attributes:
            yield f"+self.{attribute} = self.{make}"
            yield f"+self.{attribute}.assign(...)"


@kind
@dataclass(frozen=True)
class SeedState(TextEdit):
    """The random key that the class around a line keeps in ``attribute`` becomes a seed generator, which gives a new key where one was split off."""

    kind = "replace-op"
    op = "seed-state"

    file: str = field(default="", metadata={"needed": True})
    line: int = 0
    attribute: str = ""

    def write(self, text: Text) -> None:
        source, names = text.source(self.file), text.names(self.file)
        owner = _owner(source, self.line)
        first, later = _assignments(owner, self.attribute, split=True)
        made = first.value
        if not isinstance(made, ast.Call) or called(made) not in _KEYS or len(made.args) != 1:
            raise NoPlace
        module, changes = names.spell(sys.modules["keras.random"], first)
        changes = [*changes, source.change(made, f"{module}.SeedGenerator({source.of(made.args[0])})")]
        for item in later:
            if not isinstance(item, ast.Assign) or called(item.value) != "split" or self._given(item.value) != _attribute(first.targets[0]):
                raise NoPlace
            own, *rest = item.targets[0].elts  # type: ignore[attr-defined]
            keys = ", ".join([f"{source.of(own)}.next()"] * len(rest))
            changes.append(source.change(item, f"{', '.join(map(source.of, rest))} = {keys}"))
        source.splice(changes)

    def _given(self, call: ast.expr) -> str:
        return _attribute(call.args[0]) if isinstance(call, ast.Call) and call.args else ""

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# a seed generator in __init__, and a key of it in call:"
        yield f"+self.{self.attribute} = keras.random.SeedGenerator(...)"
        yield f"+key = self.{self.attribute}.next()"


def _owner(source: Source, line: int) -> ast.ClassDef:
    found = max(at_line(source.tree, ast.ClassDef, line), key=lambda item: item.lineno, default=None)
    if found is None:
        raise NoPlace
    return found  # type: ignore[no-any-return]


def _assignments(owner: ast.ClassDef, attribute: str, *, split: bool = False) -> tuple[ast.Assign, list[ast.Assign | ast.AugAssign]]:
    made: list[ast.Assign] = []
    later: list[ast.Assign | ast.AugAssign] = []
    for method in [item for item in owner.body if isinstance(item, ast.FunctionDef)]:
        for item in nodes(method, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            inside = [one for target in targets for one in ast.walk(target) if _attribute(one) == attribute and _stored(one)]
            if not inside:
                continue
            first = method.name in _MAKERS
            parts = targets[0].elts if isinstance(targets[0], ast.Tuple) and split and not first else targets
            if len(targets) != 1 or inside != [parts[0]] or isinstance(item, ast.AnnAssign) or (split and not first and len(parts) < 2):
                raise NoPlace
            (made if first else later).append(item)
    if len(made) != 1 or not isinstance(made[0], ast.Assign) or not later:
        raise NoPlace
    return made[0], later


def _attribute(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""


def _stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _assigned(source: Source, item: ast.Assign | ast.AugAssign) -> str:
    if isinstance(item, ast.Assign):
        return f"{source.of(item.targets[0])}.assign({source.of(item.value)})"
    method = _ADDED.get(type(item.op))
    if method is not None:
        return f"{source.of(item.target)}.{method}({source.of(item.value)})"
    return f"{source.of(item.target)}.assign({ast.unparse(ast.BinOp(item.target, item.op, item.value))})"


def _number(node: ast.expr) -> int | float | None:
    minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    value = getattr(node.operand if minus else node, "value", None)  # type: ignore[attr-defined]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return -value if minus else value
