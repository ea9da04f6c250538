"""Candidates for tensors that are joined along an axis on which they agree, where they differ on one other axis."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.layers import OperationRaised
from ..text.arguments import argument
from .edits import Made, of
from .line import lines_of, whole_number
from .operands import JOINS


@of(OperationRaised)
def axis_that_differs(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The one axis on which the tensors differ: a concatenation needs all others to be equal."""
    shapes = [shape for shape in fact.shapes if shape]
    if len(shapes) < 2 or len({len(shape) for shape in shapes}) > 1:
        return
    apart = [axis for axis, sizes in enumerate(zip(*shapes, strict=True)) if len(set(sizes)) > 1]
    for line in lines_of(evidence)[:1] if len(apart) == 1 and apart[0] else ():
        call = line.call(*JOINS)
        axis = argument(call, "axis", ["values", "axis"]) if call is not None else None
        written = 0 if axis is None else whole_number(axis)
        rank, new = len(shapes[0]), apart[0] if apart[0] < len(shapes[0]) - 1 else -1
        if call is None or written is None or not -rank <= written < rank or written % rank == apart[0]:
            continue
        yield (
            f"Concatenate along axis {new} at {line.at}, the one that differs",
            [line.edit(axis, str(new)) if isinstance(axis, ast.expr) else line.more(call, f"axis={new}")],
            "All other axes match.",
        )
