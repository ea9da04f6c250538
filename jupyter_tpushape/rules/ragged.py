"""Tensors of the data that are not dense, and a layer that cannot read them."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..flow import Fact, Node, Who
from .facts.layers import NotDense


def not_dense(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A ragged or sparse tensor that comes from the data, where the layer that receives it raises an error."""
    received = {edge.spec.kind for edge in evidence.failed_inputs()} - {"dense"}
    if node.kind != "layer" or not received:
        return None
    leaves = evidence.sample.leaves("x") if hasattr(evidence.sample, "leaves") else []
    return next((("layer-raises", NotDense(Who.of(node), path, leaf.kind)) for path, leaf in leaves if leaf.kind in received), None)
