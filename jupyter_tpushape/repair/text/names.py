"""How things are written in a place: values, and names that lead to the framework's objects there."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from typing import Any

from .source import NoPlace, Source, nodes, parents

_MISSING = object()


def literal(value: Any) -> str:
    """A value as one would write it."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(literal(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str) and '"' not in value and "\\" not in value and value.isprintable():
        return f'"{value}"'
    return repr(value)


def constructor(name: str, cls: Any, config: dict[str, Any]) -> str:
    """A constructor's call as one would write it: what leads the signature without its name, all else with it."""
    first = next(iter(arguments_of(cls)), "") if cls is not None else ""
    parts = [literal(config[first])] if first in config else []
    parts += [f"{key}={literal(value)}" for key, value in config.items() if key != first]
    return f"{name}({', '.join(parts)})"


_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def arguments_of(callee: Any, kinds: tuple[Any, ...] = (*_PLACED, inspect.Parameter.KEYWORD_ONLY)) -> list[str]:
    """The names of what a class or function takes, in the order of its positions; ``*args`` and ``**kwargs`` left out."""
    try:
        signature = inspect.signature(callee.__init__ if inspect.isclass(callee) else callee)
    except (TypeError, ValueError):
        return []
    found = [name for name, item in signature.parameters.items() if item.kind in kinds]
    return found[1:] if inspect.isclass(callee) and found[:1] == ["self"] else found


def positions_of(callee: Any) -> list[str]:
    """The names of what may be given without a name."""
    return arguments_of(callee, _PLACED)


class Names:
    """What names mean at a node of a source, whose module ran with ``globals``.

    ``closure``: what a function that stands inside of another one got from there.
    """

    def __init__(self, source: Source, globals: dict[str, Any], closure: dict[str, Any] | None = None) -> None:
        self.source, self.globals, self.closure = source, globals, closure or {}

    def value(self, node: ast.AST, at: ast.AST | None = None) -> Any:
        """The object that a name, or a chain of attributes, leads to."""
        found = self._value(node, at or node)
        return None if found is _MISSING else found

    def _value(self, node: ast.AST, at: ast.AST) -> Any:
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value, at)
            # Only of modules and classes: an attribute of an object may be computed.
            return getattr(owner, node.attr, _MISSING) if inspect.ismodule(owner) or inspect.isclass(owner) else _MISSING
        if not isinstance(node, ast.Name):
            return _MISSING
        for depth, scope in enumerate(self._scopes(at)):
            known = _bound(scope, node.id)
            if known is not None:
                found = _imported(known, node.id)
                return self.closure.get(node.id, _MISSING) if found is _MISSING and depth else found
        return self.globals.get(node.id, getattr(builtins, node.id, _MISSING))

    def around(self, node: ast.AST) -> ast.AST:
        """The outermost function or class that a node stands in, else the node."""
        above = parents(self.source.tree)
        while not isinstance(above.get(node, self.source.tree), ast.Module):
            node = above[node]
        return node

    def _scopes(self, node: ast.AST) -> list[ast.AST]:
        above = parents(self.source.tree)
        found: list[ast.AST] = []
        while node in above:
            node = above[node]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                found.append(node)
        return found

    def spell(self, wanted: Any, at: ast.AST, sibling: ast.AST | None = None) -> tuple[str, list[tuple[int, int, str]]]:
        """How an object of a module is written at a node, and the change that imports it where no name leads there yet.

        ``sibling``: a name of the same module that stands there, to be written alike.

        Raises:
            NoPlace: where nothing shows how to get there.
        """
        name = wanted.__name__.rsplit(".", 1)[-1]
        if isinstance(sibling, ast.Attribute) and self.value(ast.Attribute(sibling.value, name, ast.Load()), at) is wanted:
            return f"{self.source.of(sibling.value)}.{name}", []
        if self.value(ast.Name(name, ast.Load()), at) is wanted:
            return name, []
        visible = self._visible(at)
        for key, value in visible.items():
            if value is wanted:
                return key, []
        ways = [f"{key}.{path}" for key, value in visible.items() if inspect.ismodule(value) and (path := _way(value, wanted))]
        if ways:
            return min(ways, key=lambda way: way.count(".")), []
        return self._import(wanted, name, sibling)

    def _visible(self, at: ast.AST) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for scope in self._scopes(at):
            for statement in nodes(scope, (ast.Import, ast.ImportFrom)):
                for alias in statement.names:
                    key = alias.asname or alias.name.split(".")[0]
                    found.setdefault(key, _imported(statement, key))
        known = {key: value for key, value in {**self.globals, **self.closure}.items() if not key.startswith("_")}
        return {key: value for key, value in {**known, **found}.items() if value is not _MISSING}

    def _import(self, wanted: Any, name: str, sibling: ast.AST | None) -> tuple[str, list[tuple[int, int, str]]]:
        if inspect.ismodule(wanted):
            short = {"numpy": "np", "tensorflow": "tf"}.get(wanted.__name__, name)
            if short in self.globals:
                raise NoPlace
            line = f"import {wanted.__name__}" + (f" as {short}" if short != wanted.__name__ else "")
            return short, [self._head(line)]
        if isinstance(sibling, ast.Name):
            for statement in nodes(self.source.tree, ast.ImportFrom):
                if any((alias.asname or alias.name) == sibling.id for alias in statement.names):
                    last = statement.names[-1]
                    end = self.source.end(last)
                    return name, [(end, end, f", {name}")]
        public = _public(wanted)
        if public is None:
            raise NoPlace
        return name, [self._head(f"from {public} import {name}")]

    def _head(self, line: str) -> tuple[int, int, str]:
        """A line in front of the first statement that is neither the docstring nor of the future."""
        body = self.source.tree.body
        at = 0
        while at < len(body) and (
            (at == 0 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant))
            or (isinstance(body[at], ast.ImportFrom) and body[at].module == "__future__")  # type: ignore[attr-defined]
        ):
            at += 1
        start = self.source.start(body[at]) if at < len(body) else len(self.source.text)
        new = line + "\n"
        return start, start, "" if self.source.text.startswith(new, start) else new


