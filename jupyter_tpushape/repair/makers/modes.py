"""Candidates for a training step that does not say that it trains."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.modes import Resting
from .edits import Made, of
from .line import lines_at


@of(Resting)
def in_training(evidence: Evidence, finding: Finding, fact: Resting) -> Made:
    """The call of the model with ``training=True``."""
    for line in lines_at(evidence, fact.model.called)[:1]:
        objects = [
            call
            for call in line.around(ast.Call)
            if ast.unparse(call.func) == "self" or (isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self")
        ]
        calls = [call for call in objects if not any(word.arg in ("training", None) for word in call.keywords)]
        if calls:
            whose = ", ".join(dict.fromkeys(ast.unparse(call.func) for call in calls))
            yield (
                f"Pass training=True to {whose} at line {calls[0].lineno}",
                [line.more(call, "training=True") for call in calls],
                "Its layers then work as in training.",
            )
