"""What the code of a loss does with labels and predictions: labels as indices, margins of sums over the batch, labels that broadcast, weights that are one value, and both sides exchanged."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..examine.evidence import Evidence
from ..examine.heard_data import HeardCompared
from ..flow import Edge, Finding, Node, Shape, Who, elements
from .compared import as_it_came, ends, kind_of, observed_labels
from .examples import sequential, stepped
from .facts.loss import RowsCut
from .facts.loss_silent import Crosswise, DistanceOverBatch, LossOrder, MarginOfSums, StepsTold, WeightsAsOne
from .facts.ranges import RowsAsIndices
from .mixing import SUMMED, carried, of_a_loss
from .registry import check, rule
from .silent import BROADCAST
from .upstream import ancestors
from .words import PAIRING

_LOOKUPS = ("gather", "take", "embeddinglookup")


def rows_as_indices(evidence: Evidence, loss: Node, labels: Edge | None) -> RowsAsIndices | None:
    """What a loss or metric looks up at each zero and one of labels that are one-hot vectors, judged by the observed values."""
    stats = observed_labels(evidence, labels) if labels is not None else None
    if labels is None or stats is None or not stats.one_hot:
        return None
    for op in evidence.flow.nodes:
        if op.parent == loss.id and any(word in op.op.lower() for word in _LOOKUPS):
            starts = [as_it_came(evidence, edge) for edge in evidence.flow.into(op.id)]
            if any(edge.source == labels.source and edge.spec == labels.spec for edge in starts):
                return RowsAsIndices(loss.name, labels.spec.shape or (), Who.of(op))
    return None


@check(order=41)
def looked_up(evidence: Evidence) -> Iterator[Finding]:
    """Losses and metrics that run although they look up entries 0 and 1 instead of the entry of each class."""
    if evidence.where:
        return
    for loss in evidence.flow.nodes:
        if loss.kind in ("loss", "metric"):
            labels, _ = ends(evidence, loss)
            fact = rows_as_indices(evidence, loss, labels)
            if fact is not None and labels is not None:
                yield Finding.of("one-hot-labels", "silent", fact, (loss.id,), (labels.id,), fact.operation.called)


_MARGINS = ("Maximum", "Relu", "Softplus")
_MEANS = ("Mean", "ReduceMean")
_SUMS = ("Sum", "ReduceSum")
# By a small number, so that the root has a gradient.
_RAISED = ("AddV2", "Add", "Maximum", "Max")
_SQUARES = frozenset({"Square", "SquaredDifference", "Pow", "IntegerPow", "Mul", "Multiply"})
_DIFFERENCES = frozenset({"Sub", "Subtract", "SquaredDifference"})


def rows_cut(evidence: Evidence, loss: Node, said: HeardCompared | None, p: Shape) -> tuple[RowsCut, str] | None:
    """The reshape of a loss that makes rows of another length of the predictions, and its node."""
    for node in evidence.flow.nodes if said is not None and said.predictions[-1:] != p[-1:] else ():
        edges = evidence.flow.into(node.id)
        before = edges[0].spec.shape if node.op.lower() == "reshape" and node.parent == loss.id and edges else None
        if before == p and said is not None and None not in p and elements(said.predictions) == elements(p) and len(p) > 1:
            return RowsCut(loss.name, Who.of(node), p, said.predictions), node.id
    return None


@check(order=41)
def margin_of_sums(evidence: Evidence) -> Iterator[Finding]:
    """A margin of sums over everything, or of two distances that are summed over the samples alone."""
    for node in evidence.flow.nodes if not evidence.where else ():
        made, given = next(iter(evidence.flow.out_of(node.id)), None), evidence.flow.into(node.id)
        shape = made.spec.shape if made is not None else given[0].spec.shape if given else None
        # What a loss returns needs no mean of its own.
        ends_there = made is None and node.kind == "op" and of_a_loss(evidence, node)
        if node.op not in _MARGINS or shape is None or not (ends_there or (made is not None and evidence.flow.node(made.target).op in _MEANS)):
            continue
        found = {whole.target: whole for edge in given for whole in _sums(evidence, edge, shape)}
        sums = [found[one.id] for one in evidence.flow.nodes if one.id in found]
        if len(sums) > 1 and (not shape or all(_of_two(evidence, edge) for edge in sums)):
            totals = [evidence.flow.node(edge.target) for edge in sums]
            fact = MarginOfSums(tuple(map(Who.of, totals)), tuple(edge.spec.shape or () for edge in sums), Who.of(node), shape)
            nodes, place = (*(one.id for one in totals), node.id), totals[0].called or node.called
            yield Finding.of(SUMMED.id, "silent", fact, nodes, tuple(edge.id for edge in sums), place)


def _sums(evidence: Evidence, edge: Edge, shape: Shape) -> Iterator[Edge]:
    """What the sums over the samples add up that a tensor of one shape is computed from: over everything, for a single number."""
    pending, seen = [edge], set()
    while pending:
        one = pending.pop()
        node = evidence.flow.node(one.source)
        if one.spec.shape != shape or node.id in seen or node.kind != "op":
            continue
        seen.add(node.id)
        given = evidence.flow.into(node.id)
        whole = given[0] if len(given) == 1 and node.op in _SUMS else None
        rank = len(whole.spec.shape or ()) if whole is not None else 0
        if whole is not None and rank > 1 and shape in ((), (whole.spec.shape or ())[1:]) and (carried(evidence, whole) or {}).get(0) == 1:
            if not carried(evidence, one):
                yield whole
        else:
            pending += given


def _of_two(evidence: Evidence, edge: Edge) -> bool:
    """Whether what is summed is a difference or product of two tensors of the samples, and none from a mean of them."""
    node = evidence.flow.node(edge.source)
    given = evidence.flow.into(node.id)
    if len(given) == 1 and node.op in (*_SQUARES, "Abs"):
        return _of_two(evidence, given[0])
    both = len(given) == 2 and all((carried(evidence, one) or {}).get(0) == 1 for one in given)
    return both and node.op in _DIFFERENCES | _SQUARES


@check(order=41)
def distance_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Roots of squared differences that are summed over the samples alone, in a loss: one distance for each value."""
    for node in evidence.flow.nodes if not evidence.where else ():
        if node.op != "Sqrt" or not of_a_loss(evidence, node):
            continue
        total = _before(evidence, _before(evidence, node, _RAISED) or node, _SUMS)
        whole = next(iter(evidence.flow.into(total.id)), None) if total is not None else None
        shape = (whole.spec.shape or ()) if whole is not None else ()
        made = next(iter(evidence.flow.out_of(total.id)), None) if total is not None else None
        if total is None or whole is None or made is None or len(shape) < 2 or (carried(evidence, whole) or {}).get(0) != 1:
            continue
        if _of_two(evidence, whole) and made.spec.shape in (shape[1:], (1, *shape[1:])) and shape[0] != shape[1]:
            fact = DistanceOverBatch(Who.of(total), shape)
            yield Finding.of(SUMMED.id, "silent", fact, (total.id, node.id), (whole.id,), total.called or node.called)


