"""Candidates for a reshape to (channels, positions) of what has its channels last."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...rules.facts.mixing import Interleaved
from ...rules.mixing import swapped_after
from ...rules.regrouped import channels_ahead
from ..edits import RemoveLayer
from ..edits.expression import IT, MODULE
from .edits import Made, configure, insert, of
from .line import calls_at, short


@of(Interleaved)
def positions_first(evidence: Evidence, finding: Finding, fact: Interleaved) -> Made:
    """The positions before the channels, without the Permute that exchanges them again; otherwise a transpose before the reshape."""
    node = evidence.flow.node(finding.nodes[0])
    after = swapped_after(evidence, node)
    if not channels_ahead(fact.before[1:], fact.after[1:], after is not None):
        return
    positions = [n or 0 for n in reversed(fact.after[1:])]
    if node.kind == "layer" and _plain(after):
        yield (
            f"Reshape to ({positions[0]}, {positions[1]}) in {node.name}, and remove {after.name if after is not None else ''}",
            [configure(node.name, target_shape=tuple(positions)), RemoveLayer(after.name if after is not None else "")],
            "The channels come last, so each position keeps its own.",
        )
    order = [len(fact.before) - 1, *range(1, len(fact.before) - 1)]
    if node.kind == "layer":
        yield (
            f"Move the channels to the front before {node.name}: add Permute({tuple(order)})",
            [insert(node.name, "Permute", dims=order)],
            "Moves the values along with the axes.",
        )
        return
    for line, call in calls_at(evidence, finding.location, "reshape"):
        method = isinstance(call.func, ast.Attribute) and len(call.args) == 1
        array = call.func.value if method and isinstance(call.func, ast.Attribute) else call.args[0] if call.args else None
        if array is not None:
            yield (
                f"Transpose {short(array)} to {(0, *order)} before the reshape at {line.at}",
                [line.edit(array, f"{MODULE}.transpose({IT}, {(0, *order)})", line.module())],
                "A reshape keeps the order in memory.",
            )


def _plain(node: Node | None) -> bool:
    return node is not None and node.op == "Permute"
