"""A layer moved from the model into the pipeline: made where both can see it, called in ``map``, gone from the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst
from libcst.metadata import ParentNodeProvider, PositionProvider

from ...flow import Edit, Spec
from .handed import Form, change_data
from .layers import call_at, with_shape
from .words import NoPlace, literal, parsed, with_argument

Made = Callable[[Any], tuple[int, str, tuple[int, int]]]


def hosted(source: str, edit: Edit, line: int, form: Form, made: Made, gives: Spec) -> str:
    """The source with the layer out of the model and in the data.

    ``made``: where a layer, or the input of a number, is made: line, class, and which of how many there. ``gives``: what it gives.

    Raises:
        NoPlace: where the layer has no name of its own, or is used for more than one call.
    """
    name = _Move(source, edit, made, gives).name
    data = Edit(edit.kind, "x", {**edit.detail, "as": name})
    # In this order: the lines of the model are where they were, and the layer's line moves last.
    return _Move(change_data(source, data, line, form), edit, made, gives).moved()


class _Move:
    def __init__(self, source: str, edit: Edit, made: Made, gives: Spec) -> None:
        wrapper = parsed(source)
        self.module, self.gives = wrapper.module, gives
        self.positions, self.parents = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider)
        where, cls, ordinal = made(edit.target)
        call = call_at(self.module, self.positions, where, cls, ordinal)
        assign = self.parents[call]
        if not isinstance(assign, cst.Assign) or not isinstance(assign.targets[0].target, cst.Name):
            raise NoPlace
        self.assign, self.name = assign, assign.targets[0].target.value
        door = edit.detail.get("input")
        self.input = None
        if door is not None:
            where, _, ordinal = made(int(door))
            self.input = call_at(self.module, self.positions, where, "Input", ordinal)

    def moved(self) -> str:
        scope = self._scope(self.assign)
        swaps: dict[int, Any] = {}
        if self.input is not None:
            shape = tuple((self.gives.shape or ())[1:])
            new = with_shape(self.input, list(shape))
            swaps[id(self.input)] = with_argument(new, "dtype", cst.parse_expression(literal(self.gives.dtype)))
        for use in self._uses(scope):
            parent = self.parents[use]
            if isinstance(parent, cst.Call) and parent.func is use and len(parent.args) == 1:
                swaps[id(parent)] = parent.args[0].value
            elif isinstance(parent, cst.Element) and isinstance(self.parents[parent], cst.List):
                swaps[id(parent)] = cst.RemoveFromParent()
            elif scope is not self.module:
                raise NoPlace
        if not isinstance(scope, cst.Module):
            swaps[id(self.assign)] = cst.RemoveFromParent()
        changed: Any = self.module.visit(_Exchange(swaps))
        if isinstance(scope, cst.Module):
            return str(changed.code)
        outer = scope
        while not isinstance(self.parents[outer], cst.Module):
            outer = self.parents[outer]
        at = list(self.module.body).index(outer)
        line = cst.SimpleStatementLine([self.assign.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
        top = changed.body[at]
        body = [*changed.body[:at], line.with_changes(leading_lines=top.leading_lines), *changed.body[at:]]
        return str(changed.with_changes(body=body).code)

    def _scope(self, node: Any) -> Any:
        while not isinstance(node, (cst.Module, cst.FunctionDef)):
            node = self.parents[node]
        return node

    def _uses(self, scope: Any) -> list[Any]:
        """Every place in the model's code where the name is read; the data's own call is not one of them."""
        found: list[Any] = []

        def walk(node: Any) -> None:
            if isinstance(node, cst.Lambda):
                return
            if isinstance(node, cst.Name) and node.value == self.name and not isinstance(self.parents[node], (cst.AssignTarget, cst.Arg)):
                found.append(node)
            for child in node.children:
                walk(child)

        walk(scope)
        return found


class _Exchange(cst.CSTTransformer):
    def __init__(self, swaps: dict[int, Any]) -> None:
        self.swaps = swaps

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        return self.swaps.get(id(original_node), updated_node)
