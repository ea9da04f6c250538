"""Candidates for layers that a model calls and does not hold: the function that calls them is called itself."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.outside import OutsideModel
from ..text.source import nodes
from .edits import Made, of
from .line import lines_at


@of(OutsideModel)
def function_itself(evidence: Evidence, finding: Finding, fact: OutsideModel) -> Made:
    """The function that a layer wraps, called on what the layer is called on: its layers are then those of the model."""
    caller = fact.caller
    if caller is None:
        return
    for line in lines_at(evidence, caller.called)[:1]:
        wraps = [call.func for call in line.around(ast.Call) if isinstance(call.func, ast.Call) and called(call.func) == caller.op]
        for wrap in wraps if len(wraps) == 1 else ():
            given = wrap.args[0] if wrap.args else next((one.value for one in wrap.keywords if one.arg == "function"), None)
            if given is None or any(isinstance(one, ast.Starred) for one in nodes(wrap, ast.Starred)):
                continue
            text = ast.unparse(given)
            yield (
                f"Call the function itself instead of {caller.op} at {line.at}",
                [line.edit(wrap, f"({text})" if isinstance(given, ast.Lambda) else text)],
                "The model then contains the layers that the function calls.",
            )
