"""One more layer, in front of another one or behind it."""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow import syntax
from ...flow.syntax import called
from ...trace.locations import Place
from ..text.arguments import Change, argument
from ..text.names import Names, arguments_of
from ..text.program import Text, parameter
from ..text.source import NoPlace, Source, enclosing, free_name, made_in_init, nodes, outermost_loop, parents, statement_of
from .base import Edit, kind, made, written
from .run import Run


@kind
@dataclass(frozen=True)
class InsertLayer(Edit):
    """``layer(**config)`` ``position`` (``before``, ``after``) the target; at its ``input``-th tensor; at its ``nth`` call only.

    ``readers``: right behind an input, once for all that read it. ``like``: the layer that its size is taken from, where one line of a function
    calls several: what that one is made with says it for each, and what has the size already stays as it is. ``every``: at each of its tensors.
    """

    kind = "insert-layer"

    layer_class: str = field(default="", metadata={"name": "layer"})
    config: dict[str, Any] = field(default_factory=dict)
    position: str = "before"
    input: int | None = None
    nth: int | None = None
    readers: str = ""
    like: str = ""
    every: bool = False

    # -- in source ---------------------------------------------------------------------------------

    def write(self, text: Text) -> None:
        if self.readers:
            self._behind_input(text)
            return
        places = text.calls(self.target, self.nth)
        if places:
            for place in places:
                self._at_call(text, place)
            return
        self._at_construction(text, text.object(self.target))

    def _new(self, text: Text, source: Source, names: Names, call: ast.Call) -> tuple[str, list[Change]]:
        cls, beside = text.layer_class(self.layer_class), self._beside_written(text, source, call)
        name, changes = names.spell(cls, call, beside)
        prefix = name[: -len(self.layer_class)] if name.endswith(self.layer_class) else ""
        if self.layer_class == "TimeDistributed":
            inner, more = names.spell(text.layer_class(str(self.config["layer"])), call, beside)
            return f"{name}({inner}())", _joined(changes, more)
        made = written(text.package(), prefix, self.layer_class, self.config)
        return (made if prefix or name == self.layer_class else name + made[len(self.layer_class) :]), changes

    def _beside_written(self, text: Text, source: Source, call: ast.Call) -> ast.AST:
        func: ast.AST = getattr(call, "func", call)
        while isinstance(func, ast.Call):
            func = func.func
        with contextlib.suppress(NoPlace):
            made = text.made(text.object(self.target))
            if made[0] is source:
                return made[2].func
        return func

    def _at_call(self, text: Text, place: Place) -> None:
        shared = text.called_at(place)
        if len(shared) > 1:
            key = (place, place.span, self.layer_class, repr(self.config), self.position, self.input)
            if key in text.put:
                return
            text.put.add(key)
        source, names, call = text.call_of(place, called=self.target)
        several = len(shared) > 1
        outer = self._outside(text, source, call, place) if several or _called_again(source, call) else None
        if outer is not None:
            source, names, call, argument = outer
            new, changes = self._new(text, source, names, call)
            source.splice([*changes, *enclosed(source, argument, f"{new}(", ")")])
            return
        if several:
            if self._each_its_own(text, source, names, call) or self._before_loop(text, source, names, call, shared):
                return
            text.remark_shared(len(shared))
        self._around_call(text, source, names, call)

    def _each_its_own(self, text: Text, source: Source, names: Names, call: ast.Call) -> bool:
        key = next((key for key in ("filters", "units") if key in self.config), "")
        if not self.like or not key or self.position == "after" or self.input is None:
            return False
        above, around = parents(source.tree), self._argument(call)
        scope = enclosing(above, call)
        with contextlib.suppress(NoPlace):
            where, its, maker = text.made(text.object(self.like))
            size = argument(maker, key, arguments_of(its.value(maker.func, maker)))
            inside = isinstance(scope, ast.FunctionDef) and not isinstance(above.get(scope), ast.ClassDef)
            if where is source and inside and enclosing(above, maker) is scope and isinstance(size, ast.Name) and isinstance(around, ast.Name):
                new, changes = self._new(text, source, names, call)
                literal = argument(syntax.parse(new, mode="eval").body, key, [key])  # type: ignore[arg-type]  # a constructor's call
                assert literal is not None
                new = f"{new[: literal.col_offset]}{size.id}{new[literal.end_col_offset :]}"
                text.remarks.append("Tensors that already have this size are unchanged.")
                start, end = "()" if isinstance(call, ast.BinOp) else ("", "")
                choice = f" if {around.id}.shape[-1] == {size.id} else {new}({around.id}){end}"
                source.splice([*changes, *enclosed(source, around, start, choice)])
                return True
        return False

    def _before_loop(self, text: Text, source: Source, names: Names, call: ast.Call, shared: list[Any]) -> bool:
        loop, around = outermost_loop(source, call), self._given(call)
        first = all(text.is_first(one, [other for other in shared if other is not one]) for one in shared if one.name == self.target)
        if loop is None or not first or self.position == "after" or self.input is not None or not isinstance(around, ast.Name):
            return False
        if not any(node.id == around.id and isinstance(node.ctx, ast.Store) for node in nodes(loop, ast.Name)):
            return False
        new, changes = self._new(text, source, names, call)
        start = source.start(loop)
        source.splice([*changes, (start, start, f"{around.id} = {new}({around.id})\n{source.indent(loop)}")])
        return True

    def _around_call(self, text: Text, source: Source, names: Names, call: ast.Call) -> None:
        new, changes = self._new(text, source, names, call)
        held = _held(source, call, new, self.layer_class)
        if held is not None:
            # Made with the model, and not anew at each call.
            new, made = held
            changes.append(made)
        whole = self._given(call) if self.every else None
        if whole is not None:
            parts = getattr(whole, "elts", []) if self._listed(call) else []
            each = [change for part in parts for change in enclosed(source, part, f"{new}(", ")")]
            source.splice([*changes, *(each or enclosed(source, whole, f"[{new}(part) for part in ", "]"))])
            return
        if self.input is not None and self.position == "before" and not self._listed(call):
            whole = self._given(call)
            source.splice([*changes, *enclosed(source, whole, f"[{new}(part) if i == {self.input} else part for i, part in enumerate(", ")]")])
            return
        place = call if self.position == "after" else self._argument(call)
        source.splice([*changes, *enclosed(source, place, f"{new}(", ")")])

    def _behind_input(self, text: Text) -> None:
        source, names, call = text.made(text.door(self.target))
        above = parents(source.tree)
        statement = statement_of(above, call)
        if not isinstance(statement, ast.Assign) or statement.value is not call or not isinstance(statement.targets[0], ast.Name):
            raise NoPlace
        name = statement.targets[0].id
        new, changes = self._new(text, source, names, call)
        reading = [
            node
            for node in nodes(enclosing(above, call), ast.Name)
            if node.id == name and isinstance(node.ctx, ast.Load) and node.lineno > statement.lineno and not _declares(above, node)
        ]
        if not reading:
            raise NoPlace
        behind = f"{name}_{self.layer_class.lower().rstrip('123d')}"
        end = source.end(statement)
        changes.append((end, end, f"\n{source.indent(statement)}{behind} = {new}({name})"))
        source.splice([*changes, *(source.change(node, behind) for node in reading)])

    def _listed(self, call: ast.Call) -> list[ast.expr]:
        given = call if isinstance(call, ast.BinOp) else self._given(call)
        parts = [given.left, given.right] if isinstance(given, ast.BinOp) else getattr(given, "elts", call.args if call.args[1:] else [])
        return [] if any(isinstance(item, (ast.Starred, ast.Constant)) for item in parts) else parts

    def _given(self, call: ast.Call) -> ast.expr:
        given = call.args[0] if call.args else next((item.value for item in call.keywords if item.arg in ("inputs", "x")), None)
        if given is None or isinstance(given, ast.Starred):
            raise NoPlace
        return given

    def _argument(self, call: ast.Call) -> ast.expr:
        if self.input is None:
            return self._given(call)
        parts = self._listed(call)
        if self.input >= len(parts):
            raise NoPlace
        return parts[self.input]

    def _outside(self, text: Text, source: Source, call: ast.Call, place: Place) -> tuple[Source, Names, ast.Call, ast.expr] | None:
        if self.position == "after" or self.input is not None or not place.outer:
            return None
        found = parameter(source, self._argument(call))
        if found is None or found[1] < 0:
            return None
        outside, names, outer = text.call_of(place.outer[0])
        if found[1] >= len(outer.args) or any(isinstance(item, ast.Starred) for item in outer.args):
            return None
        return outside, names, outer, outer.args[found[1]]

    def _at_construction(self, text: Text, obj: Any) -> None:
        try:
            source, names, call = text.made(obj)
        except NoPlace:
            where: Any = text.where(obj)
            if getattr(where, "span", None) is None:
                raise
            source, names = text.source(where[0]), text.names(where[0])
            call = source.node_at(where.span, ast.BinOp)  # type: ignore[assignment]  # its operands are named one by one, too
        twins = text.twins(obj)
        above = parents(source.tree)
        # A function such as ``layers.add`` makes its layer and calls it on its first argument.
        operator = isinstance(call, ast.BinOp)
        function = None if operator else names.value(call.func, call)
        makes_and_calls = inspect.isfunction(function) and (not call.keywords or next(iter(inspect.signature(function).parameters), "") == "inputs")
        called = call if operator or (makes_and_calls and call.args) else _called_with(source, above, call)
        if twins and called is not None and self._each_its_own(text, source, names, called):
            return
        spot = _named_spot(source, above, call) or call
        parent = above[spot]
        loop = outermost_loop(source, call) if twins and self.position == "before" and called is None else None
        if loop is not None and _added(parent, spot) and text.is_first(obj, twins):
            # The first of the layers that the loop adds: the new one comes before all of them.
            new, changes = self._new(text, source, names, call)
            start = source.start(loop)
            source.splice([*changes, (start, start, f"{source.of(parent.func)}({new})\n{source.indent(loop)}")])  # type: ignore[attr-defined]
            return
        if twins:
            text.remark_shared(len(twins) + 1)
        if called is not None:
            self._around_call(text, source, names, called)
            return
        new, changes = self._new(text, source, names, call)
        if isinstance(parent, (ast.List, ast.Tuple)):
            source.splice([*changes, _element(source, parent, spot, new, self.position)])
        elif _added(parent, spot):
            assert isinstance(parent, ast.Call)
            source.splice([*changes, _statement(source, above, parent, new, self.position)])
        else:
            sequential, more = names.spell(text.package().Sequential, call)
            before = f"{sequential}([{new}, " if self.position == "before" else f"{sequential}(["
            after = "])" if self.position == "before" else f", {new}])"
            source.splice([*_joined(changes, more), *enclosed(source, call, before, after)])

    def shown(self, dataset: bool) -> Iterator[str]:
        where = f"input {self.input + 1} of {self.target}" if self.input is not None else self.target
        yield f"# {'before' if self.position == 'before' else 'behind'} {where}:"
        config = ", ".join(f"{key}={value!r}" for key, value in self.config.items())
        yield f"+layers.{self.layer_class}({config}),"

    # -- while the program is built again ----------------------------------------------------------

    def beside(self, run: Run, name: str, position: str, index: int | None) -> list[Any]:
        here = index is not None if self.every else index == self.input
        if (name, position) != (self.target, self.position) or not here or self.nth not in (None, run.times.get(name, 0)):
            return []
        run.done(self)
        return [run.once((id(self), name, index), lambda: made(run.package, self.layer_class, self.config))]

    def finish(self, run: Run, model: Any) -> bool:
        def changed(layer: Any) -> Any:
            new = made(run.package, self.layer_class, self.config)
            return run.adapter.Sequential([new, layer] if self.position == "before" else [layer, new])

        return run.exchange(model, self.target, changed)


