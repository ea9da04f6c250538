"""Candidates for a batch that is not the first axis any more: back in front where a layer returns it, or where it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...flow.syntax import called
from ...rules.facts.loss_silent import BatchBehind
from ...rules.facts.mixing import BatchLost
from ..edits import Edit
from ..edits.expression import IT, MODULE
from ..text.source import class_of, method_of, nodes
from .edits import Made
from .line import lines_at, reshaped, short


def in_front(evidence: Evidence, finding: Finding) -> Made:
    """The batch axis moved back: by the layer that returned it behind another one, or in front of what takes the first axis for it."""
    fact, flow = finding.fact, evidence.flow
    if isinstance(fact, BatchBehind):
        maker, reader, axis = flow.node(finding.nodes[0]), flow.node(finding.nodes[1]), fact.axis
    elif isinstance(fact, BatchLost) and fact.axis and finding.edges:
        edge = next(one for one in flow.edges if one.id == finding.edges[0])
        maker, reader, axis = flow.node(edge.source), flow.node(edge.target), fact.axis
    else:
        return
    if evidence.framework != "keras":
        return  # swapaxes is one of keras.ops
    edits: dict[str, list[Edit]] = {}
    for title, edit in _returned(evidence, maker, axis) if maker.kind == "layer" else _used(evidence, reader, axis):
        edits.setdefault(title, []).append(edit)
    for title, found in edits.items():
        yield title, found, "The first axis is then the batch again."


def reshaped_first(evidence: Evidence, finding: Finding) -> Made:
    """The batch moved to the front before a reshape that takes another axis for it, such as that of tensors stacked in front of it."""
    node, probe = evidence.flow.node(finding.nodes[0]), evidence.facts.get("probe")
    grown = next((probe.axes.get(edge.id) or {} for edge in evidence.flow.into(node.id)), {}) if probe is not None else {}
    axis = next(iter(grown), 0)
    for line in lines_at(evidence, node.called) if axis and len(grown) == 1 and evidence.framework == "keras" else ():
        given, _ = reshaped(line)
        if given is not None:
            yield (
                f"Move the batch of {short(given)} to the front before the reshape at {line.at}",
                [line.edit(given, f"{MODULE}.swapaxes({IT}, 0, {axis})", "keras.ops")],
                "The values of each sample then stay together.",
            )


def _returned(evidence: Evidence, maker: Node, axis: int) -> Iterator[tuple[str, Edit]]:
    """What the call of a layer of the user's returns."""
    lines = [line for place in (maker.called, maker.location) for line in lines_at(evidence, place)]
    for line in lines[:1]:
        call = method_of(class_of(line.source.tree, maker.op), "call")
        for item in nodes(call, ast.Return) if call is not None else ():
            if item.value is not None and not isinstance(item.value, (ast.Tuple, ast.List, ast.Dict)):
                yield (
                    f"Return the batch first from {maker.op}.call",
                    line.edit(item.value, f"{MODULE}.swapaxes({IT}, 0, {axis})", "keras.ops"),
                )


def _used(evidence: Evidence, reader: Node, axis: int) -> Iterator[tuple[str, Edit]]:
    """What the operation works on that takes the first axis for the batch: what it is called with, or what is indexed."""
    for line in lines_at(evidence, reader.called)[:1]:
        calls = [node for node in line.around(ast.Call) if called(node) and called(node).replace("_", "") in reader.op.lower()]
        given = [node.args[0] for node in calls if node.args] or [node.value for node in line.around(ast.Subscript)]
        if len(given) == 1:
            title = f"Move the batch of {short(given[0])} back to the front at {line.at}"
            yield title, line.edit(given[0], f"{MODULE}.swapaxes({IT}, 0, {axis})", "keras.ops")


__all__ = ["in_front", "reshaped_first"]
