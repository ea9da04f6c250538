"""Models that another program calls on another shape than they declare."""

from __future__ import annotations

import msgspec

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_contracts import HeardInput
from ..examine.inner_doors import OpenDoor
from ..flow import Edge, Fact, Finding, Node, Shape, Who
from ..graph import cause as cause_of
from ..graph import instead, value
from ..trace.doors import fits
from .facts.contracts import InnerBatch, InnerDoor
from .words import givers


def inner_door(evidence: Evidence, node: Node, edges: list[Edge]) -> tuple[str, Fact] | None:
    """A model that refused what it was given."""
    said = hear(node.failure, HeardInput)
    if said is not None and said.wanted[:2] == (None, None) and fits((None, *said.wanted[2:]), said.given) and said.given:
        return "batch-in-input-shape", InnerBatch(Who.of(node), said.wanted, said.given)
    if said is None or node.kind != "layer" or not edges or not said.given:
        return None
    # The tensor that was refused, of several; none of them where it comes from no other node, as random numbers do.
    # Keras drops a last axis of size 1 before it quotes what it got.
    shapes = [edge.spec.shape or () for edge in edges]
    whole = [shape[:-1] if shape[-1:] == (1,) and len(shape) == len(said.given) + 1 else shape for shape in shapes]
    refused = [edge for edge, shape in zip(edges, whole, strict=True) if shape and fits(said.given, shape)]
    edges = refused if len(refused) == 1 else []
    shape = (edges[0].spec.shape if edges else None) or said.given
    built = node.name in evidence.facts.get("undeclared", ()) and len(said.wanted) == len(shape) and said.wanted[-1] == shape[-1]
    return "input-axis", _told(evidence, node, said.wanted, shape, edges, built)


def let_in(evidence: Evidence, node: Node) -> Finding | None:
    """A model around the failed node that was given another shape than it declares, and let it in."""
    door: OpenDoor | None = evidence.facts.get("door")
    if door is None or node.id == door.node or hear(node.failure, HeardInput) is not None:
        return None
    model = evidence.flow.node(door.node)
    edges = [edge for edge in evidence.flow.edges if edge.source == door.giver and edge.spec.shape == door.given][:1]
    giver = evidence.flow.node(door.giver) if door.giver is not None else None
    fact = _told(evidence, model, door.wanted, door.given, edges, door.built, giver)
    if not edges and door.giver is not None:
        fact = msgspec.structs.replace(fact, givers=(evidence.flow.node(door.giver).name,))
    return Finding.of("input-axis", "error", fact, (model.id, node.id), tuple(edge.id for edge in edges), model.called or model.location)


def _told(evidence: Evidence, node: Node, wanted: Shape, shape: Shape, edges: list[Edge], built: bool, giver: Node | None = None) -> InnerDoor:
    """With the argument of a layer before the model that would give it what it declares, or the layer that is the cause, where there is one.

    ``giver``: what returned the tensor, where no edge leads from it.
    """
    sizes = evidence.origins.of(edges[0]) if edges else evidence.origins.given_by(giver, shape) if giver is not None else ()
    sizes = sizes if not built and len(wanted) == len(shape) else ()
    apart = [(size, want) for size, want in zip(sizes[1:], wanted[1:], strict=False) if want is not None and value(size) not in (None, want)]
    source = next((found for size, want in apart if (found := instead(size, want)) is not None), None)
    cause = next((one for size, want in apart if (one := cause_of(size, want)) is not None), None) if source is None else None
    return InnerDoor(Who.of(node), wanted, shape, givers(evidence.flow, edges), source, built=built, cause=cause)
