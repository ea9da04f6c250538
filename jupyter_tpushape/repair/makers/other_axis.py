"""Candidates for arrays of different lengths that are slices of one array: along its samples, and along another axis."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.row_steps import Array, odd_steps
from ...flow import Finding
from ..text.source import nodes
from .edits import Made
from .line import listed
from .same_rows import line_in

_ALL = ":"


def sliced_alike(evidence: Evidence, finding: Finding) -> Made:
    """The slice of one array moves to the axis along which the same data is sliced beside it."""
    arrays: tuple[Array, ...] = evidence.facts.get("arrays", ())
    for _, step in odd_steps(arrays):
        if step.kind != "cut" or not isinstance(step.node, ast.Subscript) or not isinstance(step.index_node, ast.Slice):
            continue
        held = ast.unparse(step.inner)
        beside = [one for one in nodes(step.scope, ast.Subscript) if one is not step.node and ast.unparse(one.value) == held]
        axes = {axis for one in beside if (axis := _axis(one)) is not None}
        if len(axes) != 1:
            continue
        (axis,) = axes
        written = [ast.unparse(one) for one in listed(step.node.slice)] or [step.index]
        if any(part != _ALL for part in written[1:]):
            continue
        index = ", ".join([*[_ALL] * axis, step.index])
        for line in line_in(evidence, step.file, step.node):
            yield (
                f"Move the slice to axis {axis} at line {step.node.lineno}: {held}[{index}]",
                [line.edit(step.node, f"{held}[{index}]")],
                f"{held} is sliced along axis {axis} beside it; axis 0 has the samples.",
            )


def _axis(node: ast.Subscript) -> int | None:
    """The one axis that an index slices, where it takes all samples."""
    parts = listed(node.slice)
    cut = [place for place, part in enumerate(parts) if ast.unparse(part) != _ALL]
    return cut[0] if len(cut) == 1 and cut[0] > 0 and isinstance(parts[cut[0]], ast.Slice) else None


__all__ = ["sliced_alike"]
