"""Numbers that are counted along the batch, as the positions of steps are, and then combined with each sample."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Flow, Who
from .facts.other_axes import SamplesInOrder
from .in_order import IN_ORDER, in_model
from .mixing import carried
from .registry import check
from .words import PAIRING


def made_of_counts(flow: Flow, edge: Edge) -> bool:
    """Whether a tensor with axes of size 1 is made of counted numbers alone; random numbers, and a state that begins with zeros, are no counts."""
    pending, seen = [edge.source], {edge.source}
    while pending and 1 in (edge.spec.shape or ())[1:]:
        node = flow.node(pending.pop())
        given = [one.source for one in flow.into(node.id) if flow.node(one.source).op != "Shape"]
        # An embedding of numbers that are not known looks up what was drawn at random.
        if not given and node.op != "Range" and not (node.op == "Embedding" and "ids" in node.config):
            return False
        pending += [one for one in given if one not in seen]
        seen.update(given)
        if not pending:
            return True
    return False


@check(order=43)
def places_counted(evidence: Evidence) -> Iterator[Finding]:
    """What is made of the places of the samples alone, such as a table of positions, and is combined with the samples inside a model."""
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id) if node.kind == "op" and node.op in PAIRING else []
        if len(edges) != 2 or not in_model(evidence, node) or any(carried(evidence, edge) != {0: 1.0} for edge in edges):
            continue
        counted = [edge for edge in edges if made_of_counts(evidence.flow, edge)]
        if len(counted) == 1:
            fact = SamplesInOrder(Who.of(node), counted[0].spec.shape or (), 0, False, True)
            yield Finding.of(IN_ORDER.id, "silent", fact, (node.id,), (counted[0].id,), node.called or node.location)
