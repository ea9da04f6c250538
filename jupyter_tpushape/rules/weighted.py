"""Attention whose weights sum to 1 along another axis than the one that the product with the values sums over."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .balanced import softmax_axis
from .examples import sequential
from .facts.other_axes import WeightsAcross
from .mixing import carried, of_a_loss
from .registry import check, rule

_OWN = """
class Attend(L.Layer):
    def __init__(self):
        super().__init__(); self.query, self.key = L.Dense(6), L.Dense(6)
    def call(self, x):
        scores = keras.ops.einsum("bqd,bkd->bqk", self.query(x), self.key(x))
        return keras.ops.einsum("bqk,bkd->bqd", keras.ops.softmax(scores, axis={}), x)
"""
ACROSS = rule(
    "softmax-axis", "The weights of an attention sum to 1 along the wrong axis", severity="silent", backend="jax", frameworks=("keras",),
    source="the axes that the traced products sum over",
    fails=sequential("Attend(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_OWN.format(1)),
    passes=sequential("Attend(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_OWN.format(-1)),
    doc="""Reported if the scores are a product of two tensors, queries and keys, and nothing but dropout is between the softmax and the product with the values.
The softmax is then along the queries, or along the heads.
Weights that are scaled again, as in slot attention, are not reported, nor are assignments that a layer computes, as in capsules, pooling by clusters or a mixture of experts.""",
)  # fmt: skip

_PRODUCTS = ("MatMul", "BatchMatMul", "Einsum", "Dot", "DotGeneral")
# What a score goes through between its product and the softmax, and a weight behind it; both keep the order of the axes.
_SCALES = ("Mul", "RealDiv", "AddV2", "Add", "Sub", "Where", "Select", "SelectV2", "Cast")
_KEEPS = ("Dropout", "Cast")


@check(order=43, backend="jax")
def weights_across(evidence: Evidence) -> Iterator[Finding]:
    """Softmaxes of scores along the queries or the heads, before a product that sums over the keys."""
    for node in evidence.flow.nodes if not evidence.where else ():
        if node.op != "Softmax" or node.status != "ok" or of_a_loss(evidence, node):
            continue
        for edge in evidence.flow.into(node.id)[:1]:
            rank = len(edge.spec.shape or ())
            axis = node.config.get("axis", -1) if node.kind == "layer" else softmax_axis(evidence, node, edge)
            if rank < 3 or not isinstance(axis, int) or not _scores(evidence, edge):
                continue
            product, over = _summed(evidence, node)
            if product is not None and over >= rank - 2 and axis % rank != over and axis % rank not in (carried(evidence, edge) or {}):
                fact = WeightsAcross(Who.of(node), Who.of(product), edge.spec.shape or (), axis % rank, over)
                yield Finding.of(ACROSS.id, "silent", fact, (node.id, product.id), (edge.id,), node.called or node.location)
                break


def _contracted(evidence: Evidence, node: Node, edge: Edge) -> list[int]:
    """The axes of an operand that a product sums over."""
    if node.kind == "layer":  # Dot, which is told along which axes
        axes, rank = node.config.get("axes"), len(edge.spec.shape or ())
        given = [one.id for one in evidence.flow.into(node.id)]
        told = [axes, axes] if isinstance(axes, int) else [*axes] if isinstance(axes, (list, tuple)) else []
        return [told[given.index(edge.id)] % rank] if len(told) == len(given) == 2 and rank and isinstance(told[0], int) else []
    found = evidence.facts.get("along") or ()
    return [axis for name, given, axis, ordered in found if (name, given, ordered) == (node.id, edge.id, False)]


def _summed(evidence: Evidence, softmax: Node) -> tuple[Node | None, int]:
    """The product that reads the weights, and the one axis of them that it sums over."""
    node = softmax
    for _ in range(3):
        readers = evidence.flow.out_of(node.id)
        reader = evidence.flow.node(readers[0].target) if len(readers) == 1 else None
        if reader is None:
            break
        if reader.op in _PRODUCTS and (axes := _contracted(evidence, reader, readers[0])):
            return (reader, axes[0]) if len(axes) == 1 else (None, -1)
        if reader.op not in _KEEPS:
            break
        node = reader
    return None, -1


def _scores(evidence: Evidence, edge: Edge) -> bool:
    """Whether a tensor is a product of queries and keys, scaled and masked: of two tensors with as many axes, each with one that is summed over."""
    shape = edge.spec.shape
    for _ in range(6):
        node = evidence.flow.node(edge.source)
        given = evidence.flow.into(node.id)
        if node.op in _PRODUCTS and len(given) == 2:
            alike = all(len(one.spec.shape or ()) == len(shape or ()) for one in given)
            return alike and all(len(_contracted(evidence, node, one)) == 1 for one in given)
        alike_edges = [one for one in given if one.spec.shape == shape and one.spec.dtype != "bool"]
        if node.op not in _SCALES or len(alike_edges) != 1:
            return False
        edge = alike_edges[0]
    return False
