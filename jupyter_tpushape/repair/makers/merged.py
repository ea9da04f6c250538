"""Candidates for rows in which the samples of a batch were merged with another axis, and which are taken for another order."""

from __future__ import annotations

import ast
import math

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...rules.facts.merged import RowsTakenApart
from ..edits.expression import MODULE
from .edits import Made, of
from .line import lines_at, reshaped, short


@of(RowsTakenApart)
def in_their_order(evidence: Evidence, finding: Finding, fact: RowsTakenApart) -> Made:
    """Rows taken apart as they were merged, and their axes then put in the order that the program goes on with."""
    axes = _as_merged(fact)
    for line in lines_at(evidence, finding.location) if axes else ():
        given, sizes = reshaped(line)
        call = line.node
        if given is None or not isinstance(call, ast.Call) or len(sizes) != len(fact.after) or len(call.args) + len(call.keywords) > 2:
            continue
        written = [line.source.of(sizes[axis]) for axis in axes]
        back = tuple(axes.index(axis) for axis in range(len(axes)))
        shape = f"({', '.join(written)})"
        yield (
            f"Split the rows of {short(given)} at {line.at} as they were merged: reshape to {shape}, then transpose",
            [line.edit(call, f"{MODULE}.transpose({MODULE}.reshape({line.source.of(given)}, {shape}), {back})", line.module())],
            "Each row then stays with its sample.",
        )


def _as_merged(fact: RowsTakenApart) -> list[int]:
    """The axes of the result in the order of the rows; empty where the sizes in front of the samples cannot be told."""
    shape: Shape = fact.after
    rest = [axis for axis in range(len(shape)) if axis != fact.axis]
    places = [at for at in range(len(rest) + 1) if math.prod(shape[axis] or 0 for axis in rest[:at]) == fact.outer]
    return [*rest[: places[0]], fact.axis, *rest[places[0] :]] if places else []