def _bound(scope: ast.AST, name: str) -> ast.AST | None:
    arguments = getattr(scope, "args", None)
    if arguments is not None and name in [
        item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if item
    ]:
        return arguments  # type: ignore[no-any-return]
    statement: ast.Import | ast.ImportFrom
    for statement in nodes(scope, (ast.Import, ast.ImportFrom)):
        if any((alias.asname or alias.name.split(".")[0]) == name for alias in statement.names):
            return statement
    stored: ast.Name
    for stored in nodes(scope, ast.Name):
        if stored.id == name and isinstance(stored.ctx, ast.Store):
            return stored
    return None


def _imported(statement: ast.AST, name: str) -> Any:
    if isinstance(statement, ast.ImportFrom) and statement.module:
        for alias in statement.names:
            if (alias.asname or alias.name) == name:
                module = sys.modules.get(statement.module)
                inner = sys.modules.get(f"{statement.module}.{alias.name}", _MISSING)
                return getattr(module, alias.name, inner)
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname == name:
                return sys.modules.get(alias.name, _MISSING)
            if alias.asname is None and alias.name.split(".")[0] == name:
                return sys.modules.get(name, _MISSING)
    return _MISSING


def _way(module: Any, wanted: Any) -> str:
    name = wanted.__name__.rsplit(".", 1)[-1]
    if getattr(module, name, None) is wanted:
        return str(name)
    for inner in ("layers", "losses", "metrics", "models", "keras.layers", "keras.losses", "keras.metrics", "keras"):
        owner = module
        for part in inner.split("."):
            # What TensorFlow loads on first use is not loaded for this.
            owner = vars(owner).get(part) if inspect.ismodule(owner) and part != "keras" else getattr(owner, part, None)
        if owner is not None and getattr(owner, name, None) is wanted:
            return f"{inner}.{name}"
    return ""


def _public(wanted: Any) -> str | None:
    package = str(getattr(wanted, "__module__", "")).split(".")[0]
    for inner in ("layers", "losses", "metrics", "models"):
        module = sys.modules.get(f"{package}.{inner}") or getattr(sys.modules.get(package), inner, None)
        if getattr(module, wanted.__name__, None) is wanted:
            return f"{package}.{inner}"
    return None
