"""Another argument of ``compile``, another metric, or an optimizer of the model's own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow.syntax import called
from ..text.arguments import argument, compile_call, with_argument
from ..text.names import literal
from ..text.program import Text
from ..text.source import NoPlace, enclosing, nodes, parents
from .base import Arguments, Edit, kind
from .run import Run


@kind
@dataclass(frozen=True)
class CompileArgument(Edit):
    """``argument=setting`` in ``compile``."""

    kind = "strategy"
    op = "argument"

    argument: str = ""
    setting: Any = field(default=None, metadata={"name": "value"})

    def write(self, text: Text) -> None:
        source, names, call = compile_call(text, self.argument)
        if not any(item.arg == self.argument for item in call.keywords):
            raise NoPlace
        source.splice([with_argument(source, names, call, self.argument, literal(self.setting), [])])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield f"+{self.argument}={literal(self.setting)},"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        return args, {**kwargs, self.argument: self.setting}


@kind
@dataclass(frozen=True)
class Listed(Edit):
    """A dict by output names becomes a list in the order of ``names``, for a model whose outputs have none."""

    kind = "strategy"
    op = "listed"

    argument: str = ""
    names: list[str] = field(default_factory=list)

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text, self.argument)
        given = argument(call, self.argument, ["optimizer", "loss"])
        if not isinstance(given, ast.Dict):
            raise NoPlace
        values = {key.value: source.of(value) for key, value in zip(given.keys, given.values, strict=True) if isinstance(key, ast.Constant)}
        if sorted(map(str, values)) != sorted(self.names):
            raise NoPlace
        source.replace(given, f"[{', '.join(values[name] for name in self.names)}]")

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield f"+{self.argument}=[{', '.join(f'{self.argument}[{name!r}]' for name in self.names)}],"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        return exchanged(args, kwargs, self.argument, lambda given: [given[name] for name in self.names] if isinstance(given, dict) else given)


@kind
@dataclass(frozen=True)
class Keyed(Edit):
    """A list, or one value for all, becomes a dict by the ``names`` of the outputs; of a dict, the names that it lacks get ``entry``."""

    kind = "strategy"
    op = "keyed"

    argument: str = ""
    names: list[str] = field(default_factory=list)
    entry: Any = None

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text, self.argument)
        given = argument(call, self.argument, ["optimizer", "loss"])
        if given is None:
            raise NoPlace
        if isinstance(given, ast.Dict):
            held = {key.value for key in given.keys if isinstance(key, ast.Constant)}
            added = ", ".join(f"{literal(name)}: {literal(self.entry)}" for name in self.names if name not in held)
            if len(held) != len(given.keys) or not added:
                raise NoPlace
            end = source.end(given.values[-1]) if given.values else source.end(given) - 1
            source.splice([(end, end, f", {added}" if given.values else added)])
            return
        parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given] * len(self.names)
        if len(parts) != len(self.names):
            raise NoPlace
        pairs = (f"{literal(name)}: {source.of(part)}" for name, part in zip(self.names, parts, strict=True))
        source.replace(given, f"{{{', '.join(pairs)}}}")

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield f"+{self.argument}={{{', '.join(f'{name!r}: ...' for name in self.names)}}},"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)

        def keyed(given: Any) -> Any:
            if isinstance(given, dict):
                return {**given, **{name: self.entry for name in self.names if name not in given}}
            parts = given if isinstance(given, (list, tuple)) else [given] * len(self.names)
            return dict(zip(self.names, parts, strict=True))

        return exchanged(args, kwargs, self.argument, keyed)


@kind
@dataclass(frozen=True)
class MoreLosses(Edit):
    """``losses`` behind those that the list in ``compile`` has."""

    kind = "loss"
    op = "more-losses"

    losses: list[str] = field(default_factory=list, metadata={"needed": True})

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text, "loss")
        given = argument(call, "loss", ["optimizer", "loss"])
        if not isinstance(given, (ast.List, ast.Tuple)) or not given.elts:
            raise NoPlace
        end = source.end(given.elts[-1])
        source.splice([(end, end, "".join(f", {literal(loss)}" for loss in self.losses))])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield f"+loss=[..., {', '.join(map(literal, self.losses))}],"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        return exchanged(args, kwargs, "loss", lambda given: [*given, *self.losses] if isinstance(given, (list, tuple)) else given)


@kind
@dataclass(frozen=True)
class Reordered(Edit):
    """The values of a list or a dict in another order, the keys where they are: at place ``i`` what was at ``order[i]``."""

    kind = "loss"
    op = "reordered"

    argument: str = "loss"
    order: list[int] = field(default_factory=list, metadata={"needed": True})

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text, self.argument)
        given = argument(call, self.argument, ["optimizer", "loss"])
        values = given.elts if isinstance(given, (ast.List, ast.Tuple)) else given.values if isinstance(given, ast.Dict) else []
        if len(values) != len(self.order):
            raise NoPlace
        source.splice([source.change(values[at], source.of(values[new])) for at, new in enumerate(self.order) if at != new])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield f"+{self.argument}=[{', '.join(f'{self.argument}[{new}]' for new in self.order)}],"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)

        def reordered(given: Any) -> Any:
            values = list(given.values()) if isinstance(given, dict) else given
            moved = [values[new] for new in self.order]
            return dict(zip(given, moved, strict=True)) if isinstance(given, dict) else moved

        return exchanged(args, kwargs, self.argument, reordered)


@kind
@dataclass(frozen=True)
class OneTrained(Edit):
    """The loss and metrics of ``compile`` for output ``trained`` of ``count``; the others get ``None``."""

    kind = "strategy"
    op = "one-trained"

    trained: int = 0
    count: int = 1

    def _listed(self, text: str) -> str:
        return f"[{', '.join(text if index == self.trained else 'None' for index in range(self.count))}]"

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text, "loss")
        loss, metrics = argument(call, "loss", ["optimizer", "loss"]), argument(call, "metrics", [])
        if loss is None or isinstance(loss, (ast.List, ast.Tuple, ast.Dict)) or isinstance(metrics, ast.Dict):
            raise NoPlace
        changes = [source.change(loss, self._listed(source.of(loss)))]
        if metrics is not None:
            changes.append(source.change(metrics, self._listed(source.of(metrics))))
        source.splice(changes)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield f"+loss={self._listed('loss')}, metrics={self._listed('metrics')},"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)

        def alone(given: Any) -> Any:
            return None if given is None else [given if index == self.trained else None for index in range(self.count)]

        return exchanged(*exchanged(args, kwargs, "loss", alone), "metrics", alone)


@kind
@dataclass(frozen=True)
class RenamedKeys(Edit):
    """Keys of the dicts that ``compile`` takes, each by its new name."""

    kind = "strategy"
    op = "renamed-keys"

    names: dict[str, str] = field(default_factory=dict)

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text, "loss")
        changes = []
        for given in (*call.args, *(word.value for word in call.keywords)):
            keys = [key for key in given.keys if isinstance(key, ast.Constant)] if isinstance(given, ast.Dict) else []
            if any(key.value in self.names.values() and self.names.keys() & {other.value for other in keys} for key in keys):
                raise NoPlace
            changes += [source.change(key, literal(self.names[key.value])) for key in keys if key.value in self.names]
        if not changes:
            raise NoPlace
        source.splice(changes)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile():"
        yield from (f"+{new!r} instead of {old!r}" for old, new in self.names.items())

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)

        def renamed(value: Any) -> Any:
            return {self.names.get(key, key): item for key, item in value.items()} if isinstance(value, dict) else value

        return tuple(map(renamed, args)), {key: renamed(value) for key, value in kwargs.items()}


@kind
@dataclass(frozen=True)
class FreshOptimizer(Edit):
    """An optimizer made where it is handed to ``compile``."""

    kind = "strategy"
    op = "fresh-optimizer"

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text, "optimizer")
        given = argument(call, "optimizer", ["optimizer"])
        if not isinstance(given, ast.Name):
            raise NoPlace
        made = [
            node.value
            for node in nodes(source.tree, ast.Assign)
            if any(isinstance(item, ast.Name) and item.id == given.id for item in node.targets) and isinstance(node.value, ast.Call)
        ]
        if len(made) != 1:
            raise NoPlace
        source.replace(given, source.of(made[0]))

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in compile(), a new object instead of the optimizer:"
        yield "+optimizer=type(optimizer).from_config(optimizer.get_config()),"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        old = args[0] if args else kwargs.get("optimizer")
        new = type(old).from_config(old.get_config()) if hasattr(old, "get_config") else old
        return ((new, *args[1:]), kwargs) if args else (args, {**kwargs, "optimizer": new})


@kind
@dataclass(frozen=True)
class CompiledAgain(Edit):
    """``compile`` once more, behind the last line that freezes or unfreezes layers after it."""

    kind = "strategy"
    op = "compiled-again"

    def write(self, text: Text) -> None:
        source, _, call = compile_call(text)
        above = parents(source.tree)
        statement = above.get(call)
        block = getattr(above.get(statement), "body", []) if statement is not None else []
        if not isinstance(statement, ast.Expr) or statement not in block:
            raise NoPlace
        later = [item for item in block[block.index(statement) + 1 :] if _freezes(item)]
        if not later:
            raise NoPlace
        end = source.end(later[-1])
        source.splice([(end, end, f"\n{source.indent(statement)}{source.of(statement)}")])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# after the last change of trainable:"
        yield "+model.compile(...)"

    def finish(self, run: Run, model: Any) -> bool:
        model.compile(**run.adapter.compile_arguments(model))
        return True


def _freezes(item: ast.stmt) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "trainable" and isinstance(node.ctx, ast.Store) for node in ast.walk(item))


def exchanged(args: Any, kwargs: Any, argument: str, change: Callable[[Any], Any]) -> Arguments:
    """The arguments of ``compile`` with another value for one of them, where it is given; the loss may be the second by place."""
    if argument in kwargs:
        return args, {**kwargs, argument: change(kwargs[argument])}
    if argument == "loss" and len(args) > 1:
        return (args[0], change(args[1]), *args[2:]), kwargs
    return args, kwargs


@kind
@dataclass(frozen=True)
class MetricArgument(Edit):
    """``argument=setting`` for the only metric of the class ``metric``."""

    kind = "strategy"
    op = "metric-argument"

    metric: str = field(default="", metadata={"needed": True})
    argument: str = ""
    setting: Any = field(default=None, metadata={"name": "value"})

    def write(self, text: Text) -> None:
        source, names, call = compile_call(text, "metrics")
        scope = enclosing(parents(source.tree), call)
        made = [one for one in nodes(scope, ast.Call) if called(one) == self.metric]
        if len(made) != 1:
            raise NoPlace
        source.splice([with_argument(source, names, made[0], self.argument, literal(self.setting), [])])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.metric}():"
        yield f"+{self.argument}={literal(self.setting)},"

    def compile(self, run: Run, args: Any, kwargs: Any) -> Arguments:
        run.done(self)
        return exchanged(args, kwargs, "metrics", self._set)

    def _set(self, given: Any) -> Any:
        if isinstance(given, dict):
            return {name: self._set(one) for name, one in given.items()}
        if isinstance(given, (list, tuple)):
            return [self._set(one) for one in given]
        if type(given).__name__ != self.metric:
            return given
        return type(given).from_config({**given.get_config(), self.argument: self.setting})
