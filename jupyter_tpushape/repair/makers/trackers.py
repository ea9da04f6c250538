"""Candidates for the metric in which Keras 3 keeps the mean loss."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.loss_tracker import LossTracked
from ..text.source import called, nodes
from .edits import Made, of
from .line import lines_at

_UPDATES = {"update_state": 0, "stateless_update_state": 1}


@of(LossTracked)
def loss_for_its_metric(evidence: Evidence, finding: Finding, fact: LossTracked) -> Made:
    """The loss for the metric of that name, and labels and predictions for the others."""
    for line in lines_at(evidence, finding.location)[:1]:
        calls = [call for call in nodes(line.scope, ast.Call) if called(call) in _UPDATES and call.lineno == line.raised.line]
        loss = _loss(line.scope)
        if len(calls) != 1 or not loss or not isinstance(calls[0].func, ast.Attribute):
            continue
        call, name = calls[0], called(calls[0])
        metric, kept = ast.unparse(calls[0].func.value), [ast.unparse(one) for one in call.args[: _UPDATES[name]]]
        given = f"{metric}.{name}({', '.join([*kept, loss])})"
        statement = next((one for one in nodes(line.scope, ast.Expr) if one.value is call), None)
        title = f"Pass {loss} to the metric loss at line {call.lineno}, and labels and predictions to the others"
        why = "The metric named loss keeps the mean of the loss."
        if statement is None or not line.source.first_in_line(statement):
            yield title, [line.edit(call, f'{given} if {metric}.name == "loss" else {{it}}')], why
        else:
            indent = line.source.indent(statement)
            written = line.source.of(call)
            text = f'if {metric}.name == "loss":\n{indent}    {given}\n{indent}else:\n{indent}    {written}'
            yield title, [line.edit(statement, text)], why


def _loss(scope: ast.AST) -> str:
    """The name of what the step takes the gradients of."""
    stored = {item.id for item in nodes(scope, ast.Name) if isinstance(item.ctx, ast.Store)}
    asked = [call.args[0] for call in nodes(scope, ast.Call) if called(call) == "gradient" and call.args]
    names = [one.id for one in asked if isinstance(one, ast.Name)]
    return next((name for name in (*names, "loss") if name in stored), "")
