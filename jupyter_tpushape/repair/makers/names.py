"""Candidates for outputs that compile or the data call by other names than they have."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...rules.facts.compiled import UnknownOutputs
from .edits import Made, configure
from .line import lines_at


def named_outputs(evidence: Evidence, finding: Finding) -> Made:
    """The layers that make the outputs named as compile calls them, where variables of these names hold what they make."""
    fact = finding.fact
    if not isinstance(fact, UnknownOutputs):
        return
    pairs = {}
    for node in evidence.flow.nodes:
        if node.kind == "layer" and node.name in fact.outputs:
            held = [name for name in _held_by(evidence, node) if name in fact.unknown]
            if len(held) == 1:
                pairs[node.name] = held[0]
    if sorted(pairs.values()) == sorted(fact.unknown):
        ordered = [layer for layer in fact.outputs if layer in pairs]
        yield (
            f"Name the output layers {' and '.join(repr(pairs[layer]) for layer in ordered)}",
            [configure(layer, name=pairs[layer]) for layer in ordered],
            "Keras names each output after the layer that creates it.",
        )


def _held_by(evidence: Evidence, node: Node) -> list[str]:
    """The variables that are assigned on the line that makes or calls a layer."""
    found = []
    for line in lines_at(evidence, node.called or node.location)[:1]:
        for statement in ast.walk(line.scope):
            if isinstance(statement, ast.Assign) and statement.lineno <= line.raised.line <= (statement.end_lineno or 0):
                found += [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return found
