"""What a softmax is said to give and does not: weights along another axis than is meant, several classes at once, and probabilities for a threshold of logits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, KeyPath, Node, Shape, Who
from .compared import ends, kind_of, seen_at
from .contracted import meant, softmax_axis, summed_with
from .examples import sequential
from .facts.mixing import AttentionOverBatch, SoftmaxOverBatch
from .facts.other_axes import PositionsAveraged, WeightsAcross
from .facts.scores import LogitsCut, PickedElsewhere, SeveralMarked, SharesOfSamples
from .mixing import SOURCE, above, carried, of_a_loss
from .registry import check, rule
from .upstream import ancestors

_PICKED = """
import jax, jax.numpy as jnp
def loss(t, p):
    return -jnp.take_along_axis(jax.nn.log_softmax(p, axis=%s), t.astype("int32")[..., None], axis=-1)[..., 0]
def build():
    m = keras.Sequential([keras.Input((3, 4)), L.Dense(5)]); m.compile("sgd", loss); return m
def data():
    return np.zeros((8, 3, 4), "float32"), np.ones((8, 3), "int32")
"""
OTHER_AXIS = rule(
    "softmax-other-axis", "A softmax runs over another axis than the classes", severity="silent", backend="jax", frameworks=("keras",),
    source="the traced program: the axis of a softmax, and the axis along which its result is indexed",
    fails=_PICKED % "1", passes=_PICKED % "-1",
    doc="""Reported if a loss takes one value of a softmax along an axis, and the softmax ran over another one. So is a loss that adds up products along the
classes: those of labels and a softmax over the samples, or of two softmaxes over another axis.""",
)  # fmt: skip
_EACH = frozenset({"Negative", "Neg", "Log", "Cast", "Exp", "AddV2", "Clip", "Maximum"})


@check(order=43, backend="jax")
def picked_elsewhere(evidence: Evidence) -> Iterator[Finding]:
    """Lookups in a loss along the classes of a softmax over something else."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id) if node.op in ("TakeAlongAxis", "GatherV2") and of_a_loss(evidence, node) else []
        along = _looked_along(edges, evidence, node)
        softmax = _softmax(evidence, edges[0]) if along is not None else None
        if softmax is None or along is None:
            continue
        maker, given = softmax
        shape = given.spec.shape or ()
        axis = (softmax_axis(evidence, maker, given) or 0) % len(shape)
        if axis != along:
            fact = PickedElsewhere(Who.of(maker), shape, axis, along, Who.of(node))
            yield Finding.of(OTHER_AXIS.id, "silent", fact, (maker.id, node.id), (given.id,), maker.called or node.called)


@check(order=43, backend="jax")
def marked_elsewhere(evidence: Evidence) -> Iterator[Finding]:
    """Products in a loss of labels and a softmax over the samples, which are then added up along the classes."""
    flow = evidence.flow
    for node in flow.nodes if not evidence.where else ():
        edges = flow.into(node.id) if node.op == "Mul" and of_a_loss(evidence, node) else []
        for edge, other in (edges, edges[::-1]) if len(edges) == 2 else ():
            softmax = _softmax(evidence, edge)
            shape = edge.spec.shape or ()
            if softmax is None or len(shape) < 2 or carried(evidence, softmax[1]) != {0: 1.0}:
                continue
            maker, given = softmax
            totals = [flow.node(one.target) for one in flow.out_of(node.id)]
            held = totals[0].config.get("operand1") if len(totals) == 1 and totals[0].op == "Sum" else None
            axis = (softmax_axis(evidence, maker, given) or 0) % len(shape)
            # A cross-entropy of two distributions, along one axis of each sample for another.
            crossed = axis not in (0, len(shape) - 1) and _logs(evidence, edge, other)
            if held in (-1, len(shape) - 1, [-1], [len(shape) - 1]) and (crossed or (axis == 0 and _of_labels(evidence, node, other))):
                fact = PickedElsewhere(Who.of(maker), shape, axis, len(shape) - 1, Who.of(totals[0]))
                yield Finding.of(OTHER_AXIS.id, "silent", fact, (maker.id, totals[0].id), (given.id,), maker.called or node.called)


def _logs(evidence: Evidence, edge: Edge, other: Edge) -> bool:
    """Whether both factors are softmaxes, and one of them is of logarithms."""
    both = [_softmax(evidence, one) for one in (edge, other)]
    logs = [
        evidence.flow.node(one.source).op == "Log" or (pair is not None and pair[0].op == "LogSoftmax") for one, pair in zip((edge, other), both, strict=True)
    ]
    return None not in both and sum(logs) == 1