def _before(evidence: Evidence, node: Node, ops: Collection[str]) -> Node | None:
    found = [evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id)]
    return next((one for one in found if one.op in ops), None)


_GIVEN = "keras.losses.BinaryCrossentropy()(%s)"
ORDER = rule(
    "loss-arguments", "Labels and predictions are exchanged", severity="silent",
    source="keras.losses.Loss.__call__(y_true, y_pred): a crossentropy takes the logarithm of its second argument",
    fails=stepped(loss=_GIVEN % "p, y", metrics=""), passes=stepped(loss=_GIVEN % "y, p", metrics=""),
    doc="""Reported for a crossentropy of Keras that the program calls itself, if its first argument comes from layers with weights and its second one from the
data alone, or from constants such as `tf.ones_like(predictions)`. A loss that is the same both ways, such as the mean squared error, is not reported.""",
)  # fmt: skip


# A layer that a trace has built shows no weights.
_WEIGHTED = frozenset({"dense", "convolution", "recurrent", "embedding", "attention"})


@check(order=42)
def loss_order(evidence: Evidence) -> Iterator[Finding]:
    """Crossentropies whose labels were computed by trained layers, and whose predictions were not."""
    losses = evidence.losses() if not evidence.where else []
    exchanged = [found for node in losses for found in _exchanged(evidence, node)]
    for at, (node, labels, predictions, giver) in enumerate(exchanged):
        if node.called is not None and any(one.called == node.called for one, *_ in exchanged[:at]):
            continue
        # A loss whose labels come from no node was called while the layers around it were built.
        beside = [one for one in losses if one.called == node.called and ends(evidence, one)[0] is not None]
        same = [one for one, *_ in exchanged if one.called == node.called]
        fact = LossOrder(node.name, Who.of(giver), labels.spec.shape or (), predictions is None, len(same) if len(same) == len(beside) else 0)
        yield Finding.of(ORDER.id, "silent", fact, (node.id,), (labels.id,), node.called)