def _called_again(source: Source, call: ast.Call) -> bool:
    scope = enclosing(parents(source.tree), call)
    if not isinstance(scope, ast.FunctionDef) or scope not in source.tree.body:
        return False
    return sum(called(other) == scope.name for other in nodes(source.tree, ast.Call)) > 1


def _held(source: Source, call: ast.Call, new: str, cls: str) -> tuple[str, Change] | None:
    """In a method of the user's class: the attribute that holds the new layer, and the line of ``__init__`` that makes it.

    Raises:
        NoPlace: where the class has no ``__init__`` to make it in.
    """
    above = parents(source.tree)
    method = enclosing(above, call)
    owner = above.get(method)
    if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef) or method.name in ("__init__", "build"):
        return None
    if not method.args.args:
        raise NoPlace
    written = source.of(call.func)
    name = free_name(owner, f"{written.rsplit('.', 1)[-1]}_{cls.lower()}" if isinstance(call.func, ast.Attribute) else cls.lower())
    return f"{method.args.args[0].arg}.{name}", made_in_init(source, owner, name, new, written)


def _declares(above: dict[ast.AST, ast.AST], node: ast.AST) -> bool:
    around = above[node]
    while isinstance(around, (ast.List, ast.Tuple, ast.Dict, ast.keyword)):
        if isinstance(around, ast.keyword) and around.arg not in ("inputs", "input_tensor"):
            return False
        node, around = around, above[around]
    if not isinstance(around, ast.Call):
        return False
    return called(around).endswith("Model") and (isinstance(node, ast.keyword) or node in around.args[:1])


