"""Candidates for the metrics that a training step updates, and for the one in which Keras 3 keeps the mean loss."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.compiled import MetricReads
from ...rules.facts.training import LossTracked, MetricState
from ..text.source import method_of, nodes
from .edits import Made, named, of
from .line import lines_at, lines_of

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


@of(MetricState)
def own_metrics(evidence: Evidence, finding: Finding, fact: MetricState) -> Made:
    """The metrics that a step updates as those of the model, where it gives its whole state of metrics to the only one."""
    for line in lines_of(evidence)[:1]:
        owner, step = line.owner(), line.scope
        calls = [
            call for call in nodes(step, ast.Call) if called(call) == "stateless_update_state" and isinstance(call.func, ast.Attribute)
        ]
        names = list(dict.fromkeys(ast.unparse(call.func.value) for call in calls if isinstance(call.func, ast.Attribute)))
        inside = isinstance(owner, ast.ClassDef) and isinstance(step, ast.FunctionDef) and step in owner.body
        if names != [fact.metric] or method_of(owner, "metrics") is not None or not inside:
            continue
        assert isinstance(owner, ast.ClassDef)
        assert isinstance(step, ast.FunctionDef)
        pad = line.source.indent(step)
        text = f"@property\n{pad}def metrics(self):\n{pad}    return [{fact.metric}]\n"
        yield (
            f"Return [{fact.metric}] from the property metrics of {owner.name}",
            [line.before(step, text)],
            "The state of the step then holds the variables of this metric alone.",
        )


@of(MetricReads)
def sparse_metric(evidence: Evidence, finding: Finding, fact: MetricReads) -> Made:
    """The metric for class indices in place of that for vectors, where a training step of the program's own updates it."""
    node = named(evidence, fact.metric)
    wanted = node.op.lower().replace("_", "") if node is not None and fact.silent else ""
    for line in lines_at(evidence, finding.location)[:1]:
        made = [call for call in nodes(line.source.tree, ast.Call) if wanted and called(call).lower() == wanted]
        for call in made if len(made) == 1 else ():
            text = ast.unparse(call.func)
            root, dot, name = text.rpartition(".")
            if dot:
                yield (
                    f"Replace {name} by Sparse{name} at line {call.lineno}",
                    [line.edit(call.func, f"{root}.Sparse{name}")],
                    "It compares class indices with the argmax of the predictions.",
                )


def _loss(scope: ast.AST) -> str:
    """The name of what the step takes the gradients of."""
    stored = {item.id for item in nodes(scope, ast.Name) if isinstance(item.ctx, ast.Store)}
    asked = [call.args[0] for call in nodes(scope, ast.Call) if called(call) == "gradient" and call.args]
    names = [one.id for one in asked if isinstance(one, ast.Name)]
    return next((name for name in (*names, "loss") if name in stored), "")
