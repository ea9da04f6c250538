"""Candidates for outputs that compile or the data call by other names than they have."""

from __future__ import annotations

import ast
import difflib

from ...examine.evidence import Evidence
from ...flow import Edit, Finding, Node
from ...rules.facts.compiled import UnknownOutputs
from ..edits import RenamedKeys
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


def renamed_keys(evidence: Evidence, finding: Finding) -> Made:
    """The keys of labels, or of what compile takes, as the outputs are called that none of them names."""
    fact = finding.fact
    if not isinstance(fact, UnknownOutputs):
        return
    given = [str(path[1]) for path, _ in evidence.y if len(path) == 2]
    order = _best(fact.unknown, [name for name in fact.outputs if fact.what != "labels" or name not in given])
    if not order:
        return
    renamed = " and ".join(f"{old} to {new}" for old, new in order.items())
    if fact.what == "labels" and len(given) == len(evidence.y):
        names = {**{name: name for name in given if name in fact.outputs}, **{new: old for old, new in order.items()}}
        edit = Edit("data-transform", "y", {"op": "exchange", "order": {name: names[name] for name in fact.outputs if name in names}})
        yield f"Rename the labels: {renamed}", [edit], "Keras matches labels and outputs by name."
    elif fact.what in ("loss", "metrics"):
        yield f"Rename the keys in compile: {renamed}", [RenamedKeys("model", order).value], "Keras matches losses and outputs by name."


def _best(unknown: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """The most similar name for each that is unknown; empty where one would be left without."""
    free, found = list(names), {}
    for name in unknown:
        if not free:
            return {}
        found[name] = max(free, key=lambda other: difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio())
        free.remove(found[name])
    return found


def _held_by(evidence: Evidence, node: Node) -> list[str]:
    """The variables that are assigned on the line that makes or calls a layer."""
    found = []
    for line in lines_at(evidence, node.called or node.location)[:1]:
        for statement in ast.walk(line.scope):
            if isinstance(statement, ast.Assign) and statement.lineno <= line.raised.line <= (statement.end_lineno or 0):
                found += [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return found
