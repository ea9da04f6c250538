"""Candidates for sequences in reverse order: turned before they are joined."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.reversed_steps import StepsReversed
from ..edits.expression import IT
from ..text.source import nodes
from .edits import Made, of
from .line import Line, lines_at


@of(StepsReversed)
def turned_back(evidence: Evidence, finding: Finding, fact: StepsReversed) -> Made:
    """The sequence in the order of its input, where the layer that reversed it is called."""
    for line in lines_at(evidence, fact.layer.called)[:1]:
        calls = line.around(ast.Call)
        made = [call for call in calls if isinstance(call.func, ast.Call) and called(call.func) == fact.layer.op]
        held = [
            call
            for call in calls
            if isinstance(call.func, (ast.Name, ast.Attribute)) and called(call) in (fact.layer.name, *_names(line, fact))
        ]
        for call in made if len(made) == 1 else held if len(held) == 1 else ():
            yield (
                f"Put the steps of {fact.layer.name} in order at line {call.lineno}",
                [line.edit(call, f"{IT}[:, ::-1]")],
                "Each step is then joined with the step that belongs to it.",
            )


def _names(line: Line, fact: StepsReversed) -> tuple[str, ...]:
    """The attributes and names that hold a layer which goes backwards."""
    made = [
        node for node in nodes(line.source.tree, ast.Assign) if isinstance(node.value, ast.Call) and called(node.value) == fact.layer.op
    ]
    backwards = [node for node in made for word in nodes(node.value, ast.keyword) if word.arg == "go_backwards"]
    return tuple(ast.unparse(target).rpartition(".")[2] for node in backwards for target in node.targets)