def _of_labels(evidence: Evidence, node: Node, edge: Edge) -> bool:
    """Whether a tensor in a loss is computed from the labels, and not from the predictions."""
    loss = next((one for one in above(evidence, node) if one.kind in ("loss", "metric")), None)
    labels, predictions = ends(evidence, loss) if loss is not None else (None, None)
    made = {edge.source, *(one.id for one in ancestors(evidence, edge.source))}
    return labels is not None and predictions is not None and labels.source in made and predictions.source not in made


def _looked_along(edges: list[Edge], evidence: Evidence, node: Node) -> int | None:
    """The axis of the values along which one of them is taken: the only one that the result does not have in its size."""
    shapes = [edge.spec.shape or () for edge in edges]
    if len(shapes) != 2 or len(shapes[0]) < 2:
        return None
    values, made = shapes[0], next((edge.spec.shape for edge in evidence.flow.out_of(node.id) if edge.spec.shape), ())
    off = [axis for axis, (a, b) in enumerate(zip(values, made, strict=False)) if a != b]
    if len(made) == len(values) and len(off) == 1 and made[off[0]] == 1:
        return off[0]
    return None


def _softmax(evidence: Evidence, edge: Edge) -> tuple[Node, Edge] | None:
    for _ in range(4):
        node = evidence.flow.node(edge.source)
        before = evidence.flow.into(node.id)
        if node.op in ("Softmax", "LogSoftmax") and node.kind == "op" and before:
            return node, before[0]
        if node.op not in _EACH or len(before) != 1:
            return None
        edge = before[0]
    return None


SOFTMAX = rule(
    "softmax-over-batch", "Softmax over the samples of a batch", severity="silent", source=SOURCE,
    fails=sequential("Gate(), L.Dense(1)", more="class Gate(L.Layer):\n    def call(self, x):\n        return x * tf.nn.softmax(x, axis=0)"),
    passes=sequential("Gate(), L.Dense(1)", more="class Gate(L.Layer):\n    def call(self, x):\n        return x * tf.nn.softmax(x, axis=1)"),
    doc="""Reported inside a model if a softmax sums over the batch axis and no other axis carries the batch. A matrix of every sample against every other
(contrastive learning) has two such axes and is not reported. A softmax in a loss is reported only if a loss of Keras compares its values as probabilities
of classes, along the last axis.""",
)  # fmt: skip


@check(order=43)
def softmax_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Softmaxes inside the model over the batch axis."""
    for node in evidence.flow.nodes:
        if node.kind == "layer" and node.family == "attention" and node.status == "ok":
            yield from _attention(evidence, node)
        if node.op not in ("Softmax", "LogSoftmax") or node.status != "ok" or of_a_loss(evidence, node):
            continue
        for edge in evidence.flow.into(node.id)[:1]:
            grown, shape = carried(evidence, edge), edge.spec.shape
            if not grown or not shape or len(grown) != 1:
                continue
            axis = softmax_axis(evidence, node, edge)
            if not isinstance(axis, int) or axis % len(shape) not in grown or len(shape) < 2:
                continue
            if meant(evidence, node):
                continue
            where = next((item for item in [node, *above(evidence, node)] if item.kind == "layer"), node)
            fact = SoftmaxOverBatch(Who.of(node), Who.of(where) if where is not node else None)
            yield Finding.of(SOFTMAX.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)


# Losses of two distributions, which add up along the last axis.
_DIVERGENCES = ("kldivergence", "kullbackleiblerdivergence", "kld")


@check(order=43)
def shares_of_samples(evidence: Evidence) -> Iterator[Finding]:
    """Losses of Keras that compare probabilities of classes which a softmax made along the samples, as in a distillation."""
    for node in evidence.losses() if not evidence.where else ():
        if kind_of(node) != "categorical" and node.op.lower().replace("_", "") not in _DIVERGENCES:
            continue
        found = [pair for edge in ends(evidence, node) if edge is not None and (pair := _over_samples(evidence, edge)) is not None]
        if found:
            fact = SharesOfSamples(tuple(Who.of(softmax) for softmax, _ in found), found[0][1], node.name)
            softmax = found[0][0]
            yield Finding.of(SOFTMAX.id, "silent", fact, (softmax.id, node.id), (), softmax.called or softmax.location)


def _over_samples(evidence: Evidence, edge: Edge) -> tuple[Node, Shape] | None:
    """The softmax over the samples that gave a loss a row of several values for each of them."""
    shape = edge.spec.shape or ()
    if len(shape) < 2 or shape[-1] in (None, 1) or carried(evidence, edge) != {0: 1.0}:
        return None
    for _ in range(6):
        node = evidence.flow.node(edge.source)
        given = evidence.flow.into(node.id)
        if node.op in ("Softmax", "LogSoftmax") and node.kind == "op" and given:
            axis, rank = softmax_axis(evidence, node, given[0]), len(given[0].spec.shape or ())
            over = isinstance(axis, int) and rank > 0 and axis % rank in (carried(evidence, given[0]) or {})
            return (node, shape) if over else None
        if (node.op not in _EACH and not _order(node)) or len(given) != 1:
            return None
        edge = given[0]
    return None


def _attention(evidence: Evidence, node: Node) -> Iterator[Finding]:
    for edge in evidence.flow.into(node.id):
        shape = edge.spec.shape
        if edge.label in ("", "query", "value", "key") and shape and len(shape) == 2 and carried(evidence, edge) == {0: 1.0}:
            fact = AttentionOverBatch(Who.of(node), shape)
            yield Finding.of(SOFTMAX.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)
            return


_OWN = """
class Attend(L.Layer):
    def __init__(self):
        super().__init__(); self.query, self.key, self.dot, self.sum, self.soft = L.Dense(6), L.Dense(6), L.Dot(2), L.Dot((2, 1)), L.Softmax({})
    def call(self, x):
        return self.sum([self.soft(self.dot([self.query(x), self.key(x)])), x])
