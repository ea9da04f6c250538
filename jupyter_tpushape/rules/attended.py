"""Masks that are true where they should be false."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Location, Node, Who
from ..trace.axes import recurs
from .compared import as_it_came
from .facts.masks import MaskInverted
from .facts.mixing import HeadsAttended
from .mixing import INTERLEAVED
from .registry import check, rule
from .words import ATTENTIONS

_PADDED = """
class Read(L.Layer):
    def __init__(self):
        super().__init__(); self.rows = L.Embedding(9, 4); self.attend = L.MultiHeadAttention(1, 4)
    def call(self, ids):
        x = self.rows(ids)
        return self.attend(x, x, attention_mask=tf.%s(ids, 0)[:, None, :])
def build():
    i = keras.Input((6,), dtype="int32"); return keras.Model(i, Read()(i))
def data():
    return np.arange(24).reshape(4, 6).astype("int32") %% 9, None
"""
INVERTED = rule(
    "mask-inverted", "A mask is true where steps are hidden", severity="silent",
    source="keras.layers.MultiHeadAttention: 1 indicates attention and 0 indicates no attention; masks of RNN layers: True is used",
    fails=_PADDED % "equal", passes=_PADDED % "not_equal",
    doc="""Reported for attention layers and recurrent layers of Keras. There are two cases. The mask compares the ids that an `Embedding` looks up with
one number and is true where they are equal. Or it is a square mask of a sequence for itself that is true only for later steps.""",
)  # fmt: skip
# What leaves a mask the mask that it is; of several that are joined, each is one.
_PASSES = frozenset({
    "ExpandDims", "StridedSlice", "Cast", "Reshape", "Tile", "BroadcastTo", "Identity", "Transpose", "LogicalAnd", "Mul", "Minimum",
})  # fmt: skip
_TURNS = frozenset({"LogicalNot", "Sub"})


@check(order=42)
def mask_inverted(evidence: Evidence) -> Iterator[Finding]:
    """Layers that read a mask of the padding, or of what follows."""
    flow = evidence.flow
    told: set[Location | str | None] = set()
    for node in flow.nodes if not evidence.where else ():
        if node.kind != "layer" or not (node.op in ATTENTIONS or recurs(node)):
            continue
        edges = flow.into(node.id)
        shows = node.config.get("shows")
        sequences = {edge.source for edge in edges if "mask" not in edge.label}
        if shows and len(sequences) == 1 and node.called not in told:
            told.add(node.called)
            fact = MaskInverted(Who.of(node), itself=shows != "after")
            yield Finding.of(INVERTED.id, "silent", fact, (node.id,), location=node.called)
        for edge in edges:
            mask = _of_padding(evidence, edge) if edge.label in ("attention_mask", "mask") else None
            if mask is not None and mask.id not in told:
                told.add(mask.id)
                yield Finding.of(
                    INVERTED.id, "silent", MaskInverted(Who.of(node), Who.of(mask)), (node.id, mask.id), (edge.id,), mask.called
                )


def _of_padding(evidence: Evidence, edge: Edge) -> Node | None:
    """The comparison upstream that makes a mask true where ids equal one number."""
    pending, seen = [(edge, False)], set()
    while pending:
        edge, turned = pending.pop()
        node = evidence.flow.node(edge.source)
        if (node.id, turned) in seen or node.kind != "op":
            continue
        seen.add((node.id, turned))
        given = evidence.flow.into(node.id)
        if node.op == ("NotEqual" if turned else "Equal") and len(given) == 1 and _looked_up(evidence, given[0]):
            return node
        if node.op in _TURNS and len(given) == 1:
            pending.append((given[0], not turned))
        elif node.op in _PASSES and (len(given) == 1 or not turned):
            pending += [(one, turned) for one in given]
    return None


def _looked_up(evidence: Evidence, edge: Edge) -> bool:
    """Whether an embedding looks up these ids."""
    ids = as_it_came(evidence, edge).source
    tables = [node for node in evidence.flow.nodes if node.op == "Embedding"]
    return any(as_it_came(evidence, one).source == ids for node in tables for one in evidence.flow.into(node.id) if one.label != "mask")


@check(order=43)
def heads_attended(evidence: Evidence) -> Iterator[Finding]:
    """Products of queries and keys that a reshape splits into heads, and that no transpose follows."""
    told = set()
    for node in evidence.flow.nodes if not evidence.where else ():
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
