"""Candidates for reductions over other axes than the other operand's, and for Fourier transforms."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lone import ScoresOfSamples
from ...rules.facts.other_axes import SamplesInOrder
from ...rules.in_order import ELEMENTWISE, REDUCES, TRANSFORMS
from ...rules.moved import turned_around
from ..edits import Edit
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .line import lines_at, listed, short, whole_number
from .other_axes import along_axis


def reduced_alike(evidence: Evidence, finding: Finding) -> Made:
    """Reductions over other axes: those of the other operand's, or the ones that leave its shape."""
    sides = [(edge.spec.shape or (), _reductions(evidence, edge)) for edge in evidence.operands()] if isinstance(finding.fact, OperationRaised) else []
    found: list[tuple[list[Node], list[int]]] = []
    for (shape, mine), (wanted, other) in (sides, sides[::-1]) if len(sides) == 2 and all(n for n, _ in sides) else ():
        givens = {evidence.flow.into(node.id)[0].spec.shape or () for node in mine}
        whole = givens.pop() if len(givens) == 1 else ()
        if len(whole) <= len(wanted):
            continue
        places, last = {tuple(_places(node, whole)) for node in mine}, len(whole) - 1
        for axes in itertools.combinations(range(1, len(whole)), len(whole) - len(wanted)):
            left = tuple(size for axis, size in enumerate(whole) if axis not in axes)
            alike = {tuple(_places(node, whole)) for node in other} == {axes} if other else len(shape) == len(wanted)
            # A loss that sums over the classes means to.
            classes = evidence.where in ("loss", "metric") and (last,) in places
            if len(places) == 1 and axes not in places and left == wanted and alike and not classes:
                found.append((mine, list(axes)))
    for mine, new in sorted(found, key=lambda one: len(one[0])) if len(found) == 1 or all(other for _, other in sides) else ():
        edits: dict[tuple[int, int], Edit] = {}
        for node in mine:
            for line in lines_at(evidence, node.called)[:1]:
                calls = [one for one in line.around(ast.Call) if called(one).removeprefix("reduce_") == node.op.lower()]
                for call in calls:
                    axis = argument(call, "axis", ["x", "axis"])
                    if axis is not None and [whole_number(one) for one in listed(axis) or [axis]] == _written(node):
                        edits[axis.lineno, axis.col_offset] = line.edit(
                            axis, f"{tuple(new) if isinstance(axis, ast.Tuple) else new}" if listed(axis) else str(new[0])
                        )
        if edits:
            names = " and ".join(dict.fromkeys(f"line {line}" for line, _ in edits))
            yield (
                f"Use axis {', '.join(map(str, new))} in the reduction at {names}",
                [*edits.values()],
                "Both operands then have one value for the same things.",
            )


def _written(node: Node) -> list[int]:
    axis = node.config.get("operand1")
    return [axis] if isinstance(axis, int) else list(axis or ())


def _places(node: Node, whole: Shape) -> list[int]:
    return sorted(axis % len(whole) for axis in _written(node))


def _reductions(evidence: Evidence, edge: Edge) -> list[Node]:
    """The written reductions that a tensor is computed from, with what keeps its shape between them."""
    node = evidence.flow.node(edge.source)
    if node.kind == "op" and node.op in REDUCES and node.called is not None and node.op.lower() in node.called.text.lower():
        return [node] if _written(node) and any(one.spec.shape for one in evidence.flow.into(node.id)[:1]) and not node.config.get("keep_dims") else []
    inner = [one for one in evidence.flow.into(node.id) if one.spec.shape == edge.spec.shape] if node.op in ELEMENTWISE else []
    return [found for one in inner for found in _reductions(evidence, one)]


@of(SamplesInOrder)
def transformed(evidence: Evidence, finding: Finding, fact: SamplesInOrder) -> Made:
    """The axes of a sample for a Fourier transform: one along which no other one beside it runs."""
    flow, node, rank = evidence.flow, evidence.flow.node(finding.nodes[0]), len(fact.shape)
    beside = [flow.node(edge.source) for edge in flow.into(node.id)] + [flow.node(edge.target) for edge in flow.out_of(node.id)]
    taken = [one.config.get("operand2") for one in beside if one.op in TRANSFORMS]
    free = [axis for axis in range(1, rank) if axis not in taken and axis - rank not in taken]
    free = free or list(range(1, rank))  # one that goes back runs along the axis of the one before
    for line in lines_at(evidence, finding.location)[:1] if fact.operation.op in TRANSFORMS else ():
        calls = [call for call in nodes(line.scope, ast.Call) if called(call).capitalize() in TRANSFORMS]
        same = [call for call in calls if whole_number(argument(call, "axis", [])) == fact.axis]
        held = [argument(call, "axes", []) for call in calls if call.lineno == line.raised.line]
        axes = [given for given in held if given is not None and len(listed(given)) == rank - 1]
        inner = tuple(range(1, rank))
        made = [along_axis(line, call, free[0]) for call in same]
        if axes:
            yield f"Pass axes={inner} at {line.at}", [line.edit(one, str(inner)) for one in axes], "It then runs along the axes of each sample."
        elif made:
            yield made[0][0], [edit for _, edits in made for edit in edits], "It then runs along an axis of each sample."


@of(ScoresOfSamples)
def sum_over_samples(evidence: Evidence, finding: Finding, fact: ScoresOfSamples) -> Made:
    """The first matrix of a product transposed, in place of the second."""
    for line in lines_at(evidence, finding.location)[:1]:
        products = [(one, one.args[0], one.args[1]) for one in line.around(ast.Call) if called(one) in ("matmul", "dot") and len(one.args) == 2]
        products += [(one, one.left, one.right) for one in line.around(ast.BinOp) if isinstance(one.op, ast.MatMult)]
        for _, left, right in products:
            inner = turned_around(right)
            if inner is not None:
                yield (
                    f"Transpose {short(left)} in place of {short(inner)} at {line.at}",
                    [line.apply(left, "transpose"), line.edit(right, line.source.of(inner))],
                    "The product then sums over the samples.",
                )
                return
