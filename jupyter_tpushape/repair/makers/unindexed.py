"""Candidates for an array that is used whole where the lines beside it use one entry of it, or of its like."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.unindexed import unindexed
from ...flow import Finding
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons_read import Unindexed
from .edits import Made, of
from .line import lines_of


@of(OperationRaised)
def one_entry(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The entry that another line reads."""
    reason = fact.reason
    for line in lines_of(evidence)[:1] if isinstance(reason, Unindexed) else ():
        for node, entry in unindexed(line.raised, lambda text: isinstance(reason, Unindexed) and text == reason.name):
            new = entry.of(ast.unparse(node))
            yield (
                f"Use {new} instead of {ast.unparse(node)} at line {node.lineno}",
                [line.edit(node, new)],
                f"Line {entry.line} reads {entry.of(entry.array)} in the same way.",
            )