def enclosed(source: Source, node: ast.AST, before: str, after: str) -> list[Change]:
    """Text in front of an expression and behind it."""
    start, end = source.start(node), source.end(node)
    if isinstance(node, (ast.GeneratorExp, ast.Starred)):
        raise NoPlace
    return [(start, start, before), (end, end, after)]


def _joined(one: list[Change], other: list[Change]) -> list[Change]:
    made = {(start, end): "" for start, end, _ in (*one, *other)}
    for start, end, text in (*one, *other):
        if text not in made[start, end]:
            made[start, end] += text
    return [(start, end, text) for (start, end), text in made.items()]


def _called_with(source: Source, above: dict[ast.AST, ast.AST], call: ast.Call) -> ast.Call | None:
    """The one call of a layer that is made in that line: ``Dense(3)(x)``, or ``head = Dense(3)`` and ``head(x)``."""
    parent = above[call]
    if isinstance(parent, ast.Call) and parent.func is call:
        return parent
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return None
    text = source.of(parent.targets[0])
    scope = source.tree if isinstance(parent.targets[0], ast.Attribute) else enclosing(above, call)
    uses = [node for node in nodes(scope, (ast.Name, ast.Attribute)) if isinstance(node.ctx, ast.Load) and source.of(node) == text]
    first = above[uses[0]] if len(uses) == 1 else None
    return first if isinstance(first, ast.Call) and first.func is uses[0] else None


