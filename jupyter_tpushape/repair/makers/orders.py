"""Candidates for data in the wrong order: rows that are shuffled differently, axes that a reshape mixes, and steps that are turned around."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.row_order import Draw
from ...examine.row_steps import Array
from ...flow import Finding, show_shape
from ...flow.paths import show
from ...flow.syntax import called
from ...rules.entry import matched
from ...rules.facts.orders import StepsReversed
from ..edits import Edit
from ..edits.expression import IT
from ..text.source import free_name, nodes
from .edits import Made, of
from .entry import declaration
from .line import Line, lines_at
from .same_rows import line_in, places_behind


def one_order(evidence: Evidence, finding: Finding) -> Made:
    """The order of one array for the other too: drawn once, and used as the index of both."""
    orders = evidence.facts.get("orders")
    if orders is None:
        return
    draw: Draw = orders.draw
    for line in line_in(evidence, draw.at.file, draw.node):
        name = draw.order or free_name(line.scope, "order")
        shared = [] if draw.order else _drawn_once(line, draw, name)
        if not draw.order and not shared:
            return
        index = draw.step.index if draw.order and draw.step is not None else name
        mine = orders.theirs
        if mine is not None:  # the other array has an order of its own
            own = list(line_in(evidence, mine.at.file, mine.node))
            edits = [edit for there in own for edit in _instead(there, mine, index)]
        else:
            edits = _ordered(evidence, orders.other, draw, index)
        if edits:
            yield (
                f"Use one order for {show(orders.one.path)} and {show(orders.other.path)}: [{index}]",
                [*edits, *shared],
                "Row i of each array is then the same sample.",
            )


def windows_as_made(evidence: Evidence, finding: Finding) -> Made:
    """The windows of a series without the reshape, and the model's input declared so."""
    found = evidence.facts.get("swapped_axes")
    if found is None:
        return
    shape = (found.steps, found.features)
    declared = [
        declaration(evidence, door, shape)
        for (door, want), (path, _) in matched(evidence)
        if path == found.array.path and (want.shape or ())[1:] == shape[::-1]
    ]
    for line in line_in(evidence, found.at.file, found.call):
        yield (
            f"Remove the reshape at {line.at}{f', and declare the input as {show_shape(shape)}' if declared else ''}",
            [line.without(found.call, found.inner), *declared],
            "Each sample then has one row for each step.",
        )


def _ordered(evidence: Evidence, other: Array, draw: Draw, index: str) -> list[Edit]:
    """The other array in the order: with one more index, or in place of the index that it has, where that of the first selects rows, too."""
    cuts = [step for step in other.steps if step.kind == "cut"]
    if not cuts:
        return [line.edit(node, f"{IT}[{index}]") for _, line, node in places_behind(evidence, [other], draw.at.scope, draw.node.lineno)]
    if len(cuts) > 1 or not draw.order or not isinstance(cuts[0].node, ast.Subscript) or cuts[0].scope is not draw.at.scope:
        return []
    given = cuts[0].node.slice
    rest = ", ".join([index, *map(ast.unparse, given.elts[1:])]) if isinstance(given, ast.Tuple) else index
    return [line.edit(cuts[0].node, f"{line.source.of(cuts[0].inner)}[{rest}]") for line in line_in(evidence, cuts[0].file, cuts[0].node)]


def _drawn_once(line: Line, draw: Draw, name: str) -> list[Edit]:
    """The order under a name of its own, and the array that it was drawn for with it as its index."""
    call = draw.call
    if call is None or not isinstance(call.func, ast.Attribute):
        return []
    maker = ast.unparse(call.func.value)
    if draw.step is None:  # a statement shuffles the array where it is
        array = ast.unparse(call.args[0])
        indent = line.source.indent(draw.node)
        return [line.edit(draw.node, f"{name} = {maker}.permutation(len({array}))\n{indent}{array}[:] = {array}[{name}]")]
    statement = line.around(ast.stmt)[-1]
    given = ast.unparse(call) if draw.step.kind == "cut" else f"{maker}.permutation(len({ast.unparse(call.args[0])}))"
    before = line.before(statement, f"{name} = {given}")
    return [line.edit(draw.node, f"{line.source.of(draw.step.inner)}[{name}]"), before]


def _instead(line: Line, draw: Draw, index: str) -> list[Edit]:
    """A second order in which the first one is used."""
    if draw.step is None:
        array = ast.unparse(draw.call.args[0]) if draw.call is not None else ""
        return [line.edit(draw.node, f"{array}[:] = {array}[{index}]")]
    return [line.edit(draw.node, f"{line.source.of(draw.step.inner)}[{index}]")]


@of(StepsReversed)
def turned_back(evidence: Evidence, finding: Finding, fact: StepsReversed) -> Made:
    """The sequence in the order of its input, where the layer that reversed it is called."""
    for line in lines_at(evidence, fact.layer.called)[:1]:
        calls = line.around(ast.Call)
        made = [call for call in calls if isinstance(call.func, ast.Call) and called(call.func) == fact.layer.op]
        held = [
            call
            for call in calls
            if isinstance(call.func, (ast.Name, ast.Attribute)) and called(call) in (fact.layer.name, *_names(line, fact))
        ]
        for call in made if len(made) == 1 else held if len(held) == 1 else ():
            yield (
                f"Put the steps of {fact.layer.name} in order at line {call.lineno}",
                [line.edit(call, f"{IT}[:, ::-1]")],
                "Each step is then joined with the step that belongs to it.",
            )


def _names(line: Line, fact: StepsReversed) -> tuple[str, ...]:
    """The attributes and names that hold a layer which goes backwards."""
    made = [
        node for node in nodes(line.source.tree, ast.Assign) if isinstance(node.value, ast.Call) and called(node.value) == fact.layer.op
    ]
    backwards = [node for node in made for word in nodes(node.value, ast.keyword) if word.arg == "go_backwards"]
    return tuple(ast.unparse(target).rpartition(".")[2] for node in backwards for target in node.targets)
