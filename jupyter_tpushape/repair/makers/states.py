"""Candidates for the states that a recurrent layer starts with."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.states import States
from ..edits.expression import MODULE
from .edits import Made, configure
from .line import lines_at


def joined_states(evidence: Evidence, finding: Finding) -> Made:
    """The states of both directions of an encoder joined, for a layer that runs in one: h with h, c with c."""
    fact, node = finding.fact, evidence.failed
    if not isinstance(fact, States) or not fact.joined or fact.both or node is None or len(fact.given) != 2 * len(fact.keeps):
        return
    widths = {shape[-1] for shape in fact.given if shape and len(shape) == 2}
    units = 2 * (widths.pop() or 0) if len(widths) == 1 else 0
    for line in lines_at(evidence, node.called or node.location):
        states = line.keyword("initial_state")
        if not units or not isinstance(states, (ast.List, ast.Tuple)) or len(states.elts) != len(fact.given):
            continue
        half = len(fact.keeps)
        parts = [ast.unparse(item) for item in states.elts]
        joined = [f"{MODULE}.Concatenate()([{one}, {other}])" for one, other in zip(parts[:half], parts[half:], strict=True)]
        edits = [line.edit(states, f"[{', '.join(joined)}]", f"{evidence.framework}.layers").value]
        wider = [configure(node.name, units=units)] if node.config.get("units") != units else []
        yield (
            f"Concatenate the states of both directions{f', and set units={units} on {node.name}' if wider else ''}",
            [*edits, *wider],
            f"The forward and backward states have {units // 2} values each.",
        )
