"""Candidates for reductions over other axes than the other operand's."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.in_order import ELEMENTWISE, REDUCES
from ..edits import Edit
from ..text.arguments import argument
from .edits import Made
from .line import lines_at, listed, whole_number


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
