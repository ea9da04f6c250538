"""Tensors of the data that are not dense, and a layer that cannot read them."""

from __future__ import annotations

import re

from ..examine.evidence import Evidence
from ..flow import Fact, Node, Who
from .facts.layers import NotDense

_SAID = re.compile(r"ragged|sparse|composite ?tensor", re.IGNORECASE)


def not_dense(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A ragged or sparse tensor of the data, where a layer raises an error about it."""
    if node.failure is None or node.kind not in ("layer", "op") or not _SAID.search(node.failure.message):
        return None
    leaves = evidence.sample.leaves("x") if hasattr(evidence.sample, "leaves") else []
    return next((("layer-raises", NotDense(Who.of(node), path, leaf.kind)) for path, leaf in leaves if leaf.kind != "dense"), None)
