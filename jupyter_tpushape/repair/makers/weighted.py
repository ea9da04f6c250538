"""Candidates where the weights of an average sum to 1 along another axis than the one that is summed over."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.weighted import WeightsAcross
from ..text.arguments import argument
from .edits import Made, of, setting
from .line import calls_at, whole_number


@of(WeightsAcross)
def along_sum(evidence: Evidence, finding: Finding, fact: WeightsAcross) -> Made:
    """The softmax along the axis that the product sums over."""
    new = -1 if fact.over == len(fact.shape) - 1 else fact.over
    why = "The weights of each query then sum to 1 over the keys."
    node = evidence.flow.node(finding.nodes[0])
    if node.kind == "layer":
        yield setting(node, "axis", new, "", why)
        return
    for line, call in calls_at(evidence, finding.location, "softmax"):
        axis = argument(call, "axis", ["x", "axis"])
        if axis is None or whole_number(axis) is not None:
            title = f"Apply softmax along axis {new} at {line.at}"
            yield title, [line.edit(axis, str(new)) if axis is not None else line.more(call, f"axis={new}")], why
