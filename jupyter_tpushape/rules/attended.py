"""Attention that compares heads instead of steps, because nothing transposes them after a split."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .facts.mixing import HeadsAttended
from .grids import TURNS
from .mixing import INTERLEAVED
from .registry import check

# What takes (batch, steps, heads, features).
FUSED = "DotProductAttention"


@check(order=43)
def heads_attended(evidence: Evidence) -> Iterator[Finding]:
    """Products of queries and keys that a reshape splits into heads, and that no transpose follows."""
    told = set()
    for node in evidence.flow.nodes if not evidence.where else ():
        fused = node.op == FUSED
        scores = next(iter(evidence.flow.into(node.id)), None) if (node.op.lower() == "softmax" or fused) and node.status == "ok" else None
        product = alike(evidence, scores) if scores is not None and not fused else node
        pair = evidence.flow.into(product.id)[: 3 if fused else None]
        if len(pair) not in ((1, 2, 3) if fused else (2,)) or not all(
            heads_first(evidence, edge) if fused else split_heads(evidence, edge) for edge in pair
        ):
            continue
        shape = pair[0].spec.shape or ()
        if scores is not None and (fused or scores.spec.shape == (*shape[:3], shape[2])) and product.called not in told:
            told.add(product.called)
            yield Finding.of(
                INTERLEAVED.id, "silent", HeadsAttended(Who.of(product), shape), (product.id, node.id)[fused:], (scores.id,), product.called
            )


def heads_first(evidence: Evidence, edge: Edge) -> bool:
    """Whether a transpose moved the heads of ``split_heads`` before the steps."""
    turned, shape = alike(evidence, edge), edge.spec.shape or ()
    split = evidence.flow.into(turned.id)[:1] if turned.op.lower() in TURNS and len(shape) == 4 else []
    return any(one.spec.shape == (shape[0], shape[2], shape[1], shape[3]) and split_heads(evidence, one) for one in split)


def alike(evidence: Evidence, edge: Edge) -> Node:
    """What made a tensor, but for scales and masks that keep its shape."""
    node = evidence.flow.node(edge.source)
    for _ in range(6):
        before = [one for one in evidence.flow.into(node.id) if one.spec.shape == edge.spec.shape]
        if node.op.lower() in ("reshape", "transpose") or not before or node.weights:
            break
        node = evidence.flow.node(before[0].source)
    return node


def split_heads(evidence: Evidence, edge: Edge) -> Node | None:
    """The reshape that split the features of each step, as a layer made them, into heads."""
    maker, shape = alike(evidence, edge), edge.spec.shape or ()
    turned = evidence.flow.into(maker.id)[:1] if maker.op.lower() == "transpose" else []
    if turned and turned[0].spec.shape == (*shape[:2], *shape[:1:-1]):  # of each matrix, for the product
        return split_heads(evidence, turned[0])
    given = next(iter(evidence.flow.into(maker.id)), None)
    whole = given.spec.shape or () if given is not None and maker.op.lower() == "reshape" else ()
    inner = [n for n in shape[1:] if n is not None and n > 1]
    if given is None or len(whole) != 3 or len(inner) != 3 or whole[1] != shape[1]:
        return None
    layer = evidence.flow.node(given.source)
    return maker if shape[1] != shape[2] and (layer.weights or layer.op == "Split") else None
