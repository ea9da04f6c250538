"""Candidates for gradients that a tape does not have."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.lines import NoGradient
from ..text.source import nodes
from .edits import Made, of
from .line import assigned_to, lines_of


@of(NoGradient)
def watched(evidence: Evidence, finding: Finding, fact: NoGradient) -> Made:
    """A tape that watches the tensor that a gradient is taken by."""
    for line in lines_of(evidence) if not fact.watched else ():
        for block in nodes(line.scope, ast.With):
            names = [ast.unparse(item.optional_vars) for item in block.items if item.optional_vars is not None]
            if fact.tape in names:
                text = f"{fact.tape}.watch({fact.source})"
                yield (
                    f"Watch {fact.source}: {text} at line {block.body[0].lineno}",
                    [line.before(block.body[0], text)],
                    "The tape then records what is computed from it.",
                )


@of(NoGradient)
def watched_whole(evidence: Evidence, finding: Finding, fact: NoGradient) -> Made:
    """The gradient by the tensor that a part was taken of, and that part of it: what is differentiated is computed from the whole."""
    for line in lines_of(evidence)[:1] if fact.watched else ():
        part = assigned_to(line, ast.Name(fact.source))
        watches = [call for call in nodes(line.scope, ast.Call) if ast.unparse(call) == f"{fact.tape}.watch({fact.source})"]
        taken = [
            call
            for call in nodes(line.scope, ast.Call)
            if ast.unparse(call.func) == f"{fact.tape}.gradient" and len(call.args) == 2 and ast.unparse(call.args[1]) == fact.source
        ]
        if not isinstance(part, ast.Subscript) or len(watches) != 1 or len(taken) != 1:
            continue
        whole, index = ast.unparse(part.value), line.source.of(part)[len(line.source.of(part.value)) :]
        yield (
            f"Take the gradient with respect to {whole} at line {taken[0].lineno}, and keep {index} of it",
            [
                line.edit(watches[0].args[0], whole),
                line.edit(taken[0], f"{ast.unparse(taken[0].func)}({ast.unparse(taken[0].args[0])}, {whole}){index}"),
            ],
            f"{fact.target} is computed from {whole}.",
        )
