"""Lines of layers that were made before the recorder was there.

A layer's line is told only where the program's own text leaves no choice:

- an attribute or a variable still holds the layer, and one statement gives it its value;
- a variable holds the model, the last statement that gives it its value is known, and that statement's own
  program (the same cells or file, or the function that it calls) makes exactly as many layers of a class and
  with such literal arguments as the model has.

What a program says twice, makes in a loop or makes from values stays without a line.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..flow import syntax
from ..flow.text import MOST_SOURCE
from .locations import is_user_file, shell
from .recorder import compiled_at, line_of, set_line

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_UNSAID = ("name", "dtype", "input_shape", "input_dim", "batch_input_shape", "weights")


def look_back(model: Any) -> None:
    """Fills in the lines of ``model``'s layers that are certain."""
    layers = [layer for layer in _layers(model) if line_of(layer) is None and type(layer).__name__ != "InputLayer"]
    if not layers:
        return
    names, sources = _program()
    for owner in [model, *_layers(model)]:
        _attributes(owner, layers)
    _variables(layers, names, sources)
    left = [layer for layer in layers if line_of(layer) is None]
    if left:
        _model(model, left, layers, names, sources)


def look_back_at_compile(model: Any) -> tuple[str, int] | None:
    """The line that compiled ``model``: the last one that calls ``compile`` of the one variable that holds it."""
    if (known := compiled_at(model)) is not None:
        return known
    names, sources = _program()
    bound = [name for name, value in list(names.items()) if value is model and not name.startswith("_")]
    for source in reversed(sources if len(bound) == 1 and getattr(model, "compiled", False) else []):
        tree = _tree(source)
        called = [call for statement in (tree.body if tree is not None else ()) for call in _calls(statement)]
        found = [call for call in called if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == f"{bound[0]}.compile"]
        if found:
            return (source, found[0].lineno) if len(found) == 1 else None
        if _last([source], bound[0]) is not None:
            return None
    return None


def _layers(model: Any) -> list[Any]:
    found = []
    for layer in getattr(model, "layers", ()) or ():
        found += [layer, *_layers(layer)]
    return found


# -- the program's text


def _program() -> tuple[dict[str, Any], list[str]]:
    running = shell()
    if running is not None:
        cells = sorted(getattr(running.compile, "_filename_map", {}).items(), key=lambda item: item[1])
        return running.user_ns, [name for name, _ in cells]
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return (vars(main), [file]) if main is not None and file and is_user_file(file) else ({}, [])


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Module | None:
    try:
        return syntax.parse(text) if len(text) <= MOST_SOURCE else None
    except (SyntaxError, ValueError):
        return None


def _tree(name: str) -> ast.Module | None:
    return _parsed("".join(linecache.getlines(name)))


def _assigned(body: list[ast.stmt], name: str) -> list[ast.Assign | ast.AnnAssign]:
    return [node for node in body if name in map(ast.unparse, syntax.targets_of(node))]  # type: ignore[misc]


def _makes(node: ast.AST | None, layer: Any) -> ast.Call | None:
    if node is None:
        return None
    calls = [call for call in _calls(node) if _fits(call, layer)]
    return calls[0] if len(calls) == 1 else None


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _calls(child)


def _fits(call: ast.Call, layer: Any) -> bool:
    if _callee(call) != type(layer).__name__ or any(isinstance(arg, ast.Starred) for arg in call.args):
        return False
    try:
        config = layer.get_config()
        names = list(inspect.signature(type(layer).__init__).parameters)[1:]
    except Exception:
        return False
    said = dict(zip(names, call.args, strict=False)) | {word.arg: word.value for word in call.keywords if word.arg}
    for name, value in said.items():
        try:
            literal = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError):
            continue
        if name == "name" and literal != layer.name:
            return False
        if name in _UNSAID or name not in config:
            continue
        if not _same(literal, config[name]):
            return False
    return True


def _same(said: Any, kept: Any) -> bool:
    if isinstance(kept, (list, tuple)):
        parts = list(said) if isinstance(said, (list, tuple)) else [said] * len(kept)
        return len(parts) == len(kept) and all(_same(a, b) for a, b in zip(parts, kept, strict=True))
    if isinstance(kept, dict) or callable(kept):
        return True
    return bool(said == kept) or (isinstance(said, str) and isinstance(kept, str) and said.lower() == kept.lower())


