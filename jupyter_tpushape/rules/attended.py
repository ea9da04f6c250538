"""Attention that compares heads instead of steps, because nothing transposes them after a split."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .facts.mixing import HeadsAttended
from .grids import TURNS
from .mixing import INTERLEAVED
from .registry import check


@check(order=43)
def heads_attended(evidence: Evidence) -> Iterator[Finding]:
    """Products of queries and keys that a reshape splits into heads, and that no transpose follows."""
    told = set()
    for node in evidence.flow.nodes if not evidence.where else ():
        pair = evidence.flow.into(node.id)[:3] if node.op == "DotProductAttention" else []
        if len(pair) == 3 and node.called not in told and all(_heads_first(evidence, edge) for edge in pair):
            told.add(node.called)
            fact = HeadsAttended(Who.of(node), pair[0].spec.shape or (), fused=True)
            yield Finding.of(INTERLEAVED.id, "silent", fact, (node.id,), (pair[0].id,), node.called)
        scores = next(iter(evidence.flow.into(node.id)), None) if node.op.lower() == "softmax" and node.status == "ok" else None
        product = alike(evidence, scores) if scores is not None else node
        pair = evidence.flow.into(product.id)
        if len(pair) != 2 or not all(split_heads(evidence, edge) for edge in pair):
            continue
        shape = pair[0].spec.shape or ()
        if scores is not None and scores.spec.shape == (*shape[:3], shape[2]) and product.called not in told:
            told.add(product.called)
            yield Finding.of(
                INTERLEAVED.id, "silent", HeadsAttended(Who.of(product), shape), (product.id, node.id), (scores.id,), product.called
            )


def _heads_first(evidence: Evidence, edge: Edge) -> bool:
    """Whether a transpose moved the heads, as a reshape split them from the features, before the steps."""
    turned, shape = alike(evidence, edge), edge.spec.shape or ()
    splits = [one.source for one in evidence.flow.into(turned.id) if turned.op.lower() in TURNS and len(shape) == 4]
    given = [one.spec.shape for name in splits if evidence.flow.node(name).op.lower() == "reshape" for one in evidence.flow.into(name)]
    return any(whole == (shape[0], shape[2], (shape[1] or 0) * (shape[3] or 0)) for whole in given)


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
    return maker if shape[1] != shape[2] and evidence.flow.node(given.source).weights else None
