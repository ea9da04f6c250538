"""Candidates for class indices that are resized by interpolation."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.loss_silent import LabelsInterpolated
from .edits import Made, of
from .line import lines_at, listed


@of(LabelsInterpolated)
def nearest(evidence: Evidence, finding: Finding, fact: LabelsInterpolated) -> Made:
    """The nearest class instead, where the line resizes one tensor."""
    for line in lines_at(evidence, finding.location)[:1] if fact.line else ():
        calls = [call for call in line.around(ast.Call) if called(call).startswith("resize")]
        # A picture and its labels may be resized in one line.
        pairs = [listed(one.value) for one in line.around((ast.Return, ast.Assign))]
        if len(calls) > 1 and len(pairs) == 1 and len(pairs[0]) == 2:
            calls = [call for call in calls if call in list(ast.walk(pairs[0][1]))]
        for call in calls if len(calls) == 1 else ():
            method = next((word.value for word in call.keywords if word.arg == "method"), None)
            edit = line.edit(method, '"nearest"') if method is not None else line.more(call, 'method="nearest"')
            yield (
                f'Set method="nearest" on {ast.unparse(call.func)} at line {call.lineno}',
                [edit],
                "Each pixel then keeps one of the classes.",
            )
