"""Candidates for measurements that an embedding takes for ids."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.ranges import DecimalIds
from ..edits import RemoveLayer, ReplaceLayer
from .edits import Made, given, of


@of(DecimalIds)
def as_they_are(evidence: Evidence, finding: Finding, fact: DecimalIds) -> Made:
    """The numbers in place of rows of a table: each is the one feature of a step, or all of them are the features."""
    node = evidence.flow.node(finding.nodes[0])
    shape = given(evidence, node) or ()
    readers = [evidence.flow.node(edge.target) for edge in evidence.flow.out_of(node.id)]
    if len(shape) != 2 or len(readers) != 1 or not shape[1] or shape[1] < 2:
        return
    if readers[0].op == "Flatten":
        yield f"Remove {node.name}: pass the numbers as they are", [RemoveLayer(node.name)], "Measurements are features, and no ids."
    elif readers[0].family in ("recurrent", "convolution") or readers[0].op == "Bidirectional":
        yield (
            f"Replace {node.name} by Reshape(({shape[1]}, 1)): pass the numbers as they are",
            [ReplaceLayer(node.name, "Reshape", config={"target_shape": (shape[1], 1)})],
            f"{readers[0].name} then reads {shape[1]} steps of one number.",
        )