def _exchanged(evidence: Evidence, node: Node) -> Iterator[tuple[Node, Edge, Edge | None, Node]]:
    labels, predictions = ends(evidence, node)
    if labels is None or kind_of(node) not in ("binary", "categorical", "sparse"):
        return
    # Numbers of the program's own, such as ones of the shape of the predictions, come from no node.
    given = predictions is None or (not _learned(evidence, predictions) and _given(evidence, predictions))
    if given and _learned(evidence, labels):
        yield node, labels, predictions, evidence.flow.node(labels.source)


def _learned(evidence: Evidence, edge: Edge) -> bool:
    start = evidence.flow.node(edge.source)
    above = (start, *ancestors(evidence, start.id))
    return any(node.kind == "layer" and (node.family in _WEIGHTED or any(one.trainable for one in node.weights)) for node in above)


def _given(evidence: Evidence, edge: Edge) -> bool:
    start = evidence.flow.node(edge.source)
    return any(node.kind in ("input", "stage") for node in (start, *ancestors(evidence, start.id)))


@check(order=42)
def one_unit_for_all(evidence: Evidence) -> Iterator[Finding]:
    """The single value of a prediction that meets every value of a label in a loss of the user's own."""
    for node in evidence.losses() if not evidence.where else ():
        labels, predictions = ends(evidence, node)
        if labels is None or predictions is None or kind_of(node) != "custom":
            continue
        y, p = labels.spec.shape or (), predictions.spec.shape or ()
        # One label for several values is a choice, such as that of quantiles; one value for several labels is none.
        single = len(y) == len(p) > 1 and y[:-1] == p[:-1] and p[-1] == 1 and y[-1] not in (None, 1)
        if not single and not _both_widened(y, p):
            continue
        giver = evidence.flow.node(predictions.source)
        for op in evidence.flow.nodes:
            edges = evidence.flow.into(op.id)
            if op.parent != node.id or op.op not in PAIRING or len(edges) != 2:
                continue
            starts = {_start(evidence, edge, node).source for edge in edges if edge.spec.shape in (y, p)}
            if starts == {labels.source, predictions.source} and {edge.spec.shape for edge in edges} == {y, p}:
                fact = Crosswise(node.name, p, y, Who.of(giver))
                yield Finding.of(BROADCAST.id, "silent", fact, (giver.id, node.id), (predictions.id, labels.id), giver.location or giver.called)
                break


def _both_widened(y: Shape, p: Shape) -> bool:
    """Whether labels and predictions both have axes of size 1 where the other has more: then neither keeps its shape."""
    if len(y) != len(p) or None in (*y, *p) or y[0] != p[0] or any(a != b and 1 not in (a, b) for a, b in zip(y, p, strict=True)):
        return False
    made = tuple(max(a or 0, b or 0) for a, b in zip(y, p, strict=True))
    return made not in (y, p)


def _start(evidence: Evidence, edge: Edge, loss: Node) -> Edge:
    """Where the values of an edge come into a loss, which only single operations on each of them have changed since."""
    while (giver := evidence.flow.node(edge.source)).parent == loss.id:
        before = evidence.flow.into(giver.id)
        if len(before) != 1 or before[0].spec.shape != edge.spec.shape:
            break
        edge = before[0]
    return edge