"""
ACROSS = rule(
    "softmax-axis", "The weights of an attention sum to 1 along the wrong axis", severity="silent",
    source="the axes that the traced products sum over",
    fails=sequential("Attend(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_OWN.format(1)),
    passes=sequential("Attend(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_OWN.format(-1)),
    doc="""Reported if the scores are a product of two tensors, queries and keys, or a sum for each pair of nodes, and nothing but dropout is between the softmax and the product with the values.
On JAX, also averages of positions, as of a soft argmax.
Not reported: weights that are scaled again, as in slot attention, and assignments that a layer computes, as in capsules or a mixture of experts.""",
)  # fmt: skip

_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum", "Dot", "DotGeneral")
# What a score goes through between its product and the softmax, and a weight behind it; both keep the order of the axes.
_SCALES = ("AddV2", "Add", "Mul", "RealDiv", "Sub", "Where", "Select", "SelectV2", "Cast", "LeakyRelu", "Relu", "Tanh", "Elu")
_KEEPS = ("Dropout", "Cast")


@check(order=43)
def weights_across(evidence: Evidence) -> Iterator[Finding]:
    """Softmaxes of scores along the queries or the heads, before a product that sums over the keys."""
    for node in evidence.flow.nodes if not evidence.where else ():
        if node.op != "Softmax" or node.status != "ok" or of_a_loss(evidence, node):
            continue
        edges = evidence.flow.into(node.id)[:1]
        rank = len(edges[0].spec.shape or ()) if edges else 0
        axis = softmax_axis(evidence, node, edges[0]) if edges else None
        if rank < 3 or not isinstance(axis, int):
            continue
        product, over = _summed(evidence, node, rank)
        axis, maker = axis % rank, evidence.flow.node(edges[0].source)
        if (own := _order(maker)) and maker.called == node.called and own in [_order(evidence.flow.node(one.target)) for one in evidence.flow.out_of(node.id)]:
            # TensorFlow's own softmax works along the last axis, and exchanges that with its own before and after.
            axis, over, edges = own[axis], own[over], evidence.flow.into(maker.id)
        edge = edges[0]
        if (
            product is not None
            and over >= rank - 2
            and axis != over
            and axis not in (carried(evidence, edge) or {})
            and _scores(evidence, edge, product.op == "Mul")
        ):
            fact = WeightsAcross(Who.of(node), Who.of(product), edge.spec.shape or (), axis, over)
            yield Finding.of(ACROSS.id, "silent", fact, (node.id, product.id), (edge.id,), node.called or node.location)


@check(order=43, backend="jax")
def positions_averaged(evidence: Evidence) -> Iterator[Finding]:
    """Averages of positions, as of a soft argmax, with weights that sum to 1 along another axis."""
    flow = evidence.flow
    for node in flow.nodes if not evidence.where else ():
        made = flow.out_of(node.id) if node.op == "Softmax" and node.status == "ok" else []
        given, shape = flow.into(node.id)[:1], made[0].spec.shape or () if made else ()
        readers = [flow.node(edge.target) for edge in made]
        if not given or not readers or not all(one.op == "Mul" and "positions" in one.config for one in readers):
            continue  # weights that something else reads may be scaled later
        axis, over = (softmax_axis(evidence, node, given[0]) or 0) % len(shape), summed_with(evidence, node, shape)
        if axis and axis not in over and {one.config["positions"] for one in readers} <= set(over) and 0 not in over:
            fact = PositionsAveraged(Who.of(node), Who.of(readers[0]), shape, axis, tuple(over))
            yield Finding.of(ACROSS.id, "silent", fact, (node.id, readers[0].id), (given[0].id,), node.called or node.location)


def _contracted(evidence: Evidence, node: Node, edge: Edge) -> list[int]:
    if node.kind == "layer":  # Dot, which is told along which axes
        axes, rank = node.config.get("axes"), len(edge.spec.shape or ())
        given = [one.id for one in evidence.flow.into(node.id)]
        told = [axes, axes] if isinstance(axes, int) else [*axes] if isinstance(axes, (list, tuple)) else []
        return [told[given.index(edge.id)] % rank] if len(told) == len(given) == 2 and rank and isinstance(told[0], int) else []
    found = evidence.facts.get("along") or ()
    return [axis for name, given, axis, ordered in found if (name, given, ordered) == (node.id, edge.id, False)]


def _order(node: Node) -> list[int]:
    order = node.config.get("operand1") if node.op == "Transpose" else None
    return list(order) if isinstance(order, (list, tuple)) else []


def _summed(evidence: Evidence, softmax: Node, rank: int) -> tuple[Node | None, int]:
    node, places = softmax, list(range(rank))
    for _ in range(4):
        readers = evidence.flow.out_of(node.id)
        reader = evidence.flow.node(readers[0].target) if len(readers) == 1 else None
        if reader is None:
            break
        if reader.op == "Einsum" and "," not in str(reader.config.get("equation", ",")):
            break  # a sum of its own: how much attention each key receives
        if reader.op in _PRODUCTS and (axes := _contracted(evidence, reader, readers[0])):
            return (reader, places[axes[0]]) if len(axes) == 1 and axes[0] < rank else (None, -1)
        given = readers[0].spec.shape or ()
        if reader.op == "Mul" and len(axes := summed_with(evidence, node, given)) == 1 and axes[0] < rank:
            return reader, places[axes[0]]
        if order := _order(reader):
            places = [places[axis] for axis in order]
        elif reader.op not in _KEEPS and [edge.spec.shape for edge in evidence.flow.out_of(reader.id)] != [(*given, 1)]:
            break
        node = reader
    return None, -1


def _scores(evidence: Evidence, edge: Edge, pairs: bool, deep: int = 8) -> bool:
    """Whether a tensor is a product of queries and keys, scaled and masked."""
    node, shape = evidence.flow.node(edge.source), edge.spec.shape or ()
    given = evidence.flow.into(node.id)
    if node.op in _PRODUCTS and len(given) == 2 and not pairs:
        alike = all(len(one.spec.shape or ()) == len(shape) for one in given)
        return alike and all(len(_contracted(evidence, node, one)) == 1 for one in given)
    if _of_pairs(evidence, edge):
        return True
    alike_edges = [one for one in given if one.spec.shape == shape and one.spec.dtype != "bool"]
    return deep > 0 and node.op in _SCALES and any(_scores(evidence, one, pairs, deep - 1) for one in alike_edges)


def _of_pairs(evidence: Evidence, edge: Edge) -> bool:
    node, shape = evidence.flow.node(edge.source), edge.spec.shape or ()
    given = evidence.flow.into(node.id)
    sizes = [one.spec.shape or () for one in given]
    if node.op in ("AddV2", "Add") and len(sizes) == 2 and len(sizes[0]) == len(sizes[1]) == len(shape):
        spread = [[i for i, n in enumerate(one) if n == 1 != shape[i]] for one in sizes]
        return all(len(one) == 1 for one in spread) and spread[0] != spread[1] and shape[spread[0][0]] == shape[spread[1][0]]
    maker = evidence.flow.node(given[0].source) if sizes == [(*shape, 1)] else None
    return maker is not None and maker.config.get("units") == 1 and shape[-1] == shape[-2]


_LOGITS = sequential(
    "L.Dense(1)", y="np.tile([0, 1], 4)", loss="keras.losses.BinaryCrossentropy(from_logits=True), metrics=[keras.metrics.BinaryAccuracy(threshold=%s)]"
)
CUT = rule(
    "logits-threshold", "A metric compares logits with a threshold for probabilities", severity="note",
    source="keras.metrics.binary_accuracy, whose threshold is 0.5 unless it is given", fails=_LOGITS % "0.5", passes=_LOGITS % "0.0",
    doc="""Reported for a binary accuracy, also that of `metrics=["accuracy"]`, on an output that a loss with `from_logits=True` reads. Only the reported
