"""Candidates for tables of angles, such as those of rotary positions: one angle turns a pair of values."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ..text.source import nodes
from .edits import Made, of
from .line import Line, lines_of

_WAVES = frozenset({"cos", "sin"})


@of(OperationRaised)
def each_pair(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Every second place where a table of cosines and sines has an angle for each value, and is multiplied by half of the values."""
    if fact.operation != "Mul" or len(fact.shapes) != 2:
        return
    first, second = ((shape or (None,))[-1] for shape in fact.shapes)
    if not first or not second or max(first, second) != 2 * min(first, second):
        return
    for line in lines_of(evidence)[:1]:
        for call in _counts(line):
            stop = call.args[-1]
            rest = "".join(f", {word.arg}={line.source.of(word.value)}" for word in call.keywords)
            new = f"{ast.unparse(call.func)}(0, {line.source.of(stop)}, 2{rest})"
            yield (
                f"Count in steps of 2 at line {call.lineno}: {new}",
                [line.edit(call, new)],
                "One angle turns a pair of values, so there are half as many angles as values.",
            )


def _counts(line: Line) -> list[ast.Call]:
    """The counts from 0 on, one by one, in a function or a class of the file that computes cosines and sines."""
    found: dict[int, ast.Call] = {}
    for scope in nodes(line.source.tree, (ast.FunctionDef, ast.ClassDef)):
        calls = list(nodes(scope, ast.Call))
        if {called(one) for one in calls} >= _WAVES:
            found.update((id(one), one) for one in calls if called(one) == "arange" and _from_zero(one))
    return [*found.values()][:4]


def _from_zero(call: ast.Call) -> bool:
    start = call.args[0] if len(call.args) == 2 else None
    zero = isinstance(start, ast.Constant) and start.value in (0, 0.0)
    return (len(call.args) == 1 or zero) and all(word.arg == "dtype" for word in call.keywords)
