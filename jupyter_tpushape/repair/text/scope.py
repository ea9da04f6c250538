"""A strategy's scope in source text: the block taken further up, or put around the lines that build and compile."""

from __future__ import annotations

from typing import Any

import libcst as cst
from libcst.metadata import PositionProvider

from .words import NoPlace, name_of, parsed

_MADE_WITH = (".optimizers.", ".metrics.")


def in_scope(source: str, lines: frozenset[int]) -> str:
    """The source with everything that makes variables inside the scope.

    ``lines``: where layers are made.

    Raises:
        NoPlace: where there is no one scope, and no one strategy, to see.
    """
    wrapper = parsed(source)
    positions = wrapper.resolve(PositionProvider)
    module = wrapper.module

    def makes(statement: Any) -> bool:
        where = positions[statement]
        text = module.code_for_node(statement)
        inside = any(where.start.line <= line <= where.end.line for line in lines)
        return isinstance(statement, cst.SimpleStatementLine) and (inside or any(word in text for word in _MADE_WITH))

    suites = [node for node in _nodes(module) if isinstance(node, (cst.Module, cst.IndentedBlock))]
    scopes = [(suite, item) for suite in suites for item in suite.body if isinstance(item, cst.With) and _is_scope(module, item)]
    if len(scopes) == 1:
        suite, block = scopes[0]
        at = suite.body.index(block)
        first = next((i for i, item in enumerate(suite.body[:at]) if makes(item)), at)
        if first == at:
            raise NoPlace
        inside = block.body.with_changes(body=[*suite.body[first:at], *block.body.body])
        body = [*suite.body[:first], block.with_changes(body=inside), *suite.body[at + 1 :]]
        return _code(module, suite, body)
    if scopes:
        raise NoPlace
    name = _strategy(module)
    for suite in suites:
        made = [i for i, item in enumerate(suite.body) if makes(item)]
        compiled = [i for i, item in enumerate(suite.body) if ".compile(" in module.code_for_node(item) and not _defines(item)]
        if not made or not compiled or made[0] > compiled[-1]:
            continue
        first, last = made[0], compiled[-1]
        block = cst.With([cst.WithItem(cst.parse_expression(f"{name}.scope()"))], cst.IndentedBlock(list(suite.body[first : last + 1])))
        return _code(module, suite, [*suite.body[:first], block, *suite.body[last + 1 :]])
    raise NoPlace


def _code(module: cst.Module, suite: Any, body: list[Any]) -> str:
    if suite is module:
        return str(module.with_changes(body=body).code)
    changed: Any = module.deep_replace(suite, suite.with_changes(body=body))
    return str(changed.code)


def _nodes(node: Any) -> list[Any]:
    found = [node]
    for child in node.children:
        found += _nodes(child)
    return found


def _defines(statement: Any) -> bool:
    return isinstance(statement, (cst.FunctionDef, cst.ClassDef))


def _is_scope(module: cst.Module, block: cst.With) -> bool:
    return any(module.code_for_node(item.item).endswith(".scope()") for item in block.items)


def _strategy(module: cst.Module) -> str:
    """The one name that a strategy is given."""
    names = {
        target.target.value
        for node in _nodes(module)
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call)
        for target in node.targets
        if isinstance(target.target, cst.Name) and (name_of(node.value).endswith("Strategy") or name_of(node.value) == "tpu_strategy")
    }
    if len(names) != 1:
        raise NoPlace
    return names.pop()


def fresh_optimizer(source: str) -> str:
    """The source with the optimizer made where it is handed to ``compile``."""
    module = parsed(source).module
    calls = [node for node in _nodes(module) if isinstance(node, cst.Call) and name_of(node) == "compile"]
    assigned = {
        node.targets[0].target.value: node.value
        for node in _nodes(module)
        if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name) and isinstance(node.value, cst.Call)
    }
    for call in calls:
        for argument in (*call.args[:1], *(item for item in call.args[1:] if item.keyword and item.keyword.value == "optimizer")):
            if isinstance(argument.value, cst.Name) and argument.value.value in assigned and len(calls) == 1:
                made = cst.parse_expression(module.code_for_node(assigned[argument.value.value]))
                return str(module.deep_replace(argument.value, made).code)  # type: ignore[union-attr]
    raise NoPlace
