"""Arguments of a call in source text, changed where they stand: by position or by name, in ``**kwargs``, in a wrapped layer, in ``compile``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from ...flow.syntax import called
from ...trace.locations import Place
from .names import Names, arguments_of, literal, positions_of
from .program import Text, Where
from .source import NoPlace, Source, at_line, nodes

Change = tuple[int, int, str]


def argument(call: ast.Call, name: str, order: list[str]) -> ast.expr | None:
    """What a call gives for a parameter."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if name in order:
        index = order.index(name)
        plain = call.args[: index + 1]
        if index < len(call.args) and not any(isinstance(item, ast.Starred) for item in plain):
            return call.args[index]
    return None


def defaults_of(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function that have a default, and what that is."""
    for item, value in zip(reversed([*arguments.posonlyargs, *arguments.args]), reversed(arguments.defaults), strict=False):
        yield item.arg, value
    for item, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if given is not None:
            yield item.arg, given


def with_argument(source: Source, names: Names, call: ast.Call, key: str, value: str, order: list[str]) -> Change:
    """The change that gives ``key`` another value, as text, or gives it at all.

    Raises:
        NoPlace: where the call hides what it gives.
    """
    known = argument(call, key, order)
    if known is not None:
        return source.change(known, value)
    if any(isinstance(item, ast.Starred) for item in call.args) and key in order:
        raise NoPlace
    for keyword in call.keywords:
        if keyword.arg is None and _holds(names, keyword.value, call, key):
            inner = source.of(keyword.value)
            return source.change(keyword.value, f'{{**{inner}, "{key}": {value}}}')
    return appended(source, call, f"{key}={value}")


def appended(source: Source, call: ast.Call, text: str) -> Change:
    """One more argument at the end of a call."""
    given = [*call.args, *(item.value for item in call.keywords)]
    if not given:
        end = source.end(call) - 1
        return end, end, text
    last = max(source.end(item) for item in given)
    # A generator that is the only argument has the call's own brackets.
    if len(given) == 1 and isinstance(given[0], ast.GeneratorExp) and source.text[last - 1] == ")" and last == source.end(call):
        raise NoPlace
    return last, last, f", {text}"


def without(source: Source, call: ast.Call, gone: list[ast.expr]) -> list[Change]:
    """The changes that take arguments out of a call."""
    given = [(source.start(item), source.end(item), item) for item in call.args]
    given += [(source.start(item), source.end(item), item.value) for item in call.keywords]
    given.sort(key=lambda item: item[0])
    last = max((i for i, item in enumerate(given) if item[2] not in gone), default=-1)
    changes = [(start, given[i + 1][0], "") for i, (start, _, item) in enumerate(given[:last]) if item in gone]
    if last + 1 < len(given):
        changes.append((given[last][1] if last >= 0 else given[0][0], given[-1][1], ""))
    return changes


def configured(source: Source, names: Names, call: ast.Call, cls: Any, config: dict[str, Any], layer: Any, was: dict[str, Any] | None = None) -> list[Change]:
    """The changes that give a constructor other arguments; what it does not take itself goes to the layer that it holds.

    ``cls``: the class that the call makes; ``layer``: the framework's base class of layers; ``was``: the layer's own configuration.

    Raises:
        NoPlace: where nothing there takes such an argument.
    """
    callee = names.value(call.func, call) or cls
    order = positions_of(callee)
    if _fixed(callee) and not set(config) & set(arguments_of(callee)):
        # A function that makes whole models: the size is an argument of its own.
        named = {_parameter(names, call, callee, (was or {}).get(key)): value for key, value in config.items()}
        return [with_argument(source, names, call, key, literal(value), order) for key, value in named.items()]
    takes = {*arguments_of(cls), "name"}  # every layer has one, though most take it among **kwargs
    changes = [
        with_argument(source, names, call, key, _spelled(source, names, call, key, value, order, (was or {}).get(key)), order)
        for key, value in config.items()
        if key in takes
    ]
    if len(changes) > 1 and not call.args and not call.keywords:
        changes = [(*changes[0][:2], ", ".join(text for _, _, text in changes))]
    inner = {key: value for key, value in config.items() if key not in takes}
    if inner:
        held = list(_held(names, call, layer))
        if not held:
            raise NoPlace
        for owned, made in held:
            changes += configured(source, names, owned, made, inner, layer)
    return changes


def _spelled(source: Source, names: Names, call: ast.Call, key: str, value: Any, order: list[str], was: Any = None) -> str:
    """A value as it is written.

    By the name that the old one was computed from, or that a call beside this one gives for the same argument; else with another number where
    the old one was computed with one, or as one more than what was counted.
    """
    if type(value) is not int:
        return literal(value)
    known = argument(call, key, order)
    own = {node.id for node in ast.walk(known) if isinstance(node, ast.Name)} if known is not None else set()
    beside = {
        given.id
        for other in ast.walk(names.around(call))
        if isinstance(other, ast.Call) and other is not call and isinstance(given := argument(other, key, order), ast.Name)
        if ast.unparse(other.func) == ast.unparse(call.func)
    }
    for found in (own, beside):
        fit = [name for name in sorted(found) if _number(names, name, call) == value]
        if len(fit) == 1:
            return fit[0]
    if own and known is not None:
        if type(was) is int and value == was + 1 and _counts(source, known):
            return f"{source.of(known)} + 1"
        return _recomputed(source, names, known, value, call) or literal(value)
    return literal(value)


def _counts(source: Source, known: ast.expr) -> bool:
    """Whether it is ``len(...)``, or a name that only this is assigned to."""
    if isinstance(known, ast.Name):
        made = [node.value for node in nodes(source.tree, ast.Assign) if known.id in [ast.unparse(target) for target in node.targets]]
        return len(made) == 1 and isinstance(made[0], ast.Call) and _counts(source, made[0])
    return isinstance(known, ast.Call) and called(known) == "len"


def _recomputed(source: Source, names: Names, known: ast.expr, value: int, at: ast.AST) -> str:
    numbers = [node for node in ast.walk(known) if isinstance(node, ast.Constant)]
    if len(numbers) != 1 or type(old := numbers[0].value) is not int:
        return ""
    was, more = _computed(names, known, {}, at), _computed(names, known, {numbers[0]: old + 1}, at)
    if was is None or more is None or more == was or (value - was) % (more - was):
        return ""
    new = old + (value - was) // (more - was)
    if new < 0 or _computed(names, known, {numbers[0]: new}, at) != value:
        return ""
    start, end = source.start(known), source.end(known)
    return f"{source.text[start : source.start(numbers[0])]}{new}{source.text[source.end(numbers[0]) : end]}"


def _computed(names: Names, node: ast.expr, changed: dict[ast.Constant, int], at: ast.AST) -> int | None:
    """A whole number that is computed from names and numbers by adding, subtracting and multiplying."""
    if isinstance(node, ast.Constant):
        number = changed.get(node, node.value)
        return number if type(number) is int else None
    if isinstance(node, ast.Name):
        return _number(names, node.id, at)
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _computed(names, node.left, changed, at), _computed(names, node.right, changed, at)
    if left is None or right is None:
        return None
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
    return None


def _number(names: Names, name: str, at: ast.AST) -> int | None:
    value = names.value(ast.Name(name, ast.Load()), at)
    return value if type(value) is int else None


def _fixed(callee: Any) -> bool:
    if not inspect.isfunction(callee):
        return False
    return all(item.kind is not item.VAR_KEYWORD for item in inspect.signature(callee).parameters.values())


def _parameter(names: Names, call: ast.Call, callee: Any, value: Any) -> str:
    """The one argument of a function that has a value, given or by default.

    Raises:
        NoPlace: where none or several have it.
    """
    order, found = positions_of(callee), []
    for name, item in inspect.signature(callee).parameters.items():
        given = argument(call, name, order)
        has = names.value(given, call) if given is not None else item.default
        if isinstance(given, ast.Constant):
            has = given.value
        if type(has) is int and has == value:
            found.append(name)
    if len(found) != 1:
        raise NoPlace
    return found[0]


def _held(names: Names, call: ast.Call, layer: Any) -> Any:
    """The constructor calls of the layers that a call is given, in its own brackets or under a name."""
    for value in (*call.args, *(item.value for item in call.keywords)):
        made = _one_call(names, value)
        cls = names.value(made.func, made) if made is not None else None
        if isinstance(cls, type) and issubclass(cls, layer):
            yield made, cls


def _one_call(names: Names, value: ast.expr) -> ast.Call | None:
    if isinstance(value, ast.Call):
        return value
    if isinstance(value, ast.Name):
        found = [
            item.value
            for item in ast.walk(names.source.tree)
            if isinstance(item, ast.Assign) and any(isinstance(target, ast.Name) and target.id == value.id for target in item.targets)
        ]
        if len(found) == 1 and isinstance(found[0], ast.Call):
            return found[0]
    return None


def _holds(names: Names, value: ast.expr, at: ast.AST, key: str) -> bool:
    known = names.value(value, at)
    if isinstance(known, dict):
        return key in known
    if isinstance(value, ast.Dict):
        return any(item is None or (isinstance(item, ast.Constant) and item.value == key) for item in value.keys)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args:
        return any(item.arg in (None, key) for item in value.keywords)
    return True


def compile_call(text: Text, argument: str = "") -> tuple[Source, Names, ast.Call]:
    """The call that compiled the model: the one that ran, or else the only one of its file.

    Raises:
        NoPlace: where there is none, or more than one that it could be.
    """
    seen = text.seen
    places = seen.recorder.compile_places
    where = places.get(id(seen.model))
    if where is None and len(places) == 1:
        where = next(iter(places.values()))
    if where is not None:
        for source, names, call in _at(text, where):
            return source, names, call
    files = {place[0] for obj in text.objects() if (place := text.where(obj)) is not None}
    if seen.program.handed is not None:
        files.add(seen.program.handed[0])
    found = []
    for file in files:
        try:
            source = text.source(file)
        except NoPlace:
            continue
        found += [
            (source, call)
            for call in nodes(source.tree, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and (call.args or call.keywords)
        ]
    if len(found) > 1 and argument:
        found = [(source, call) for source, call in found if any(item.arg == argument for item in call.keywords)]
    if len(found) != 1:
        raise NoPlace
    source, call = found[0]
    return source, text.names(source.file), call


def _at(text: Text, where: Where) -> Iterator[tuple[Source, Names, ast.Call]]:
    if isinstance(where, Place) and where.span is not None:
        found = [text.call_of(where)]
    else:
        source = text.source(where[0])
        found = [(source, text.names(where[0]), call) for call in at_line(source.tree, ast.Call, where[1])]
    found = [one for one in found if isinstance(one[2].func, ast.Attribute) and one[2].func.attr == "compile"]
    if len(found) == 1:
        yield found[0]
