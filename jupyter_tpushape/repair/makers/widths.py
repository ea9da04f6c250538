"""Candidates for the width of a layer that a class of the user's own makes in ``__init__``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Node, show_shape
from ...rules.facts.layers import OperationRaised
from ...rules.facts.loss import WrongUnits
from ...rules.facts.reasons import Lengths
from ..text.source import called, nodes
from .edits import Made, created, of
from .ends import ends_of
from .line import Line, assigned_to, lines_at, lines_of, makers_of, own_layer, short

_WIDTHS = ("units", "filters")


@of(OperationRaised)
def own_width(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The width of one of the two operands, where a layer gives it: as it is called in ``__init__``, or the number itself."""
    line, owner = next(iter(lines_of(evidence)), None), own_layer(evidence)
    if line is None or owner is None or len(fact.shapes) != 2 or not all(fact.shapes):
        return
    for index in (1, 0):
        given, wanted = fact.shapes[index], fact.shapes[1 - index]
        if not given or not wanted or None in (given[-1], wanted[-1]) or given[-1] == wanted[-1]:
            continue
        giver = _giver(evidence, owner, index, given[-1] or 0)
        if giver is None:
            continue
        argument = _width_of(line, giver, given[-1] or 0)
        if argument is None:
            continue
        names = [name for name, value in _handed(line, owner) if value == wanted[-1]]
        written = names[0] if len(names) == 1 else str(wanted[-1]) if isinstance(argument, ast.Constant) else ""
        if written:
            yield (
                f"Set the output size of {giver.name} to {wanted[-1]}: {written} instead of {ast.unparse(argument)} at line {argument.lineno}",
                [line.edit(argument, written)],
                "Its output then has the same size as the other operand.",
            )


def _giver(evidence: Evidence, owner: Node, index: int, size: int) -> Node | None:
    """The layer of the owner's own that gives an operand: by its edge, else the last one of that width."""
    edges = evidence.failed_inputs() if evidence.failed is not owner else []
    if index < len(edges):
        node = evidence.flow.node(edges[index].source)
        return node if node.parent == owner.id else None
    wide = [node for node in evidence.flow.nodes if node.parent == owner.id and any(node.config.get(key) == size for key in _WIDTHS)]
    return wide[-1] if wide else None


def _width_of(line: Line, giver: Node, size: int) -> ast.expr | None:
    """The argument that gives a layer its width, on the line where it is made."""
    if not any(giver.config.get(key) == size for key in _WIDTHS):
        return None
    calls = makers_of(line, giver)
    if len(calls) != 1:
        return None
    word = next((word.value for word in calls[0].keywords if word.arg in _WIDTHS), None)
    return word or (calls[0].args[0] if calls[0].args else None)


def _handed(line: Line, owner: Node) -> Iterator[tuple[str, int]]:
    """The whole numbers that a class of the user's own is made with, by the names that its ``__init__`` has for them."""
    kinds = [item for item in nodes(line.source.tree, ast.ClassDef) if item.name == owner.op]
    calls = makers_of(line, owner)
    if len(kinds) != 1 or len(calls) != 1:
        return
    init = next((item for item in kinds[0].body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    names = [item.arg for item in init.args.args[1:]] if init is not None else []
    pairs = [*zip(names, calls[0].args, strict=False), *((word.arg or "", word.value) for word in calls[0].keywords)]
    for name, value in pairs:
        if name in names and isinstance(value, ast.Constant) and type(value.value) is int:
            yield name, value.value


def half_of_argument(evidence: Evidence, finding: Finding) -> Made:
    """An argument of a layer of the user's own from which the layer computes a table half as wide, as sines beside cosines."""
    owner = own_layer(evidence)
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    if owner is None or not isinstance(reason, Lengths) or bool(reason.first) == bool(reason.second):
        return
    old, new = (reason.right, reason.left) if reason.first else (reason.left, reason.right)
    for name in [key for key, value in owner.config.items() if type(value) is int and value == 2 * old]:
        yield created(owner, name, 2 * new, "", f"Half of it, {old}, is combined with a tensor of size {new}.")


_HALVES = frozenset({"sin", "cos"})


@of(OperationRaised)
def odd_halves(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Sines and cosines side by side, which are one value too wide for an odd width."""
    for line in lines_of(evidence)[:1]:
        shaped = line.shaped()
        for (wide, its), (other, wanted) in (shaped, shaped[::-1]) if len(shaped) == 2 else ():
            size, least = its[-1], wanted[-1]
            joined = {called(call) for call in nodes(assigned_to(line, wide), ast.Call)}
            if joined >= _HALVES and isinstance(other, ast.Name) and size and least and size == least + 1 and least % 2:
                yield (
                    f"Keep {least} of the {size} values of {short(wide)} at {line.at}",
                    [line.edit(wide, f"{ast.unparse(wide)}[..., : {other.id}.shape[-1]]")],
                    f"Sines and cosines of equal width add up to an even number; {least} is odd.",
                )


def reduced_axis(evidence: Evidence, finding: Finding) -> Made:
    """Another axis of the one reduction behind the predictions, which leaves as many values as a label has."""
    labels, predictions = ends_of(evidence, finding)
    wanted = labels.spec.shape if labels is not None and isinstance(finding.fact, WrongUnits) else None
    node = evidence.flow.node(predictions.source) if predictions is not None and wanted else None
    shape = predictions.spec.shape if predictions is not None else None
    # What has an axis fewer than its one input has reduced it.
    while node is not None and wanted and shape is not None and len(shape) == len(wanted) and len(evidence.flow.into(node.id)) == 1:
        reduced, before = node, evidence.flow.into(node.id)[0]
        node, shape = evidence.flow.node(before.source), before.spec.shape
    if not wanted or not shape or len(shape) != len(wanted) + 1:
        return
    fits = [axis for axis in range(1, len(shape)) if (*shape[:axis], *shape[axis + 1 :]) == wanted]
    for line in lines_at(evidence, reduced.called) if len(fits) == 1 else ():
        axis = line.keyword("axis")
        if isinstance(axis, (ast.Constant, ast.UnaryOp)):
            yield (
                f"Use axis {fits[0]} instead of {ast.unparse(axis)} in the reduction at {line.at}",
                [line.edit(axis, str(fits[0]))],
                f"{show_shape(shape)} then becomes {show_shape(wanted)}.",
            )
