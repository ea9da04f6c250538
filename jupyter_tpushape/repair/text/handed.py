"""The place where data is handed over: what a data function returns, or the arguments of ``fit``.

A transform goes around the one expression that it is about, or behind the pipeline; a batch size is changed
where it is written. What stands under a name is looked up where the name is given once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from ...examine.handed_data import TRACING
from ...flow import Spec, syntax
from ...flow.syntax import called, is_new_axis
from .arguments import argument, with_argument, without
from .place import Place
from .source import NoPlace, calls_nothing, is_atom, nodes

Expression = Callable[..., str]
_ROLES = {"x": 0, "y": 1, "weight": 2}
_NAMES = ("x", "y", "w")
_BATCHING = {"batch": ["batch_size", "drop_remainder"], "padded_batch": ["batch_size", "padded_shapes", "padding_values", "drop_remainder"]}


class Handed(Place):
    """Changes of one role (``x``, ``y``, ``weight``) of the data, and of how it is batched."""

    # -- transforms --------------------------------------------------------------------------------

    def transform(self, path: tuple[Any, ...], expression: Expression) -> None:
        """Puts an operation around a leaf of the role."""
        self._visit(
            lambda leaf: self._leaf(leaf, path, expression),
            lambda value: self._mapped_behind(value, path, expression),
            lambda value: self._opened(value, path, expression),
        )
        self.finish()

    def exchange(self, order: Any, expression: Expression) -> None:
        """Puts the inputs into another order, or under other names."""
        self._visit(
            lambda leaf: self._exchanged(leaf, order, expression),
            lambda value: self._behind(value, self._mapped((), expression)),
            lambda value: self._opened(value, (), expression),
        )
        self.finish()

    def regroup(self, made: Callable[[list[str]], str], twice: Collection[int]) -> None:
        """Puts the parts of the data together in another way: those that the function returns, or that ``fit`` is given.

        The parts that are used ``twice`` are computed once.
        """
        for value in self.values:
            inside = self.resolved(value)
            if not isinstance(inside, ast.Tuple):
                raise NoPlace
            parts = [self._once(item) if i in twice else self.source.of(item) for i, item in enumerate(inside.elts)]
            new = made(parts)
            bare = not self.source.of(inside).startswith("(") and new.startswith("(")
            self.replace(inside, new[1:-1] if bare else new)
        if self.call is not None:
            x, y = argument(self.call, "x", ["x", "y"]), argument(self.call, "y", ["x", "y"])
            if x is None or y is None or called(self.call) in TRACING or any(not calls_nothing((x, y)[i]) for i in twice):
                raise NoPlace
            text = made([self.source.of(x), self.source.of(y)])
            swapped = syntax.parse(text, mode="eval").body
            if not isinstance(swapped, ast.Tuple) or len(swapped.elts) != 2:
                raise NoPlace
            for given, part in zip((x, y), swapped.elts, strict=True):
                self.replace(given, ast.get_source_segment(text, part) or "")
        self.finish()

    def _once(self, item: ast.expr) -> str:
        if calls_nothing(item):
            return self.source.of(item)
        statement: ast.AST = item
        while not isinstance(statement, ast.stmt) and statement is not self.scope and statement in self.above:
            statement = self.above[statement]
        taken = {node.id for node in nodes(self.scope, ast.Name)}
        name = next((one for one in ("x", "inputs", "x_new") if one not in taken), "")
        if not isinstance(statement, ast.stmt) or statement is self.scope or not self.source.first_in_line(statement) or not name:
            raise NoPlace
        start = self.source.start(statement)
        self.changes.append((start, start, f"{name} = {self.source.of(item)}\n{self.source.indent(statement)}"))
        return name

    def _visit(self, leaf: Callable[[ast.expr], None], pipeline: Callable[[ast.expr], None], whole: Callable[[ast.expr], None]) -> None:
        for value in self.values:
            self._whole(value, leaf, pipeline, whole)
        call = self.call
        if call is None:
            return
        if called(call) in TRACING:
            data = argument(call, "data", ["model", "data"])
            if data is None:
                raise NoPlace
            self._whole(data, leaf, pipeline, whole)
            return
        name = ("x", "y", "sample_weight")[_ROLES[self.role]]
        given = argument(call, "x" if self.dataset else name, ["x", "y"])
        if given is None:
            raise NoPlace
        (pipeline if self.dataset else leaf)(given)
        held = argument(call, "validation_data", [])
        if held is None:
            return
        # What is held back for validation is fed to the same model.
        if not self.dataset and not isinstance(self.resolved(held), (ast.Tuple, ast.List)):
            raise NoPlace
        self._whole(held, leaf, pipeline, whole)

    def _whole(self, value: ast.expr, leaf: Any, pipeline: Any, whole: Any) -> None:
        if self.dataset:
            pipeline(value)
            return
        inside, index = self.resolved(value), _ROLES[self.role]
        if isinstance(inside, ast.Tuple) and not any(isinstance(item, ast.Starred) for item in inside.elts):
            if index >= len(inside.elts):
                raise NoPlace
            leaf(inside.elts[index])
        elif self.parts == 1 and index == 0:
            leaf(value)
        else:
            whole(value)

    def _spec(self, path: tuple[Any, ...]) -> Spec | None:
        leaf = getattr(self.sample, self.role, None)
        for key in path:
            try:
                leaf = leaf[key]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                return None
        shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
        return Spec(tuple(shape), str(dtype)) if isinstance(shape, tuple) else None

    def _leaf(self, value: ast.expr, path: tuple[Any, ...], expression: Expression) -> None:
        spec, rest = self._spec(path), path
        node = value
        while rest:
            inside = self.resolved(node)
            child = _child(inside, rest[0])
            if child is None:
                break
            node, rest = child, rest[1:]
        if rest and not is_atom(node):
            raise NoPlace
        self.replace(node, self._rebuilt(self.source.of(node), path[: len(path) - len(rest)], rest, expression, spec, tensor=False))

    def _rebuilt(self, name: str, above: tuple[Any, ...], path: tuple[Any, ...], expression: Expression, spec: Spec | None, *, tensor: bool) -> str:
        if not path:
            made = expression(name, spec, tensor=tensor)
            if not made:
                raise NoPlace
            return made
        key = path[0]
        if isinstance(key, str):
            inner = self._rebuilt(f'{name}["{key}"]', (*above, key), path[1:], expression, spec, tensor=tensor)
            return f'{{**{name}, "{key}": {inner}}}'
        whole: Any = getattr(self.sample, self.role, None)
        for step in above:
            whole = whole[step]
        if not isinstance(whole, (list, tuple)):
            raise NoPlace
        inner = self._rebuilt(f"{name}[{key}]", (*above, key), path[1:], expression, spec, tensor=tensor)
        items = ", ".join(inner if i == key else f"{name}[{i}]" for i in range(len(whole)))
        return f"[{items}]" if isinstance(whole, list) and not tensor else f"({items}{',' if len(whole) == 1 else ''})"

    def _opened(self, value: ast.expr, path: tuple[Any, ...], expression: Expression) -> None:
        statement = self.above.get(value)
        if not isinstance(statement, ast.Return) or not self.source.first_in_line(statement):
            raise NoPlace
        names = _NAMES[: self.parts]
        index = _ROLES[self.role]
        made = self._rebuilt(names[index], (), path, expression, self._spec(path), tensor=False)
        parts = ", ".join(made if i == index else name for i, name in enumerate(names))
        indent = self.source.indent(statement)
        self.replace(statement, f"{', '.join(names)} = {self.source.of(value)}\n{indent}return {parts}")

    def _exchanged(self, value: ast.expr, order: Any, expression: Expression) -> None:
        inside = self.resolved(value)
        if isinstance(order, list) and isinstance(inside, (ast.List, ast.Tuple)) and len(inside.elts) == len(order):
            for old, i in zip(inside.elts, order, strict=True):
                self.replace(old, self.source.of(inside.elts[i]))
        elif isinstance(order, dict) and isinstance(inside, ast.Dict):
            names = {old: new for new, old in order.items()}
            for key in inside.keys:
                if isinstance(key, ast.Constant) and key.value in names:
                    self.replace(key, f'"{names[key.value]}"')
        elif isinstance(value, ast.Name):
            self.replace(value, expression(value.id, None, tensor=False))
        else:
            raise NoPlace

    # -- pipelines ---------------------------------------------------------------------------------

    def _mapped(self, path: tuple[Any, ...], expression: Expression) -> str:
        names = _NAMES[: self.parts]
        index = _ROLES[self.role]
        if index >= len(names):
            raise NoPlace
        made = self._rebuilt(names[index], (), path, expression, self._spec(path), tensor=True)
        return mapped(self.role, made, self.parts)

    def _mapped_behind(self, value: ast.expr, path: tuple[Any, ...], expression: Expression) -> None:
        if not self._in_last_map(value, path, expression):
            self._behind(value, self._mapped(path, expression))

    def _in_last_map(self, value: ast.expr, path: tuple[Any, ...], expression: Expression) -> bool:
        """The change inside of the last stage, where that is a ``map`` which hands the same part on as it is."""
        inside = self.resolved(value) if isinstance(value, ast.Name) else value
        mapping = inside.args[0] if isinstance(inside, ast.Call) and called(inside) == "map" and inside.args else None
        names, index = list(_NAMES[: self.parts]), _ROLES[self.role]
        if not isinstance(mapping, ast.Lambda) or [item.arg for item in mapping.args.args] != names or index >= len(names):
            return False
        parts = mapping.body.elts if isinstance(mapping.body, ast.Tuple) else []
        if len(parts) != len(names) or not (isinstance(part := parts[index], ast.Name) and part.id == names[index]):
            return False
        self.replace(part, self._rebuilt(names[index], (), path, expression, self._spec(path), tensor=True))
        return True

    def behind(self, tail: str) -> None:
        """One more stage behind the pipeline."""
        self._visit(self._no, lambda value: self._behind(value, tail), self._no)
        self.finish()

    def _no(self, value: ast.expr) -> None:
        raise NoPlace

    def _behind(self, value: ast.expr, tail: str) -> None:
        inside = self.resolved(value) if isinstance(value, ast.Name) else value
        if isinstance(inside, ast.Call) and called(inside) == "prefetch" and isinstance(inside.func, ast.Attribute):
            end = self.source.end(inside.func.value)
            self.changes.append((end, end, tail))
            return
        start, end = self.source.start(value), self.source.end(value)
        if is_atom(value):
            self.changes.append((end, end, tail))
        else:
            self.changes += [(start, start, "("), (end, end, ")" + tail)]

    def rebatch(self, batch: int, drop: bool, repeat: int) -> None:
        """Another batch size where it is written; behind the pipeline where it is not; arrays become a pipeline."""
        again = f".repeat({repeat})" if repeat else ""
        if self.dataset:
            self._visit(self._no, lambda value: self._rebatched(value, batch, drop, again), self._no)
        elif self.call is not None and called(self.call) not in TRACING:
            self._arrays_batched(self.call, batch, drop, again)
        else:
            for value in self._wholes():
                if value is None:
                    raise NoPlace
                self.replace(value, self._sliced(self._given(value), batch, drop, again))
        self.finish()

    def _wholes(self) -> list[ast.expr | None]:
        if self.call is None:
            return list(self.values)
        return [argument(self.call, "data", ["model", "data"])]

    def _rebatched(self, value: ast.expr, batch: int, drop: bool, again: str) -> None:
        batches = self._batches(value)
        if len(batches) != 1:
            self._behind(value, f"{again}.unbatch().batch({batch}, drop_remainder={drop})")
            return
        call = batches[0]
        order = _BATCHING[called(call)]
        one = with_argument(self.source, self.names, call, "batch_size", str(batch), order)
        two = with_argument(self.source, self.names, call, "drop_remainder", str(drop), order)
        if again and isinstance(call.func, ast.Attribute):
            end = self.source.end(call.func.value)
            self.changes.append((end, end, again))
        self.changes += [one, two] if one[:2] != two[:2] else [(one[0], one[1], one[2] + two[2])]

    def _batches(self, value: ast.expr) -> list[ast.Call]:
        return self._stages(value, *_BATCHING)

    def _stages(self, value: ast.expr, *names: str) -> list[ast.Call]:
        root = _root(value)
        where = [*([] if isinstance(value, ast.Name) else [value]), *(self.named(root) if root else [])]
        return [call for chain in where for call in nodes(chain, ast.Call) if called(call) in names and isinstance(call.func, ast.Attribute)]

    def unsharded(self) -> None:
        """The one ``shard`` taken out of the chain."""

        def whole(value: ast.expr) -> None:
            stages = self._stages(value, "shard")
            if len(stages) != 1:
                raise NoPlace
            self.changes.append((self.source.end(stages[0].func.value), self.source.end(stages[0]), ""))  # type: ignore[attr-defined]

        self._visit(self._no, whole, self._no)
        self.finish()

    def batch_once(self) -> None:
        """The second ``batch`` taken out of the chain; ``unbatch()`` behind it where only one is in sight."""

        def once(value: ast.expr) -> None:
            batches = self._batches(value)
            if len(batches) == 2:
                outer = max(batches, key=lambda call: len(self.source.of(call)))
                assert isinstance(outer.func, ast.Attribute)
                self.changes.append((self.source.end(outer.func.value), self.source.end(outer), ""))
            else:
                self._behind(value, ".unbatch()")

        self._visit(self._no, once, self._no)
        self.finish()

    def _given(self, value: ast.expr) -> str:
        parts = value.elts if isinstance(value, ast.Tuple) else []
        given = [self._several(part) for part in parts if not is_new_axis(part)]
        if len(given) == len(parts):
            text = self.source.of(value) if given == [self.source.of(part) for part in parts] else ", ".join(given)
            # As an argument, a tuple in brackets is one value; (a, b), c begins with a bracket and is two.
            call = syntax.parse(f"_({text})", mode="eval").body
            return text if isinstance(call, ast.Call) and len(call.args) == 1 else f"({text})"
        return given[0] if len(given) == 1 else f"({', '.join(given)})"

    def _several(self, part: ast.expr) -> str:
        """A part of the data; several arrays as a tuple, because a list of them would be stacked."""
        held = self.resolved(part)
        if not isinstance(held, ast.List) or not held.elts or all(isinstance(item, (ast.Constant, ast.List)) for item in held.elts):
            return self.source.of(part)
        if held is not part:
            return f"tuple({self.source.of(part)})"
        items = [self.source.of(item) for item in held.elts]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

    def _sliced(self, parts: str, batch: int, drop: bool, again: str) -> str:
        return f"tf.data.Dataset.from_tensor_slices({parts}){again}.batch({batch}, drop_remainder={drop})"

    def _arrays_batched(self, call: ast.Call, batch: int, drop: bool, again: str) -> None:
        """``fit(x, y, batch_size=10)`` becomes ``fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8, ...))``."""
        order = ["x", "y", "batch_size"]
        given = [value for key in ("x", "y", "sample_weight") if (value := argument(call, key, order)) is not None]
        gone = [*given[1:], *([size] if (size := argument(call, "batch_size", order)) is not None else [])]
        if not given or any(value not in (*given, *gone) for value in call.args):
            raise NoPlace
        texts = [self._several(value) for value in given]
        made = self._sliced(texts[0] if len(texts) == 1 else f"({', '.join(texts)})", batch, drop, again)
        self.replace(given[0], made)
        self.changes += without(self.source, call, gone)


def mapped(role: str, made: str, parts: int = 2) -> str:
    """A ``map`` that gives one part of an element another value."""
    if not made:
        return ""
    names = _NAMES[:parts]
    shown = [made if i == _ROLES[role] else name for i, name in enumerate(names)]
    return f".map(lambda {', '.join(names)}: {shown[0] if parts == 1 else '(' + ', '.join(shown) + ')'})"


def _child(value: ast.expr, key: Any) -> ast.expr | None:
    if isinstance(value, (ast.List, ast.Tuple)) and isinstance(key, int) and key < len(value.elts):
        return None if any(isinstance(item, ast.Starred) for item in value.elts) else value.elts[key]
    if isinstance(value, ast.Dict):
        for name, item in zip(value.keys, value.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                return item
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        return next((item.value for item in value.keywords if item.arg == key), None)
    return None


def _root(value: ast.AST) -> str:
    while isinstance(value, (ast.Call, ast.Attribute)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else ""
