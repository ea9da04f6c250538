"""Candidates for an axis of size 1 that was inserted in the wrong place or is missing, and for the branch of a condition that was exchanged with the other."""

from __future__ import annotations

import ast
import itertools

import numpy as np

from ...examine.evidence import Evidence
from ...flow import Finding, Shape, show_shape
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised, WrongRank
from ...rules.words import axes_of
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, configure, failing, given, of, way_to
from .line import assigned_to, lines_of, own_layer, short, whole_number


@of(OperationRaised)
def other_place(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An operand that got its axis of size 1 by ``expand_dims``, at another axis: one with which both broadcast to the larger."""
    for line in lines_of(evidence)[:1]:
        for (node, shape), (_, other) in itertools.permutations(line.shaped(), 2):
            made = assigned_to(line, node)
            axis = argument(made, "axis", ["x", "axis"]) if isinstance(made, ast.Call) and called(made) == "expand_dims" else None
            at = whole_number(axis)
            if axis is None or at is None or len(shape) != len(other) or not -len(shape) <= at < len(shape) or shape[at] != 1:
                continue
            rest = [*shape]
            del rest[at % len(shape)]
            for place in range(len(shape) - 1, 0, -1):
                moved = (*rest[:place], 1, *rest[place:])
                if place != at % len(shape) and _broadcast(moved, other):
                    new = -1 if place == len(shape) - 1 else place
                    yield (
                        f"Insert the axis of size 1 at axis {new} at line {axis.lineno}: {short(node)} is then {show_shape(moved)}",
                        [line.edit(axis, str(new))],
                        "Each of its values then applies to one position of the other operand.",
                    )


def _broadcast(one: Shape, other: Shape) -> bool:
    """Whether two shapes broadcast to the second one; an unknown size matches itself."""
    try:
        sizes = np.broadcast_shapes(*(tuple(7919 if n is None else n for n in shape) for shape in (one, other)))
    except ValueError:
        return False
    return sizes == tuple(7919 if n is None else n for n in other)


@of(OperationRaised)
def other_branch(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The branches of a condition in ``__init__`` of a layer of the program's own, one of which is a layer: a shortcut that is projected where it should not be."""
    owner = own_layer(evidence)
    for line in lines_of(evidence)[:1]:
        held = {ast.unparse(item) for item in nodes(line.node or line.scope, ast.Attribute)}
        inits = [item for item in nodes(line.owner(), ast.FunctionDef) if item.name == "__init__"]
        for made in (item for init in inits for item in nodes(init, ast.Assign)):
            choice = made.value
            if owner is None or not isinstance(choice, ast.IfExp) or ast.unparse(made.targets[0]) not in held:
                continue
            yield (
                f"Swap the branches of the condition at line {choice.lineno}: {ast.unparse(made.targets[0])} is the other one",
                [line.edit(choice, ast.unparse(ast.IfExp(choice.test, choice.orelse, choice.body)))],
                f"{owner.name} then receives operands of one shape.",
            )


@of(WrongRank)
def pooled_in_place(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """A pooling over all positions that keeps their axes, where what reads it slides over positions."""
    node, shape = failing(evidence)
    giver = next((one for one in way_to(evidence, node)[1:] if one.weights or "Pooling" in one.op), None)
    if (
        giver is None
        or not giver.op.startswith("Global")
        or node.op.startswith("Global")
        or not shape
        or len(shape) != 2
        or len(axes_of(node.op)) < 3
    ):
        return
    if len(given(evidence, giver) or ()) == len(axes_of(node.op)):
        yield (
            f"Keep the axes of the positions in {giver.name}: keepdims=True",
            [configure(giver.name, keepdims=True)],
            f"{node.name} then receives one position with {shape[-1]} channels.",
        )
