"""Masks that Keras passes with a tensor, and that do not fit it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Fact, Finding, Node, Shape, Who
from ..flow.observed import around
from ..trace.axes import recurs
from .facts.masks import MaskApart
from .registry import check, rule
from .upstream import ancestors
from .words import ATTENTIONS

_HALVED = """
class Half(L.Layer):
    supports_masking = True
    def call(self, x, mask=None):
        return x[:, ::2]
    def compute_mask(self, x, mask=None):
        return %s
def build():
    i = keras.Input((6,), dtype="int32"); x = Half()(L.Embedding(9, 4, mask_zero=True)(i))
    return keras.Model(i, L.GRU(3)(x))
def data():
    return np.ones((4, 6), "int32"), None
"""
MASKS = rule(
    "mask-shapes", "A mask does not fit the tensor that carries it", severity="error", source="the mask that Keras passes with the tensor, and the error of the layer",
    fails=_HALVED % "mask", passes=_HALVED % "None",
    doc="""A mask has one value for each step. A custom layer with `supports_masking` passes the mask of its input on unless `compute_mask` returns another
one, or None. If the layer drops or shortens the axis of the steps, the mask no longer fits.""",
)  # fmt: skip


def mask_apart(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A mask whose axes are not the first ones of the tensor that carries it, where the layer that receives both raises an error."""
    fact = _apart(evidence, node) if node.kind == "layer" else None
    return None if fact is None else (MASKS.id, fact)


@check(order=42)
def read_apart(evidence: Evidence) -> Iterator[Finding]:
    """Recurrent layers that read a mask of another number of steps; nothing raises, because each step takes the next value of the mask."""
    for node in evidence.flow.nodes if evidence.failure is None else ():
        fact = _apart(evidence, node) if node.kind == "layer" and recurs(node) else None
        if fact is not None and None not in (fact.shape[1], fact.mask[1]):
            yield Finding.of(MASKS.id, "silent", fact, (node.id,), location=node.location or node.called)


def _apart(evidence: Evidence, node: Node) -> MaskApart | None:
    edges = evidence.flow.into(node.id)
    for edge, other in itertools.pairwise(edges):
        shape, mask = edge.spec.shape, other.spec.shape
        if other.label != "mask" or edge.label == "mask" or not shape or not mask or len(mask) < 2:
            continue
        steps = recurs(node) or node.op in ATTENTIONS
        if _fits(mask, shape) and (len(mask) == 2 or not steps):
            continue
        passes = next((one for one in reversed(evidence.flow.nodes) if one.family == "own" and _passes(evidence, one, mask)), None)
        above = [evidence.flow.node(edge.source), *ancestors(evidence, edge.source)]
        within = evidence.flow.nodes if passes is not None else above
        makers = tuple(dict.fromkeys(one.name for one in within if one.op == "Masking" or one.config.get("mask_zero")))
        return MaskApart(Who.of(node), shape, mask, makers, Who.of(passes) if passes is not None else None, steps)
    return None


def _fits(mask: Shape, shape: Shape) -> bool:
    return len(mask) < len(shape) and all(None in (a, b) or a == b for a, b in zip(mask, shape, strict=False))


def _passes(evidence: Evidence, node: Node, mask: Shape) -> bool:
    """Whether what goes into a layer has the steps of a mask, and what comes out has other ones."""
    before, after = around(evidence.flow, node)
    return any(len(shape) > 2 and shape[1] == mask[-1] for shape in before) and not any(shape[1:2] == mask[-1:] for shape in after)