def _callee(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


# -- the three ways


def _attributes(owner: Any, layers: list[Any]) -> None:
    maker = vars(type(owner)).get("__init__")
    code = getattr(inspect.unwrap(maker), "__code__", None) if maker is not None else None
    if code is None or not is_user_file(code.co_filename):
        return
    function = _function(code)
    if function is None:
        return
    for attribute, value in list(vars(owner).items()):
        layer = next((layer for layer in layers if layer is value), None)
        if layer is None or line_of(layer) is not None:
            continue
        statements = _assigned(function.body, f"self.{attribute}")
        call = _makes(statements[0].value, layer) if len(statements) == 1 else None
        if call is not None:
            set_line(layer, (code.co_filename, call.lineno))


def _function(code: Any) -> ast.FunctionDef | None:
    tree = _tree(code.co_filename)
    if tree is None:
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == code.co_name
        and code.co_firstlineno in (node.lineno, *(item.lineno for item in node.decorator_list))
    ]
    return found[0] if len(found) == 1 else None


def _last(names: list[str], name: str) -> tuple[str, ast.Assign | ast.AnnAssign] | None:
    for source in reversed(names):
        tree = _tree(source)
        if tree is None or not re.search(rf"\b{re.escape(name)}\b", "".join(linecache.getlines(source))):
            continue
        stored = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, (ast.Store, ast.Del))]
        if stored:
            statements = _assigned(tree.body, name)
            return (source, statements[0]) if len(statements) == len(stored) == 1 else None
    return None


def _variables(layers: list[Any], names: dict[str, Any], sources: list[str]) -> None:
    for name, value in list(names.items()):
        layer = next((layer for layer in layers if layer is value), None)
        if layer is None or name.startswith("_") or line_of(layer) is not None:
            continue
        where = _last(sources, name)
        call = _makes(where[1].value, layer) if where is not None else None
        if where is not None and call is not None:
            set_line(layer, (where[0], call.lineno))


def _model(model: Any, left: list[Any], layers: list[Any], names: dict[str, Any], sources: list[str]) -> None:
    bound = [name for name, value in list(names.items()) if value is model and not name.startswith("_")]
    if len(bound) != 1:
        return
    where = _last(sources, bound[0])
    if where is None or where[1].value is None:
        return
    source, body = where[0], list(_tree(where[0]).body)  # type: ignore[union-attr]
    value = where[1].value
    maker = names.get(_callee(value)) if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
    code = getattr(maker, "__code__", None)
    if code is not None:
        function = _function(code) if is_user_file(code.co_filename) else None
        if function is None:
            return
        source, body = code.co_filename, function.body
    elif not isinstance(maker, type) and isinstance(value, ast.Call) and _callee(value) not in ("Sequential", "Model", "Functional"):
        return
    calls = [call for statement in body for call in _calls(statement) if not isinstance(statement, (*_LOOPS, ast.FunctionDef, ast.ClassDef))]
    if any(call is not value and _users(call, names) for call in calls) or _other_models(body, model, names):
        return
    for layer in left:
        mine = [call for call in calls if _fits(call, layer)]
        alike = [other for other in layers if type(other) is type(layer) and any(_fits(call, other) for call in mine)]
        fitting = [call for call in calls if any(_fits(call, other) for other in alike)]
        if not mine or len(alike) != len(fitting):
            continue
        # Keras counts names up in the order of the making, and calls stand in that order in the text.
        order = sorted(alike, key=lambda item: _counter(item.name))
        counted = len({_counter(item.name)[0] for item in alike}) == 1
        if (len(alike) > 1 and not counted) or not all(map(_fits, fitting, order)):
            continue
        set_line(layer, (source, fitting[next(i for i, item in enumerate(order) if item is layer)].lineno))


def _users(call: ast.Call, names: dict[str, Any]) -> bool:
    root = call.func
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    value = names.get(root.id) if isinstance(root, ast.Name) else None
    file = getattr(getattr(value, "__code__", None), "co_filename", None) or getattr(value, "__file__", None)
    return isinstance(file, str) and is_user_file(file)


def _other_models(body: list[ast.stmt], model: Any, names: dict[str, Any]) -> bool:
    stored = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    inner = {id(layer) for layer in _layers(model)}
    others = (names.get(name) for name in stored)
    return any(hasattr(value, "layers") and value is not model and id(value) not in inner for value in others)


def _counter(name: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.*?)(?:_(\d+))?", name)
    return (match[1], int(match[2] or 0)) if match else (name, 0)
