"""Candidates for a tensor that is repeated by more or fewer multiples than it has axes."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.facts.mixing import BatchLost
from ...rules.facts.reasons_read import Multiples
from ..edits.expression import IT
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .line import lines_at, lines_of, listed, short


@of(OperationRaised)
def as_many_axes(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An axis in front of the tensor for each multiple too many; a multiple of 1 for each axis that has none."""
    reason = fact.reason
    for line in lines_of(evidence)[:1] if isinstance(reason, Multiples) else ():
        assert isinstance(reason, Multiples)
        call = line.call("tile")
        more = reason.count - len(reason.shape)
        written = argument(call, "multiples", ["x", "multiples"]) if call is not None else None
        if call is None or not call.args:
            continue
        if more > 0:
            yield (
                f"Add {'an axis' if more == 1 else f'{more} axes'} of size 1 before the others of {short(call.args[0])} at {line.at}",
                [line.edit(call.args[0], f"{IT}[{', '.join(['None'] * more)}]")],
                f"There are {reason.count} multiples.",
            )
        elif listed(written):
            assert written is not None
            new = ", ".join([*map(ast.unparse, listed(written)), *["1"] * -more])
            yield f"Repeat by [{new}] at {line.at}", [line.edit(written, f"[{new}]")], "Each axis has one multiple."


@of(BatchLost)
def multiple_of_each(evidence: Evidence, finding: Finding, fact: BatchLost) -> Made:
    """A multiple of 1 for each axis without one, where a library counts the multiples from the last axis on."""
    rank = len(fact.shape)
    for line in lines_at(evidence, fact.maker.called)[:1] if fact.sized else ():
        for call in nodes(line.scope, ast.Call):
            written = argument(call, "repeats", ["x", "repeats"]) if called(call) == "tile" else None
            if written is not None and 0 < len(listed(written)) < rank:
                new = ", ".join([*map(ast.unparse, listed(written)), *["1"] * (rank - len(listed(written)))])
                yield (
                    f"Repeat by [{new}] at line {written.lineno}",
                    [line.edit(written, f"[{new}]")],
                    f"The tensor has {rank} axes. Fewer multiples are those of its last axes.",
                )
