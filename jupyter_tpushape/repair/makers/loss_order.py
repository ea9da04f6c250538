"""Candidates for a loss that is called with labels and predictions in each other's place."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.loss_silent import LossOrder
from .edits import Made, of
from .line import lines_at


@of(LossOrder)
def in_its_order(evidence: Evidence, finding: Finding, fact: LossOrder) -> Made:
    """The two arguments in each other's place, where every loss that the line calls has them exchanged."""
    for line in lines_at(evidence, finding.location)[:1] if fact.count else ():
        by_name: dict[str, list[ast.Call]] = {}
        for call in line.around(ast.Call):
            if len(call.args) >= 2 and not any(isinstance(one, ast.Starred) for one in call.args[:2]):
                by_name.setdefault(ast.unparse(call.func), []).append(call)
        for name, calls in by_name.items():
            if len(calls) == fact.count:
                yield (
                    f"Swap the first two arguments of {name} at line {calls[0].lineno}",
                    [edit for call in calls for edit in line.swap(call.args[0], call.args[1])],
                    "Keras losses take the labels first.",
                )