_LOSS = "lambda t, p: tf.reduce_sum(tf.reduce_mean(tf.square(t - p), axis=0) * tf.constant([0.1, 0.9]))"
AS_ONE = rule(
    "weights-as-one", "Weights of several classes multiply the same value", severity="silent", source="a sum of products with one value is its product with the sum",
    fails=sequential("L.Dense(1)", loss=_LOSS), passes=sequential("L.Dense(2)", y="np.zeros((8, 2), 'float32')", loss=_LOSS),
    doc="""Reported for a custom loss that multiplies a tensor whose last axis has size 1, or a single number, by several constants and then adds the products up
or averages them. The result is the same as with one constant.""",
)  # fmt: skip
_TOTALS = ("sum", "mean", "reduce_sum", "reduce_mean")


@check(order=41)
def weights_as_one(evidence: Evidence) -> Iterator[Finding]:
    """Products of a single value with constants that are added up right after."""
    if evidence.where:
        return
    for loss in evidence.losses():
        _, predictions = ends(evidence, loss)
        for node in evidence.flow.nodes:
            found = _several(evidence, node) if node.parent == loss.id else None
            if found is None:
                continue
            shape, count, total = found
            channels = ((predictions.spec.shape or (0,))[-1] or 0) if predictions is not None else 0
            fact = WeightsAsOne(loss.name, Who.of(node), Who.of(total), shape, count, channels)
            yield Finding.of(AS_ONE.id, "silent", fact, (node.id, loss.id), (), node.called or loss.location)
            return


def _several(evidence: Evidence, node: Node) -> tuple[Shape, int, Node] | None:
    given, made = evidence.flow.into(node.id), evidence.flow.out_of(node.id)
    if node.op.lower() not in ("mul", "multiply") or len(given) != 1 or len(made) != 1:
        return None
    shape, wide = given[0].spec.shape, made[0].spec.shape
    if shape is None or not wide or (shape and shape[-1] != 1) or (wide[-1] or 0) < 2 or wide[:-1] != shape[:-1]:
        return None
    if len(wide) > 1 and wide[-1] == wide[0]:
        return None  # a sum over the samples looks the same
    total = evidence.flow.node(made[0].target)
    # What a loss returns has no edge; Keras averages it.
    after = next((edge.spec.shape for edge in evidence.flow.out_of(total.id)), ())
    if total.op.lower() not in _TOTALS or after not in ((), shape[:-1], shape):
        return None
    return shape, wide[-1] or 0, total


_CTC = """
def loss(y, p):
    n = keras.ops.ones((y.shape[0],), "int32")
    return keras.ops.ctc_loss(y, p, n * y.shape[1], n * p.shape[%d])
"""
STEPS = rule(
    "ctc-lengths", "A CTC loss receives a different number of steps than the logits have", severity="silent", backend="jax", frameworks=("keras",),
    source="keras.ops.ctc_loss, whose lengths count the steps of its logits",
    fails=sequential("L.Dense(6)", "(8, 9, 4)", "np.ones((8, 3), 'int32')", "loss", _CTC % 2),
    passes=sequential("L.Dense(6)", "(8, 9, 4)", "np.ones((8, 3), 'int32')", "loss", _CTC % 1),
    doc="""Reported if the same length is passed for every sample, and it is more than the steps of the logits, or the number of classes.""",
)  # fmt: skip


@check(order=41, backend="jax")
def steps_told(evidence: Evidence) -> Iterator[Finding]:
    """CTC losses whose logits are said to have more steps than they have, or as many as there are classes."""
    for node in evidence.flow.nodes:
        told = int(node.config.get("steps") or 0) if node.op == "CtcLoss" else 0
        for edge in evidence.flow.into(node.id) if told else ():
            shape = edge.spec.shape or ()
            if len(shape) == 3 and told != shape[1] and (told == shape[2] or told > (shape[1] or told)):
                fact = StepsTold(Who.of(node), shape, told)
                yield Finding.of(STEPS.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)
