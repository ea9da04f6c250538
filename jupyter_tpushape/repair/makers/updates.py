"""Candidates for what a training step passes to its optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.updates import UpdateRefused
from ..text.source import nodes
from .edits import Made, of
from .line import Line, lines_at, short

_UPDATES = ("apply_gradients", "apply")


def _updates(evidence: Evidence, finding: Finding) -> Iterator[tuple[Line, ast.Call]]:
    """The update on the line, alone there."""
    for line in lines_at(evidence, finding.location)[:1]:
        calls = [call for call in line.around(ast.Call) if called(call) in _UPDATES and isinstance(call.func, ast.Attribute) and call.args]
        yield from ((line, call) for call in calls if len(calls) == 1)


def _two(call: ast.Call) -> list[ast.expr]:
    """The gradients and the variables, as they are written; fewer where one of them is not."""
    given = call.args[0]
    if called(call) == "apply":
        return [*call.args[:2], *(word.value for word in call.keywords if word.arg == "trainable_variables")]
    if isinstance(given, ast.Call) and called(given) == "zip":
        return given.args
    return listed if isinstance(given, (ast.Tuple, ast.List)) and len(listed := given.elts) == 2 else [given]


@of(UpdateRefused)
def exchanged(evidence: Evidence, finding: Finding, fact: UpdateRefused) -> Made:
    """The gradients and the variables in each other's place."""
    for line, call in _updates(evidence, finding) if fact.how == "exchanged" else ():
        two = _two(call)
        if len(two) == 2:
            yield (
                f"Swap {short(two[0])} and {short(two[1])} at line {call.lineno}",
                line.swap(*two),
                "The gradient comes before its variable.",
            )


@of(UpdateRefused)
def paired(evidence: Evidence, finding: Finding, fact: UpdateRefused) -> Made:
    """The gradients with the variables that the tape derived by."""
    if fact.how in ("exchanged", "unknown"):
        return
    for line, call in _updates(evidence, finding):
        two = _two(call)
        names = {ast.unparse(one) for one in two}
        derived = [
            (ast.unparse(item.targets[0]), argument)
            for item in nodes(line.scope, ast.Assign)
            if item.lineno < call.lineno and called(item.value) == "gradient" and isinstance(item.value, ast.Call)
            for argument in [_sources(item.value)]
            if argument is not None
        ]
        found = next(((name, sources) for name, sources in reversed(derived) if name in names), derived[-1] if derived else None)
        if found is None:
            continue
        name, sources = found[0], ast.unparse(found[1])
        others = [_variables(one) for one in nodes(line.scope, ast.Call) if called(one) in _UPDATES and one is not call and one.args]
        mine = _variables(call)
        if sources in others and mine not in (*others, sources, ""):
            yield (
                f"Compute {name} for {mine} at line {found[1].lineno}, instead of {sources}",
                [line.edit(found[1], mine)],
                f"Another update already changes {sources}.",
            )
        new = f"{name}, {sources}" if called(call) == "apply" else f"zip({name}, {sources})"
        yield (
            f"Use {new} at line {call.lineno}: the variables for which {name} was computed",
            [line.edit(call, f"{ast.unparse(call.func)}({new})")],
            "Each gradient is then paired with its own variable.",
        )


def _variables(call: ast.Call) -> str:
    two = _two(call)
    return ast.unparse(two[1]) if len(two) == 2 else ""


def _sources(call: ast.Call) -> ast.expr | None:
    named = [word.value for word in call.keywords if word.arg == "sources"]
    return call.args[1] if len(call.args) > 1 else named[0] if named else None


@of(UpdateRefused)
def built_for_all(evidence: Evidence, finding: Finding, fact: UpdateRefused) -> Made:
    """An optimizer that several updates share, built for all weights of the model before the first of them."""
    for line, call in _updates(evidence, finding) if fact.how == "unknown" and evidence.framework == "keras" else ():
        assert isinstance(call.func, ast.Attribute)
        optimizer = ast.unparse(call.func.value)
        first = [
            item
            for item in nodes(line.scope, ast.Expr)
            if called(item.value) in _UPDATES
            and isinstance(item.value, ast.Call)
            and isinstance(item.value.func, ast.Attribute)
            and ast.unparse(item.value.func.value) == optimizer
        ]
        body = line.scope.body if isinstance(line.scope, ast.FunctionDef) else []
        start = next((item for item in body if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))), None)
        if start is None or len(first) < 2 or not optimizer.startswith("self."):
            continue
        indent = line.source.indent(start)
        text = f"if not {optimizer}.built:\n{indent}    {optimizer}.build(self.trainable_variables)"
        yield (
            f"Build {optimizer} for all weights of the model, before line {start.lineno}",
            [line.before(start, text)],
            "It then updates each of them, whichever comes first.",
        )