value is wrong; the model is trained as intended. A threshold of 0 separates logits, and any threshold but the default of 0.5 is taken as intended.""",
)  # fmt: skip
# The functions that the binary accuracies of both Kerases call.
_BINARY = frozenset({"binary_accuracy", "binary_matches"})


@check(order=46)
def logits_cut(evidence: Evidence) -> Iterator[Finding]:
    """Binary accuracies of logits with the threshold for probabilities."""
    losses = [(node, ends(evidence, node)[1]) for node in evidence.losses()] if not evidence.where else []
    logits = {edge.source: node for node, edge in losses if edge is not None and kind_of(node) == "binary" and node.config.get("from_logits")}
    for node in evidence.flow.nodes if logits else ():
        if node.kind != "metric" or node.status != "ok" or node.op not in _BINARY or node.config.get("threshold", 0.5) != 0.5:
            continue
        predictions = ends(evidence, node)[1]
        loss = logits.get(predictions.source) if predictions is not None else None
        if predictions is None or loss is None:
            continue
        giver = evidence.flow.node(predictions.source)
        if giver.config.get("activation") in ("sigmoid", "softmax") or giver.op.lower() in ("sigmoid", "softmax"):
            continue  # told as an activation that is applied twice
        fact = LogitsCut(node.name, Who.of(giver), loss.name, 0.5)
        yield Finding.of(CUT.id, "note", fact, (node.id, giver.id), (predictions.id,), node.called or giver.location)


MARKS = rule(
    "several-classes", "Labels mark several classes per sample under a softmax", severity="silent", source="the formula of softmax",
    fails=sequential("L.Dense(3, activation='softmax')", y="np.tri(8, 3, dtype='float32')", loss="'binary_crossentropy'"),
    passes=sequential("L.Dense(3, activation='sigmoid')", y="np.tri(8, 3, dtype='float32')", loss="'binary_crossentropy'"),
    doc="""Reported for a binary or categorical cross-entropy if the observed labels are vectors of 0 and 1 and at least a tenth of them have more than one 1.""",
)  # fmt: skip
_OFTEN = 0.1


@check(order=45)
def several_marked(evidence: Evidence) -> Iterator[Finding]:
    """Cross-entropies between a softmax, or what a categorical one takes for it, and labels of several classes."""
    for node in evidence.losses() if not evidence.where else ():
        labels, predictions = ends(evidence, node)
        kind = kind_of(node)
        if predictions is None or labels is None or kind not in ("binary", "categorical"):
            continue
        giver, shape = evidence.flow.node(predictions.source), predictions.spec.shape or ()
        softmax = giver.config.get("activation") == "softmax" or giver.op == "Softmax" or kind == "categorical"
        if softmax and len(shape) > 1 and (shape[-1] or 0) > 2 and labels.spec.shape == shape:
            path = evidence.carried(labels)
            if _share(evidence, path) >= _OFTEN:
                ones = [
                    axis for axis in range(1, len(shape) - 1) if shape[axis] == shape[-1] and all((one.sum(axis) == 1).all() for one in seen_at(evidence, path))
                ]
                fact = SeveralMarked(Who.of(giver), node.name, shape[-1] or 0, kind == "categorical", shape if ones else (), *ones[:1])
                yield Finding.of(MARKS.id, "silent", fact, (giver.id, node.id), (predictions.id,), giver.location)


def _share(evidence: Evidence, path: KeyPath | None) -> float:
    seen = seen_at(evidence, path)
    if not seen or any(array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all() for array in seen):
        return 0.0
    return float(np.mean(np.concatenate([(array.sum(-1) > 1).reshape(-1) for array in seen])))
