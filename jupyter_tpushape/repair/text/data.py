"""The loss, the code inside a call and the data in source text."""

from __future__ import annotations

from typing import Any

import libcst as cst
from libcst.metadata import PositionProvider

from ...flow import Edit
from .words import (
    NoPlace,
    literal,
    loss_code,
    name_of,
    parsed,
    swap,
    with_argument,
)


class _Loss(cst.CSTTransformer):
    """Exchanges the loss: in ``compile``, or where its name stands as a string or a class."""

    def __init__(self, old: tuple[str, ...], detail: dict[str, Any]) -> None:
        self.old, self.detail, self.count = old, detail, 0

    def _new(self, prefix: str = "keras.") -> cst.BaseExpression:
        self.count += 1
        return cst.parse_expression(loss_code(prefix, self.detail))

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.BaseExpression:
        value = updated_node.evaluated_value
        if value not in self.old:
            return updated_node
        made = self._new()
        if isinstance(made, cst.SimpleString):
            return cst.SimpleString(updated_node.quote + self.detail["loss"] + updated_node.quote)
        return made

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if name_of(updated_node) not in self.old:
            return updated_node
        self.count += 1
        cls = "".join(part.capitalize() for part in self.detail["loss"].split("_"))
        func = updated_node.func
        new = func.with_changes(attr=cst.Name(cls)) if isinstance(func, cst.Attribute) else cst.Name(cls)
        made: cst.Call = updated_node.with_changes(func=new)
        for key, value in (self.detail.get("options") or {}).items():
            made = with_argument(made, key, cst.parse_expression(literal(value)))
        return made


def exchange_loss(source: str, edit: Edit) -> str:
    """The source with another loss: in the one ``compile`` that there is, or where the old one's name stands once."""
    module = parsed(source).module
    calls = _compiles(module)
    if len(calls) == 1:
        argument = next((item for item in calls[0].args if item.keyword is not None and item.keyword.value == "loss"), None)
        plain = [item for item in calls[0].args if item.keyword is None]
        argument = argument or (plain[1] if len(plain) > 1 else None)
        if argument is not None and isinstance(argument.value, (cst.SimpleString, cst.Call)):
            return swap(module, argument.value, _other_loss(argument.value, edit.detail)).code
    new = edit.detail["loss"]
    old = edit.detail.get("was") or new
    cls = "".join(part.capitalize() for part in old.split("_"))
    change = _Loss((old, cls), edit.detail)
    changed = module.visit(change)
    if change.count != 1:
        raise NoPlace
    return changed.code


def _other_loss(value: Any, detail: dict[str, Any]) -> Any:
    """The new loss, written as the old one was."""
    if isinstance(value, cst.Call):
        old = value.args and not (detail.get("options") or {})
        change = _Loss((name_of(value),), detail)
        return change.leave_Call(value, value.with_changes(args=[]) if old else value)
    made = cst.parse_expression(loss_code("keras.", detail))
    return value.with_changes(value=f"{value.quote}{detail['loss']}{value.quote}") if isinstance(made, cst.SimpleString) else made


def _compiles(module: cst.Module) -> list[cst.Call]:
    found: list[cst.Call] = []

    class Finder(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            if name_of(node) == "compile" and isinstance(node.func, cst.Attribute):
                found.append(node)

    module.visit(Finder())
    return found


def compile_argument(source: str, edit: Edit) -> str:
    """The source with another argument of ``compile``, where there is one call of it."""
    module = parsed(source).module
    calls = [call for call in _compiles(module) if any(a.keyword and a.keyword.value == edit.detail.get("argument") for a in call.args)]
    if len(calls) != 1:
        raise NoPlace
    return swap(
        module, calls[0], with_argument(calls[0], edit.detail["argument"], cst.parse_expression(literal(edit.detail["value"])))
    ).code


def _in_definition(source: str, line: int, transformer: cst.CSTTransformer) -> str:
    """Applies a transformer to the function or class method that starts at ``line``."""
    wrapper = parsed(source)
    positions = wrapper.resolve(PositionProvider)
    found: list[Any] = []
    lambdas: list[Any] = []

    class Finder(cst.CSTVisitor):
        def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
            if positions[node].start.line == line or any(positions[item].start.line == line for item in node.decorators):
                found.append(node)

        def visit_Lambda(self, node: cst.Lambda) -> None:
            if positions[node].start.line <= line <= positions[node].end.line:
                lambdas.append(node)

    wrapper.module.visit(Finder())
    found = found or lambdas
    if len(found) != 1:
        raise NoPlace
    changed = found[0].visit(transformer)
    return swap(wrapper.module, found[0], changed).code


def literal_in(source: str, edit: Edit, line: int) -> str:
    """The code of a layer's call, or of a Lambda, with one number or operation changed."""
    from ..source import transformer_of

    change = transformer_of(edit)
    result = _in_definition(source, line, change)
    if not change.count:
        raise NoPlace
    return result


def recounted(source: str, edit: Edit, line: int) -> str:
    """The data function with its own code changed: the rows of a reshape counted, a stage moved."""
    from ..source import data_transformer

    change = data_transformer(edit)
    result = _in_definition(source, line, change)
    if not change.count:
        raise NoPlace
    return result
