"""Layers in source text: found where they are made, configured, replaced, put in front of each other."""

from __future__ import annotations

from typing import Any

import libcst as cst

from ...flow import Edit
from .words import (
    NoPlace,
    constructor,
    is_class,
    literal,
    name_of,
    prefix_of,
    swap,
    with_argument,
)

# Of several calls of a layer: the line of the one that is meant, 0 where it is not known, and its number.
Which = tuple[int, int] | None


def call_at(module: cst.Module, positions: Any, line: int, cls: str, ordinal: tuple[int, int]) -> cst.Call:
    """The constructor call of a class on a line: the n-th of as many as were seen being made there."""
    found: list[cst.Call] = []

    class Finder(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            where = positions[node]
            if where.start.line <= line <= where.end.line and is_class(name_of(node), cls):
                found.append(node)

    module.visit(Finder())
    exact = [call for call in found if positions[call].start.line == line] or found
    index, count = ordinal
    if len(exact) != count:
        raise NoPlace
    return sorted(exact, key=lambda call: (positions[call].start.line, positions[call].start.column))[index]


def configured(call: cst.Call, config: dict[str, Any]) -> cst.Call:
    for key, value in config.items():
        call = with_argument(call, key, cst.parse_expression(literal(value)))
    return call


def replaced(call: cst.Call, detail: dict[str, Any]) -> cst.Call:
    func = call.func
    new = func.with_changes(attr=cst.Name(detail["layer"])) if isinstance(func, cst.Attribute) else cst.Name(detail["layer"])
    if not detail.get("keep"):
        made = cst.parse_expression(constructor("", detail["layer"], detail.get("config", {})))
        assert isinstance(made, cst.Call)
        return call.with_changes(func=new, args=made.args)
    # A single size stands for every axis, so numbers stay as they are written.
    return call.with_changes(func=new)


def exchanged(module: cst.Module, one: cst.Call, other: cst.Call) -> str:
    """Two calls in each other's place."""

    class Swap(cst.CSTTransformer):
        def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
            return other if original_node is one else one if original_node is other else updated_node

    return module.visit(Swap()).code


def with_shape(call: cst.Call, shape: list[Any]) -> cst.Call:
    value = cst.parse_expression(literal(tuple(shape)))
    for key in ("shape", "input_shape"):
        if any(argument.keyword is not None and argument.keyword.value == key for argument in call.args):
            return with_argument(call, key, value)
    arguments = list(call.args)
    for i, argument in enumerate(arguments):
        if argument.keyword is not None and argument.keyword.value == "input_dim":
            arguments[i] = argument.with_changes(keyword=cst.Name("input_shape"), value=value)
            return call.with_changes(args=arguments)
    if arguments and arguments[0].keyword is None and is_class(name_of(call), "Input"):
        arguments[0] = arguments[0].with_changes(value=value)
        return call.with_changes(args=arguments)
    raise NoPlace


def inserted(module: cst.Module, call: cst.Call, parents: Any, edit: Edit, positions: Any, which: Which = None) -> str:
    prefix = prefix_of(call)
    code = constructor(prefix, edit.detail["layer"], edit.detail.get("config", {}))
    new = cst.parse_expression(code)
    parent, position = parents[call], edit.detail.get("position", "before")
    if edit.detail.get("input") is not None:
        changed = _into_list_argument(module, call, parents, new, edit.detail["input"])
    elif which is not None and isinstance(parent, cst.Call) and parent.func is call:
        # Made and called in one breath, and reached again through a model: model.layers[-1](x).
        changed = _wrapped(module, lambda node: isinstance(node.func, cst.Subscript), new, position, positions, which)
    elif isinstance(parent, cst.Element) and isinstance(parents[parent], (cst.List, cst.Tuple)):
        changed = _into_list(module, parent, parents[parent], new, position)
    elif isinstance(parent, cst.Call) and parent.func is call:
        changed = _around_call(module, parent, new, position)
    elif isinstance(parent, cst.Arg) and isinstance(parents[parent], cst.Call) and name_of(parents[parent]) == "add":
        changed = _beside_add(module, parents[parent], parents, new, position)
    elif isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Attribute):
        changed = _attribute(module, parent, new, position, positions, which)
    elif isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
        changed = _variable(module, parent.targets[0].target.value, new, position, positions, which)
    else:
        raise NoPlace
    result = changed.code
    return result if prefix else _imported(result, call, edit.detail["layer"], edit.detail.get("config", {}))


def _into_list(module: cst.Module, element: cst.Element, owner: Any, new: cst.BaseExpression, position: str) -> cst.Module:
    elements = list(owner.elements)
    at = elements.index(element)
    plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    style = elements[at - 1].comma if at > 0 and isinstance(elements[at - 1].comma, cst.Comma) else elements[at].comma
    comma = _bare(style) if isinstance(style, cst.Comma) else plain
    if position == "after":
        broken = isinstance(element.comma, cst.Comma) and isinstance(element.comma.whitespace_after, cst.ParenthesizedWhitespace)
        elements[at] = element if broken else element.with_changes(comma=comma)
        elements.insert(at + 1, cst.Element(new, comma=_bare(element.comma) if broken else element.comma))
    else:
        elements.insert(at, cst.Element(new, comma=comma))
    return swap(module, owner, owner.with_changes(elements=elements))


