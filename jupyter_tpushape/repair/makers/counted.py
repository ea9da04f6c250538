"""Candidates for a table that has an entry for each sample, where it needs one for each step of a sample."""

from __future__ import annotations

import ast

from ...examine.counted import counted
from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons_read import CountsSamples
from .edits import Made, of
from .line import lines_of


@of(OperationRaised)
def other_axis(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The axis of the same tensor that has as many entries as the other operand needs."""
    reason = fact.reason
    if not isinstance(reason, CountsSamples):
        return
    for line in lines_of(evidence)[:1]:
        for found in counted(line.raised, reason.batch, reason.wanted):
            yield (
                f"Use axis {found.axis} at line {found.node.lineno}: {found.new} instead of {ast.unparse(found.node)}",
                [line.edit(found.node, found.new)],
                "Axis 0 is the batch: its size changes from batch to batch.",
            )
            return
