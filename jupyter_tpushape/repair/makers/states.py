"""Candidates for the states that a recurrent layer starts with."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.contracts import Unpacked
from ...rules.facts.states import States
from ..edits.expression import MODULE
from ..text.source import nodes
from .edits import Made, configure, of
from .line import lines_at, lines_of


@of(States)
def joined_states(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """The states of both directions of an encoder joined, for a layer that runs in one: h with h, c with c."""
    node = evidence.failed
    if not fact.joined or fact.both or node is None or len(fact.given) != 2 * len(fact.keeps):
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
        edits = [line.edit(states, f"[{', '.join(joined)}]", f"{evidence.framework}.layers")]
        wider = [configure(node.name, units=units)] if node.config.get("units") != units else []
        yield (
            f"Concatenate the states of both directions{f', and set units={units} on {node.name}' if wider else ''}",
            [*edits, *wider],
            f"The forward and backward states have {units // 2} values each.",
        )


@of(Unpacked)
def every_state(evidence: Evidence, finding: Finding, fact: Unpacked) -> Made:
    """A name for each state that a recurrent layer returns; those of two directions are joined where they are used."""
    if fact.wanted < 2 or fact.wanted >= len(fact.outputs):
        return
    for line in lines_of(evidence)[:1]:
        assigned = [item for item in nodes(line.scope, ast.Assign) if item.lineno <= line.raised.line <= (item.end_lineno or 0)]
        target = assigned[-1].targets[0] if assigned else None
        if not isinstance(target, ast.Tuple) or not all(isinstance(item, ast.Name) for item in target.elts):
            continue
        names = [ast.unparse(item) for item in target.elts]
        states, missing = names[1:], len(fact.outputs) - len(names)
        both = fact.layer.op == "Bidirectional" and missing == len(states)
        added = [f"{name}_backward" for name in states] if both else ["_"] * missing
        edits = [line.edit(target, ", ".join([*names, *added]))]
        used = [item for item in nodes(line.scope, ast.List) if [ast.unparse(one) for one in item.elts] == states] if both else []
        joined = [f"{MODULE}.Concatenate()([{one}, {other}])" for one, other in zip(states, added, strict=False)]
        edits += [line.edit(item, f"[{', '.join(joined)}]", f"{evidence.framework}.layers") for item in used]
        yield (
            f"Unpack all {len(fact.outputs)} tensors at {line.at}{' and concatenate the states of both directions' if used else ''}",
            edits,
            "The forward and the backward layer return separate states." if both else "An LSTM returns two states.",
        )