def _bare(comma: Any) -> Any:
    """A comma with the line break behind it, and without the remark that stands there."""
    space = comma.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return comma
    first = space.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return comma.with_changes(whitespace_after=space.with_changes(first_line=first, empty_lines=[]))


def _around_call(module: cst.Module, outer: cst.Call, new: cst.BaseExpression, position: str) -> cst.Module:
    if not outer.args:
        raise NoPlace
    if position == "after":
        return swap(module, outer, cst.Call(new, [cst.Arg(outer)]))
    first = outer.args[0]
    wrapped = first.with_changes(value=cst.Call(new, [cst.Arg(first.value)]))
    return swap(module, outer, outer.with_changes(args=[wrapped, *outer.args[1:]]))


def _into_list_argument(module: cst.Module, call: cst.Call, parents: Any, new: cst.BaseExpression, index: int) -> cst.Module:
    outer = parents[call]
    if not (isinstance(outer, cst.Call) and outer.func is call and outer.args and isinstance(outer.args[0].value, (cst.List, cst.Tuple))):
        raise NoPlace
    owner = outer.args[0].value
    elements = list(owner.elements)
    elements[index] = elements[index].with_changes(value=cst.Call(new, [cst.Arg(elements[index].value)]))
    return swap(module, owner, owner.with_changes(elements=elements))


def _beside_add(module: cst.Module, add: cst.Call, parents: Any, new: cst.BaseExpression, position: str) -> cst.Module:
    statement = parents[parents[add]]
    if not isinstance(statement, cst.SimpleStatementLine):
        raise NoPlace
    body = list(statement.body)
    at = body.index(parents[add])
    behind = position == "after"
    extra = cst.Expr(add.with_changes(args=[add.args[0].with_changes(value=new)]))
    if len(body) == 1:
        owner = parents[statement]
        lines = list(owner.body)
        lines.insert(lines.index(statement) + behind, cst.SimpleStatementLine([extra]))
        return swap(module, owner, owner.with_changes(body=lines)) if owner is not module else module.with_changes(body=lines)
    if behind:
        raise NoPlace
    body.insert(at, extra.with_changes(semicolon=cst.Semicolon(whitespace_after=cst.SimpleWhitespace(" "))))
    return swap(module, statement, statement.with_changes(body=body))


def _attribute(module: cst.Module, assign: cst.Assign, new: cst.BaseExpression, position: str, positions: Any, which: Which) -> cst.Module:
    """``self.head = Dense(10)``: the new layer wraps what the attribute is called with."""
    target = assign.targets[0].target
    assert isinstance(target, cst.Attribute)
    text = module.code_for_node(target)
    return _wrapped(module, lambda node: module.code_for_node(node.func) == text, new, position, positions, which)


def _variable(module: cst.Module, name: str, new: cst.BaseExpression, position: str, positions: Any, which: Which) -> cst.Module:
    """``head = Dense(10)`` called later as ``head(x)``."""
    return _wrapped(module, lambda node: isinstance(node.func, cst.Name) and node.func.value == name, new, position, positions, which)


def _wrapped(module: cst.Module, wanted: Any, new: cst.BaseExpression, position: str, positions: Any, which: Which) -> cst.Module:
    """The one call that is wanted with a layer put to it; ``which`` says the line, or else the number, of one of several."""
    found: list[cst.Call] = []

    class Finder(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            if node.args and wanted(node):
                found.append(node)

    module.visit(Finder())
    if which is not None:
        line, number = which
        found.sort(key=lambda node: (positions[node].start.line, positions[node].start.column))
        at_line = [node for node in found if positions[node].start.line <= line <= positions[node].end.line]
        found = at_line if line else found[number - 1 : number]
    if len(found) != 1:
        raise NoPlace
    return _around_call(module, found[0], new, position)


class _Import(cst.CSTTransformer):
    """Adds names to the import that brings another layer."""

    def __init__(self, beside: str, names: list[str]) -> None:
        self.beside, self.names, self.count = beside, names, 0

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if isinstance(updated_node.names, cst.ImportStar):
            self.count += 1
            return updated_node
        known = [alias.evaluated_name for alias in updated_node.names]
        if self.beside not in known:
            return updated_node
        self.count += 1
        aliases = list(updated_node.names)
        for name in self.names:
            if name not in known:
                aliases[-1] = aliases[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
                aliases.append(cst.ImportAlias(cst.Name(name)))
        return updated_node.with_changes(names=aliases)


def _imported(source: str, call: cst.Call, name: str, config: dict[str, Any]) -> str:
    names = [name, *([config["layer"]] if name == "TimeDistributed" else [])]
    adder = _Import(name_of(call), names)
    changed = cst.parse_module(source).visit(adder)
    if not adder.count:
        raise NoPlace
    return changed.code
