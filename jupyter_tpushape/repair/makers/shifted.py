"""Candidates for a training step in which a sequence is fed without its last step and compared whole, or the other way round."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.shifted import shifted
from ...flow import Finding
from ...rules.facts.loss import GridApart
from .edits import Made, of
from .line import running


@of(GridApart)
def other_end(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The slice that goes with the one beside it: what is fed ends one step earlier than what is compared, which begins one step later."""
    for line in running(evidence) if fact.cut else ():
        for one in shifted(line.raised):
            if ast.unparse(one.cut) == fact.cut:
                said = "first" if one.other.endswith("[:, 1:]") else "last"
                yield (
                    f"Use {one.other} at line {one.whole.lineno}, the sequence without its {said} step",
                    [line.edit(one.whole, one.other)],
                    f"Each step is then compared with the next one: line {one.cut.lineno} uses {fact.cut}.",
                )
