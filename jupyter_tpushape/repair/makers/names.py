"""Candidates for outputs that compile or the data call by other names than they have."""

from __future__ import annotations

import ast
import difflib
import itertools
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Spec
from ...rules.compared import ends, kind_of
from ...rules.facts.compiled import OutputsWithoutLoss, UnknownOutputs
from ...rules.facts.ranges import LabelOutOfRange
from ..edits import ExchangeInputs, RenamedKeys
from ..text.source import called, nodes
from .edits import Made, configure, of
from .line import lines_at


@of(UnknownOutputs)
def named_outputs(evidence: Evidence, finding: Finding, fact: UnknownOutputs) -> Made:
    """The layers that make the outputs named as compile calls them, where variables of these names hold what they make."""
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


@of(OutputsWithoutLoss)
def keyed_outputs(evidence: Evidence, finding: Finding, fact: OutputsWithoutLoss) -> Made:
    """Outputs in a dict, by name, where the model returns them in a list."""
    first = next((node for node in evidence.flow.nodes if node.kind == "layer" and node.name == fact.outputs[0]), None)
    for line in lines_at(evidence, first.called or first.location)[:1] if first is not None else ():
        for call in nodes(line.scope, ast.Call):
            given = [word.value for word in call.keywords if word.arg == "outputs"] or call.args[1:2]
            listed = (
                given[0].elts if called(call) in ("Model", "Functional") and given and isinstance(given[0], (ast.List, ast.Tuple)) else []
            )
            if len(listed) == len(fact.outputs):
                pairs = ", ".join(f"{name!r}: {ast.unparse(one)}" for name, one in zip(fact.outputs, listed, strict=True))
                yield (
                    f"Return the outputs in a dict at line {given[0].lineno}",
                    [line.edit(given[0], f"{{{pairs}}}")],
                    "Outputs in a dict may go without a loss.",
                )


@of(UnknownOutputs)
def renamed_keys(evidence: Evidence, finding: Finding, fact: UnknownOutputs) -> Made:
    """The keys of labels, or of what compile takes, as the outputs are called that none of them names."""
    given = [str(path[1]) for path, _ in evidence.y if len(path) == 2]
    order = _best(fact.unknown, [name for name in fact.outputs if fact.what != "labels" or name not in given])
    if not order:
        return
    renamed = " and ".join(f"{old} to {new}" for old, new in order.items())
    if fact.what == "labels" and len(given) == len(evidence.y):
        names = {**{name: name for name in given if name in fact.outputs}, **{new: old for old, new in order.items()}}
        edit = ExchangeInputs("y", {name: names[name] for name in fact.outputs if name in names})
        yield f"Rename the labels: {renamed}", [edit], "Keras matches labels and outputs by name."
    elif fact.what in ("loss", "metrics"):
        yield f"Rename the keys in compile: {renamed}", [RenamedKeys("model", order)], "Keras matches losses and outputs by name."


def exchanged_labels(evidence: Evidence, finding: Finding) -> Made:
    """The labels of several outputs in the one order in which each loss can read its own."""
    stats = getattr(evidence.sample, "label_stats", None) or {}
    pairs = [(node, ends(evidence, node)) for node in evidence.losses()]
    if (
        not isinstance(finding.fact, LabelOutOfRange)
        or not 2 <= len(pairs) == len(evidence.y) <= 4
        or any(len(path) != 2 for path, _ in evidence.y)
    ):
        return
    given = [(path, spec, stats.get(path)) for path, spec in evidence.y]
    orders = [
        order
        for order in itertools.permutations(range(len(given)))
        if all(_readable(node, predictions, *given[i][1:]) for (node, (_, predictions)), i in zip(pairs, order, strict=True))
    ]
    at = [[i for i, (path, *_) in enumerate(given) if labels is not None and path == evidence.carried(labels)] for _, (labels, _) in pairs]
    if len(orders) != 1 or not all(len(found) == 1 for found in at):
        return
    keys = [given[found[0]][0][1] for found in at]
    new = {key: given[i][0][1] for key, i in zip(keys, orders[0], strict=True)}
    changed = [
        evidence.flow.node(out.source).name for key, (_, (_, out)) in zip(keys, pairs, strict=True) if out is not None and new[key] != key
    ]
    order = new if all(isinstance(key, str) for key in keys) else [new[key] for key in sorted(new)]
    yield (
        f"Swap the labels of {' and '.join(changed)}",
        [ExchangeInputs("y", order)],
        "This is the only order in which every loss can read its labels.",
    )


def _readable(node: Node, predictions: Edge | None, labels: Spec, stats: Any) -> bool:
    """Whether the observed labels are what a loss reads for its predictions."""
    y, p, kind = labels.shape, predictions.spec.shape if predictions is not None else None, kind_of(node)
    if not y or not p or stats is None or stats.minimum is None:
        return False
    if kind == "sparse":
        return bool(stats.whole and stats.minimum >= 0 and stats.maximum < (p[-1] or 0) and y in (p[:-1], (*p[:-1], 1)))
    alike = y == p or (p[-1] == 1 and y == p[:-1])
    return alike and (kind == "regression" or (0 <= stats.minimum <= stats.maximum <= 1))


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
