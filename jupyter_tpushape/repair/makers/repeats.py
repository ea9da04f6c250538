"""Candidates that repeat or stack tensors: one row for each sample, one step for each step, and along another axis."""

from __future__ import annotations

import ast
import copy

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised, WrongParts
from ...rules.facts.loss import GridApart
from ...rules.reasons import one_sample, one_step
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .ends import ends_of
from .line import calls_at, lines_of, short


def repeated(evidence: Evidence, finding: Finding) -> Made:
    """One row, such as a class token, for each sample of the batch that it is joined with."""
    node = evidence.failed
    for line in lines_of(evidence) if node is not None else []:
        operands = line.shaped()
        single = one_sample(node, [shape for _, shape in operands]) if node is not None else None
        if single is None:
            continue
        axes = len(single[1]) - len(single[0])
        names = [item for item, shape in operands if shape == single[1] and isinstance(item, (ast.Name, ast.Attribute))]
        for item, shape in operands:
            if shape != single[0] or not names:
                continue
            rows = f"{MODULE}.shape({ast.unparse(names[0])})[0]"
            inner = (
                f"*{IT}.shape{'[1:]' * (not axes)}"
                if isinstance(item, (ast.Name, ast.Attribute))
                else ", ".join(map(str, shape[not axes :]))
            )
            yield (
                f"Repeat {short(item)} for each sample of {short(names[0])} at {line.at}",
                [line.edit(item, f"{MODULE}.broadcast_to({IT}, ({rows}, {inner}))", line.module())],
                "Every sample is then concatenated with the same row.",
            )


def repeated_step(evidence: Evidence, finding: Finding) -> Made:
    """One step, such as a context, for each step of what it is joined with along the features."""
    node = evidence.failed
    if node is None or node.kind != "op":
        return
    for line in lines_of(evidence):
        operands = line.shaped()
        found = one_step(node, [shape for _, shape in operands])
        if found is None:
            continue
        single, many, axis = found
        names = [item for item, shape in operands if shape == many and isinstance(item, (ast.Name, ast.Attribute))]
        for item in [item for item, shape in operands if shape == single][:1] if names else ():
            yield (
                f"Repeat {short(item)} along axis {axis} for each step of {short(names[0])} at {line.at}",
                [line.edit(item, f"{MODULE}.repeat({IT}, {MODULE}.shape({ast.unparse(names[0])})[{axis}], axis={axis})", line.module())],
                "Every step is then concatenated with the same values.",
            )


@of(OperationRaised)
def repeated_along(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Another axis for the repetitions of a function, such as that of the heads, wherever they are written alike."""
    for line in lines_of(evidence)[:1]:
        axes: dict[tuple[str, str], list[tuple[ast.expr, int]]] = {}
        for call in nodes(line.scope, ast.Call):
            along = argument(call, "axis", ["x", "repeats", "axis"]) if called(call) == "repeat" else None
            count = argument(call, "repeats", ["x", "repeats"])
            shape = line.shape(call.args[0]) if call.args else None
            if isinstance(along, ast.Constant) and type(along.value) is int and along.value > 0 and count is not None:
                axes.setdefault((ast.unparse(count), ast.unparse(along)), []).append((along, len(shape or ())))
        for (times, written), found in axes.items():
            rank = max(rank for _, rank in found)
            for other in [n for n in range(1, rank or 1) if str(n) != written]:
                yield (
                    f"Repeat along axis {other} instead of {written} at line {found[0][0].lineno}",
                    [line.edit(along, str(other)) for along, _ in found],
                    f"Axis {other} then has {times} times its size.",
                )


@of(OperationRaised)
def repeated_alike(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The step that a tensor's sibling went through, where it made several of each of its heads: values beside keys that were repeated."""
    for line in lines_of(evidence)[:1]:
        for item in nodes(line.scope, ast.Assign):
            call, target = item.value, item.targets[0]
            if not isinstance(call, ast.Call) or not call.args or item.lineno >= line.raised.line or not isinstance(target, ast.Name):
                continue
            made = line.shape_of_names().get(target.id)
            for node, shape in line.shaped():
                axis = _more_of(shape, made)
                # What is repeated is the first argument, and no part of the other tensor.
                if (
                    axis
                    and isinstance(call.args[0], ast.Name)
                    and isinstance(node, ast.Name)
                    and node.id not in (target.id, call.args[0].id)
                ):
                    again = copy.deepcopy(call)
                    again.args[0] = node
                    yield (
                        f"Repeat {node.id} along axis {axis} at {line.at}, as line {item.lineno} does for {call.args[0].id}",
                        [line.edit(node, ast.unparse(again))],
                        f"Both then have size {(made or ())[axis]} on that axis.",
                    )


def _more_of(few: Shape, many: Shape | None) -> int | None:
    """The axis behind the batch on which one shape has several times the size of another, and no other axis differs."""
    if many is None or len(few) != len(many):
        return None
    apart = [axis for axis, (a, b) in enumerate(zip(few, many, strict=True)) if a != b]
    a, b = (few[apart[0]], many[apart[0]]) if len(apart) == 1 else (None, None)
    return apart[0] if a and b and a > 1 and b > a and b % a == 0 else None


@of(WrongParts)
def repeated_weight(evidence: Evidence, finding: Finding, fact: WrongParts) -> Made:
    """One row of a weight for each sample, where an attention is given the weight itself."""
    for line in lines_of(evidence)[:1] if fact.weight else ():
        mine = [node for node in line.operands() if ast.unparse(node) == fact.weight]
        other = [node for node in line.operands() if isinstance(node, ast.Name) and len(line.shape(node) or ()) == 3]
        if len(mine) == 1 and other:
            rows = f"{MODULE}.shape({ast.unparse(other[0])})[0]"
            yield (
                f"Repeat {fact.weight} for each sample of {short(other[0])} at {line.at}",
                [line.edit(mine[0], f"{MODULE}.repeat({fact.weight}[None], {rows}, axis=0)", line.module())],
                "Every sample then receives the same rows.",
            )


@of(GridApart)
def stacked_behind(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """Outputs stacked along the axis on which the labels have one entry for each of them."""
    _, predictions = ends_of(evidence, finding)
    head = evidence.flow.node(predictions.source) if predictions is not None else None
    *rest, parts = fact.predictions
    for line, _ in calls_at(evidence, head.called, "stack") if head is not None else ():
        axis = line.keyword("axis")
        for place in range(1, len(rest)):
            shape = (*rest[:place], parts, *rest[place:])
            if axis is not None and fact.labels in (shape, shape[:-1], (*shape[:-1], 1)):
                yield (
                    f"Stack along axis {place} instead of {ast.unparse(axis)} at {line.at}",
                    [line.edit(axis, str(place))],
                    f"The labels have one entry for each of the {parts} outputs there.",
                )
