"""Candidates for what a training step does with its state and its metrics: parts in another order, and the metric that keeps the mean loss."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.taken_apart import function_of
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.compiled import MetricReads
from ...rules.facts.stateless import ResultsExchanged, StatefulPair, StateMisplaced
from ...rules.facts.training import LossTracked, MetricOfOneBatch, MetricState
from ...rules.facts.transforms import GROUPS, AxisUnbound, BatchUnpacked
from ..edits.expression import IT, MODULE
from ..text.source import method_of, nodes
from .edits import Made, named, of
from .line import Line, lines_at, lines_of, short

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
    """The metrics that a step updates as those of the model."""
    for line in lines_of(evidence)[:1]:
        owner, step = line.owner(), line.scope
        calls = [call for call in nodes(step, ast.Call) if called(call) == "stateless_update_state" and isinstance(call.func, ast.Attribute)]
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
    """The metric for class indices in place of that for vectors."""
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
    stored = {item.id for item in nodes(scope, ast.Name) if isinstance(item.ctx, ast.Store)}
    asked = [call.args[0] for call in nodes(scope, ast.Call) if called(call) == "gradient" and call.args]
    names = [one.id for one in asked if isinstance(one, ast.Name)]
    return next((name for name in (*names, "loss") if name in stored), "")


@of(StatefulPair)
def unpacked_state(evidence: Evidence, finding: Finding, fact: StatefulPair) -> Made:
    """The predictions and the state that ``stateless_call`` returns, each under its name."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.scope, ast.Assign):
            call, target = item.value, item.targets[0]
            if not isinstance(call, ast.Call) or called(call) != "stateless_call":
                continue
            if isinstance(target, ast.Name) and len(call.args) > 1 and isinstance(call.args[1], ast.Name):
                names = f"{target.id}, {call.args[1].id}"
                yield f"Unpack {names} at line {item.lineno}", [line.edit(target, names)], "stateless_call returns both."


@of(ResultsExchanged)
def results_in_order(evidence: Evidence, finding: Finding, fact: ResultsExchanged) -> Made:
    """The names of a function's two results, in the order of the results."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.scope, ast.Assign):
            if fact.names == 2:
                yield from _swapped(line, item, fact.function)
            elif isinstance(target := item.targets[0], ast.Tuple) and len(target.elts) == fact.names and item.lineno == line.raised.line:
                value, last = target.elts[:-1], short(target.elts[-1])
                first = f"({', '.join(map(ast.unparse, value))})"
                yield (
                    f"Unpack {short(value[0])} and what comes with it as one, before {last}",
                    [line.edit(target, f"{first}, {ast.unparse(target.elts[-1])}")],
                    "The value and aux come as one pair.",
                )


def _swapped(line: Line, item: ast.Assign, function: str = "") -> Made:
    target, made = item.targets[0], function_of(item.value)
    given = [one.value for one in nodes(line.scope, ast.Assign) if ast.unparse(one.targets[0]) == made]
    if isinstance(target, ast.Tuple) and len(target.elts) > 1 and function in (made, *map(function_of, given)):
        one, other, *_ = target.elts
        yield (f"Swap {short(one)} and {short(other)} at line {item.lineno}", line.swap(one, other), f"This is the order in which {function} returns them.")


@of(StateMisplaced)
def state_in_order(evidence: Evidence, finding: Finding, fact: StateMisplaced) -> Made:
    """The groups of a step's state in the order in which they were taken apart."""
    for line in lines_at(evidence, finding.location)[:1]:
        scope = next((item for item in nodes(line.source.tree, ast.FunctionDef) if item.lineno == line.raised.line), line.scope)
        taken = [
            [ast.unparse(item) for item in target.elts]
            for statement in nodes(scope, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Tuple) and len(target.elts) == 4
        ]
        for held in nodes(scope, ast.Tuple):
            names = [ast.unparse(item) for item in held.elts]
            if isinstance(held.ctx, ast.Load) and taken and names != taken[0] and sorted(names) == sorted(taken[0]):
                yield (
                    f"Return the state in the order in which it is unpacked, at line {held.lineno}",
                    [line.edit(held, f"({', '.join(taken[0])})")],
                    "fit expects the same order.",
                )


@of(StateMisplaced)
def names_in_order(evidence: Evidence, finding: Finding, fact: StateMisplaced) -> Made:
    """Two names in each other's place where the values of a group were taken apart."""
    for line in lines_at(evidence, finding.location)[:1]:
        scope = next((item for item in nodes(line.source.tree, ast.FunctionDef) if item.lineno == line.raised.line), line.scope)
        states = [held.elts for held in nodes(scope, ast.Tuple) if isinstance(held.ctx, ast.Load) and len(held.elts) == 4]
        names = {ast.unparse(state[GROUPS.index(fact.group)]) for state in states if fact.group in GROUPS}
        for held in nodes(scope, ast.Tuple):
            written = [ast.unparse(item) for item in held.elts]
            if isinstance(held.ctx, ast.Store) and len(written) == 2 and names & set(written):
                yield (
                    f"Swap {short(held.elts[0])} and {short(held.elts[1])} at line {held.lineno}",
                    line.swap(*held.elts),
                    f"{' or '.join(sorted(names))} then holds the {fact.group} variables.",
                )


@of(BatchUnpacked)
def unstacked(evidence: Evidence, finding: Finding, fact: BatchUnpacked) -> Made:
    """The parts of each sample, which are on the axis behind the batch."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.source.tree, ast.Assign):
            if item.lineno == line.raised.line and ast.unparse(item.value) == fact.name:
                yield (
                    f"Unpack {fact.name} along axis 1 at line {item.lineno}",
                    [line.edit(item.value, f"{MODULE}.unstack({IT}, axis=1)", "keras.ops")],
                    f"Each sample has {fact.wanted} parts.",
                )


@of(AxisUnbound)
def without_collective(evidence: Evidence, finding: Finding, fact: AxisUnbound) -> Made:
    """What a function across devices was given, where one program computes with the whole batch."""
    for line in lines_of(evidence)[:1]:
        for call in line.around(ast.Call):
            if called(call) in _ACROSS and call.args:
                yield (
                    f"Remove {called(call)} at line {call.lineno}",
                    [line.edit(call, ast.unparse(call.args[0]))],
                    "The program computes with the whole batch already.",
                )


_ACROSS = ("pmean", "psum", "pmax", "pmin")


@of(MetricOfOneBatch)
def added_up(evidence: Evidence, finding: Finding, fact: MetricOfOneBatch) -> Made:
    """Each state added to what it was, where they are sums and counts."""
    for line in lines_at(evidence, finding.location)[:1]:
        text = ast.unparse(line.scope)
        result = ast.unparse(method_of(line.owner(), "result") or line.scope)
        averaged = "mean" in text or "divide" in text or any(isinstance(one.op, ast.Div) for one in nodes(line.scope, ast.BinOp))
        if averaged or "sum(" not in text or ("/" in result or "divide" in result) is (len(fact.states) == 1):
            continue
        calls = [call for call in nodes(line.scope, ast.Call) if called(call) == "assign"]
        edits = [line.edit(call.func, f"{ast.unparse(call.func)}_add") for call in calls]
        yield f"Add to {' and '.join(fact.states)} with assign_add in update_state", edits, "The value is then that of all batches."
