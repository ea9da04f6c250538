"""Masks: true where they should be false, passed with a tensor that they do not fit, lost on the way, or without an effect on a softmax."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Edge, Fact, Finding, Location, Node, Shape, Who
from ..flow.observed import around
from ..trace.axes import recurs
from .compared import as_it_came, fed_whole, seen_at, stats_at
from .contracted import softmax_axis
from .facts.masks import MaskAdded, MaskApart, MaskInverted, MaskLost, MaskUnseen
from .mixing import of_a_loss
from .registry import check, rule
from .upstream import ancestors
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
one number and is true where they are equal. Or it is a square mask of a sequence for itself that is true only for later steps, also one added to scores.
On JAX, also for a mask that a custom layer adds to its scores or selects by, if it hides the steps whose ids differ from that number.""",
)  # fmt: skip
# What leaves a mask the mask that it is; of several that are joined, each is one.
_JOINS = frozenset({"LogicalAnd", "Mul", "Minimum"})
_PASSES = _JOINS | {"ExpandDims", "StridedSlice", "Cast", "Reshape", "Tile", "BroadcastTo", "Identity", "Transpose", "Squeeze"}
_TURNS = frozenset({"LogicalNot", "Sub"})
_KINDS = 4


@check(order=42)
def mask_inverted(evidence: Evidence) -> Iterator[Finding]:
    """Layers that read a mask of the padding, or of what follows."""
    flow = evidence.flow
    told: set[Location | str | None] = set()
    for node in flow.nodes if not evidence.where else ():
        if node.kind == "op" and node.config.get("shows") == "after" and not of_a_loss(evidence, node):
            near = [flow.node(edge.target) for edge in flow.out_of(node.id)]
            near += [flow.node(edge.target) for one in near for edge in flow.out_of(one.id)]
            for softmax in [one for one in near if one.op == "Softmax"][:1]:
                fact = MaskInverted(Who.of(softmax), added=True)
                yield Finding.of(INVERTED.id, "silent", fact, (softmax.id, node.id), location=node.called)
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
                yield Finding.of(INVERTED.id, "silent", MaskInverted(Who.of(node), Who.of(mask)), (node.id, mask.id), (edge.id,), mask.called)


@check(order=42, backend="jax")
def padding_read(evidence: Evidence) -> Iterator[Finding]:
    """Scores of the program's own that are hidden from a softmax where an id is not the one of the padding."""
    for softmax, comparison, equal in evidence.facts.get("hidden") or () if not evidence.where else ():
        node, mask = evidence.flow.node(softmax), evidence.flow.node(comparison)
        given = evidence.flow.into(mask.id)
        seen = stats_at(evidence, fed_whole(evidence, given[0])) if len(given) == 1 else None
        # Of a few kinds, such as the two sentences of a pair, one may be meant.
        few = seen is not None and seen.maximum is not None and 0 < seen.maximum < _KINDS
        if equal and len(given) == 1 and not few and _looked_up(evidence, given[0]):
            fact = MaskInverted(Who.of(node), Who.of(mask), added=True)
            yield Finding.of(INVERTED.id, "silent", fact, (node.id, mask.id), (), mask.called)


def _of_padding(evidence: Evidence, edge: Edge) -> Node | None:
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
    ids = as_it_came(evidence, edge).source
    tables = [node for node in evidence.flow.nodes if node.op == "Embedding"]
    return any(as_it_came(evidence, one).source == ids for node in tables for one in evidence.flow.into(node.id) if one.label != "mask")


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

_ADDED = """
class Add(L.Layer):
    def __init__(self):
        super().__init__()
        self.supports_masking = %s
    def call(self, x):
        return x + 1.0
def build():
    i = keras.Input((6,), dtype="int32"); x = Add()(L.Embedding(9, 4, mask_zero=True)(i))
    m = keras.Model(i, L.Dense(1)(L.GRU(3)(x))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "int32"), np.zeros((8, 1), "float32")
"""
LOST = rule(
    "mask-lost", "A custom layer does not pass a mask on", severity="note", backend="jax", frameworks=("keras",),
    source="keras/src/layers/layer.py: supports_masking, and the masks of the traced program", fails=_ADDED % "False", passes=_ADDED % "True",
    doc="""Reported if the output of the layer has the steps of its input, and a recurrent layer or an attention after it reads no mask. Keras warns of this, too.""",
)  # fmt: skip


@check(order=42, backend="jax")
def mask_lost(evidence: Evidence) -> Iterator[Finding]:
    """Layers of the program's own that drop the mask which a later layer would read."""
    flow = evidence.flow
    for name in evidence.facts.get("unmasked") or () if evidence.failure is None else ():
        node = flow.node(name)
        before, after = around(flow, node)
        steps = {shape[:2] for shape in before if len(shape) > 2}
        reader = next(_readers(evidence, node), None) if any(len(shape) > 2 and shape[:2] in steps for shape in after) else None
        if node.family == "own" and reader is not None:
            makers = tuple(dict.fromkeys(one.name for one in flow.nodes if one.op == "Masking" or one.config.get("mask_zero")))
            yield Finding.of(LOST.id, "note", MaskLost(Who.of(node), Who.of(reader), makers), (node.id, reader.id), location=node.called or node.location)
            return