def _named_spot(source: Source, above: dict[ast.AST, ast.AST], call: ast.Call) -> ast.AST | None:
    parent = above[call]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return None
    target = parent.targets[0]
    text = source.of(target)
    scope = source.tree if isinstance(target, ast.Attribute) else enclosing(above, call)
    uses: list[ast.AST] = [
        node for node in nodes(scope, (ast.Name, ast.Attribute)) if isinstance(getattr(node, "ctx", None), ast.Load) and source.of(node) == text
    ]
    spots = [
        node
        for node in uses
        if isinstance(above[node], (ast.List, ast.Tuple))
        or (isinstance(above[node], ast.Call) and isinstance(above[node].func, ast.Attribute) and above[node].func.attr == "add")  # type: ignore[attr-defined]
    ]
    return spots[0] if len(spots) == 1 and len(uses) == 1 else None


def _added(parent: ast.AST, spot: ast.AST) -> bool:
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "add" and spot in parent.args


def _element(source: Source, owner: Any, spot: ast.AST, new: str, position: str) -> Change:
    start, end = source.start(spot), source.end(spot)
    own_line = (source.first_in_line(spot) and spot is not owner.elts[0]) or (
        source.first_in_line(spot) and (len(owner.elts) == 1 or source.first_in_line(owner.elts[1]))
    )
    if position == "before":
        return start, start, f"{new},\n{source.indent(spot)}" if own_line else f"{new}, "
    return end, end, f",\n{source.indent(spot)}{new}" if own_line else f", {new}"


def _statement(source: Source, above: dict[ast.AST, ast.AST], add: ast.Call, new: str, position: str) -> Change:
    statement = statement_of(above, add)
    if not isinstance(statement, ast.Expr) or statement.value is not add:
        raise NoPlace
    extra = f"{source.of(add.func)}({new})"
    if position == "before":
        start = source.start(statement)
        return start, start, f"{extra}\n{source.indent(statement)}" if source.first_in_line(statement) else f"{extra}; "
    end = source.end(statement)
    if source.first_in_line(statement) and not source.text[end:].split("\n", 1)[0].split("#")[0].strip():
        # Behind the remark that ends the line.
        stop = source.line_end(statement)
        return stop, stop, f"\n{source.indent(statement)}{extra}"
    return end, end, f"; {extra}"