def _readers(evidence: Evidence, node: Node) -> Iterator[Node]:
    flow, inside = evidence.flow, {node.id}
    for one in flow.nodes:
        if one.parent in inside:
            inside.add(one.id)
    reached = list(inside)
    for name in reached:
        reached += [edge.target for edge in flow.out_of(name) if edge.target not in reached]
    for one in flow.nodes:
        reads = one.kind == "layer" and one.id not in inside and (recurs(one) or one.op in ATTENTIONS)
        if reads and one.id in reached and not any("mask" in edge.label for edge in flow.into(one.id)):
            yield one


def mask_apart(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A mask whose axes are not the first ones of the tensor that carries it."""
    fact = _apart(evidence, node) if node.kind == "layer" else None
    return None if fact is None else (MASKS.id, fact)


@check(order=42)
def read_apart(evidence: Evidence) -> Iterator[Finding]:
    """Recurrent layers that read a mask of another number of steps."""
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
    before, after = around(evidence.flow, node)
    return any(len(shape) > 2 and shape[1] == mask[-1] for shape in before) and not any(shape[1:2] == mask[-1:] for shape in after)


UNSEEN = rule(
    "mask-unseen", "A mask hides no step from a softmax", severity="silent", backend="tensorflow",
    source="the formula of softmax, and the numbers of the traced program",
    fails=(_PADDED % "not_equal").replace(":, None, :", ":, :, None"), passes=_PADDED % "not_equal",
    doc="""Reported for a mask made of a comparison or of data of 0 and 1, if it has size 1 along the axis of the softmax, or changes the scores by as little as 1e-9.""",
)  # fmt: skip

_TINY, _LARGE, _ABSORBS = 1e-5, 1e3, 1e6
_ARITHMETIC = {"Add": operator.add, "AddV2": operator.add, "Sub": operator.sub, "Mul": operator.mul, "RealDiv": operator.truediv}


class _Mask(NamedTuple):
    """What a mask is where it is false and where it is true, and the comparison or the data that it comes from."""

    false: float
    true: float
    start: Node


# What scores meet: an operation, an edge, its mask, and whether that is the same along the axis of the softmax.
_Met = tuple[Node, Edge, _Mask | None, bool]


@check(order=42, backend="tensorflow")
def masks_of_scores(evidence: Evidence) -> Iterator[Finding]:
    """Softmaxes over scores that masks are added to, or pick."""
    passed = any(one.config.get("mask_zero") or one.op == "Masking" for one in evidence.flow.nodes)
    for node in evidence.flow.nodes if not evidence.where else ():
        if node.op not in (*ATTENTIONS, "Softmax") or node.status != "ok" or of_a_loss(evidence, node):
            continue
        given = [edge for edge in evidence.flow.into(node.id) if "mask" in edge.label]
        met = list(_met(evidence, node)) if node.op == "Softmax" and not given else []
        if len(given) == 1 and not passed and not node.config.get("causal") and node.config.get("axis", -1) == -1:
            shape = given[0].spec.shape or ()
            same = len(shape) > 2 and shape[-1] == 1 and shape[-2] not in (1, None) and shape[-2] in _keys(evidence, node)
            same = same and _of_itself(evidence, [edge for edge in evidence.flow.into(node.id) if "mask" not in edge.label])
            met = [(node, given[0], _mask(evidence, given[0]), same)]
        if met and all(mask and same for *_, mask, same in met):
            place, edge, *_ = met[0]
            fact = MaskUnseen(Who.of(node), edge.spec.shape or ())
            yield Finding.of(UNSEEN.id, "silent", fact, (node.id, place.id), (edge.id,), place.called or node.called)
        for one in met if not given else ():
            yield from _numbers(evidence, node, one)


def _keys(evidence: Evidence, node: Node) -> Shape:
    """How many keys each query has. A mask of as many queries, and not of as many keys, is one of the queries."""
    shapes = [edge.spec.shape or () for edge in evidence.flow.into(node.id) if "mask" not in edge.label]
    return shapes[-1][-1:] if node.op == "Softmax" and shapes else tuple(shape[1] for shape in shapes[1:2] or shapes if len(shape) > 2)


def _of_itself(evidence: Evidence, edges: list[Edge]) -> bool:
    """Whether queries and keys are made of one tensor. Of two sequences, a mask may be meant for the queries."""
    ways = []
    for edge in edges[:2]:
        above: Edge | None = edge
        ways.append(set[str]())
        while above is not None and above.source not in ways[-1] and evidence.flow.node(above.source).kind not in ("stage", "split"):
            ways[-1].add(above.source)
            given = [one for one in evidence.flow.into(above.source) if "mask" not in one.label]
            above = given[0] if len(given) == 1 else None
    return len(ways) < 2 or bool(ways[0] & ways[1])


def _met(evidence: Evidence, softmax: Node) -> Iterator[_Met]:
    flow, numbers = evidence.flow, evidence.facts.get("single") or {}
    edge = next(iter(flow.into(softmax.id)), None)
    axis = softmax_axis(evidence, softmax, edge) if edge is not None else -1
    for _ in range(12):
        if edge is None or not edge.spec.shape or axis is None:
            return
        node, shape = flow.node(edge.source), edge.spec.shape
        given, order = flow.into(node.id), node.config.get("operand1")
        if node.op == "Transpose" and isinstance(order, list) and len(order) == len(shape):
            edge, axis = given[0], order[axis]
            continue
        masks = [(place, one, mask) for place, one in enumerate(given) if (mask := _mask(evidence, one)) is not None]
        scores = [one for one in given if one.spec.shape == shape and one.spec.dtype != "bool" and _mask(evidence, one) is None]
        if node.kind != "op" or node.op not in (*_ARITHMETIC, "Cast", "SelectV2") or len(scores) != 1:
            product = node.op.endswith(("MatMul", "MatMulV2", "Einsum", "Dot")) and len(given) == 2
            if not product or not _of_itself(evidence, given):
                yield node, edge, None, False
            return
        known = [(place, numbers[node.id, place]) for place in range(3) if (node.id, place) in numbers]
        if masks and node.op not in ("Mul", "RealDiv"):
            place, one, (false, true, start) = masks[0]
            if node.op == "SelectV2" and known:
                false, true = (known[0][1] if bool(value) is (known[0][0] == 1) else 0.0 for value in (false, true))
            elif node.op == "Sub" and place:
                false, true = -false, -true
            own = (*[1] * (len(shape) - len(one.spec.shape or ())), *(one.spec.shape or ()))
            beside = any(own[at] == shape[at] == shape[axis] not in (1, None) for at in range(1, len(shape)) if at != axis)
            same = own[axis] == 1 != shape[axis] and beside and abs(true - false) >= _LARGE
            yield node, one, _Mask(false, true, start) if node.op != "SelectV2" or known else None, same
        elif len(given) > 1 or (not known and node.op != "Cast"):
            yield node, edge, None, False  # such as a triangle
        edge = scores[0]


def _mask(evidence: Evidence, edge: Edge, depth: int = 12) -> _Mask | None:
    node, numbers = evidence.flow.node(edge.source), evidence.facts.get("single") or {}
    given = evidence.flow.into(node.id)
    if node.kind in ("input", "stage", "split"):
        seen = seen_at(evidence, evidence.paths.get(edge.id) or evidence.carried(edge))
        return _Mask(0, 1, node) if seen and np.isin(seen[0], (0, 1)).all() and 0 < seen[0].mean() < 1 else None
    if node.op.startswith(("Equal", "NotEqual", "Greater", "Less")) and edge.spec.dtype == "bool":
        return _Mask(0, 1, node)
    inner = _mask(evidence, given[0], depth - 1) if len(given) == 1 and node.kind == "op" and depth else None
    if inner is None or node.op in _PASSES - _JOINS:
        return inner
    first, value = (node.id, 0) in numbers, numbers.get((node.id, 0), numbers.get((node.id, 1)))
    compute = _ARITHMETIC.get(node.op)
    if node.op == "LogicalNot":
        first, value, compute = True, 1.0, operator.sub
    if value is None or compute is None or (node.op == "RealDiv" and (first or not value)):
        return None
    false, true = (compute(value, one) if first else compute(one, value) for one in inner[:2])
    return _Mask(false, true, inner.start)


def _numbers(evidence: Evidence, softmax: Node, met: _Met) -> Iterator[Finding]:
    place, edge, mask, same = met
    if mask is None:
        return
    false, true, start = mask
    padding = _padding(evidence, start)
    hidden, kept = (true + 0.0, false + 0.0) if padding else (false + 0.0, true + 0.0)
    kind: Literal["", "small", "turned", "lost"] = ""
    if 0 < abs(hidden - kept) <= _TINY:
        kind = "small"
    elif padding is not None and not same and hidden - kept >= _LARGE:
        kind = "turned"
    elif padding is not None and place.op != "SelectV2" and kept >= _ABSORBS and hidden < kept:
        kind = "lost"
    if kind:
        fact = MaskAdded(Who.of(softmax), kind, hidden, kept, padding is not None, place.op == "SelectV2")
        rule_id = UNSEEN.id if kind == "small" else INVERTED.id
        yield Finding.of(rule_id, "silent", fact, (softmax.id, place.id), (edge.id,), place.called)


def _padding(evidence: Evidence, start: Node) -> bool | None:
    given = evidence.flow.into(start.id)
    if len(given) != 1 or start.op not in ("Equal", "NotEqual", "Greater") or start.config.get("operand1") != 0:
        return None
    return start.op == "Equal" if _looked_up(evidence, given[0]) else None
