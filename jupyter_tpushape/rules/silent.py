"""Programs that run without an error, but not as intended."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Literal

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Shape, Who, elements
from ..sources.stats import stats_of
from ..trace.axes import RECURRENT
from .compared import as_it_came, class_labels, classes_counted, cut_sequence, ends, kind_of, of_sequences, seen_at
from .compiled import METRIC_LABELS, labels_in_one, unread_labels
from .contracted import softmax_axis, summed_with
from .examples import sequential
from .facts.compiled import MetricReads
from .facts.loss import SingleValues, Through
from .facts.loss_silent import Crosswise, PairsPredicted, RowsConvolvedAlone
from .facts.ranges import LabelOutOfRange, LabelScale
from .facts.scores import LogitsMissing, LogitsTwice, NoPath, NoWeights, ScoresOfOne, SingleUnit
from .loss_rules import INT_LABELS
from .mixing import LOOKUPS, crossed, lookup_of_all
from .registry import check, rule
from .restored import labels_not_inputs
from .upstream import ancestors, cause_of_axes
from .words import axes_of

_SOURCE = "Keras losses, and how Keras aligns labels with predictions"


BROADCAST = rule(
    "loss-broadcast", "The loss broadcasts labels against predictions", severity="silent", source=f"tpu-rules L7; {_SOURCE}",
    fails=sequential("L.LSTM(4, return_sequences=True), L.Dense(1)", "(8, 5, 6)"), passes=sequential("L.LSTM(4), L.Dense(1)", "(8, 5, 6)"),
    doc="""Regression losses subtract labels from predictions, which broadcasts axes of size 1. Keras first removes or adds one trailing axis of size 1.
Any difference that is left is broadcast, so labels are compared with predictions for other samples.
A custom loss is reported if one predicted value is compared with each of several values of a label.""",
)  # fmt: skip
LOGITS = rule(
    "logits-twice", "from_logits=True after a softmax or sigmoid", severity="silent", source=_SOURCE,
    fails=sequential("L.Dense(3, activation='softmax')", y="np.arange(8) % 3", loss="keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
    passes=sequential("L.Dense(3)", y="np.arange(8) % 3", loss="keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
    doc="""On TensorFlow, Keras warns and takes the values before the activation if the loss receives the very tensor that the activation returned; the finding then
says so. On JAX, with a layer in between, and in Keras 3 with half precision, the activation is applied twice.""",
)  # fmt: skip
PROBABILITIES = rule(
    "logits-missing", "A cross-entropy loss on values that may not be probabilities", severity="note", source=_SOURCE,
    fails=sequential("L.Dense(3)", y="np.arange(8) % 3", loss="'sparse_categorical_crossentropy'"),
    passes=sequential("L.Dense(3, activation='softmax')", y="np.arange(8) % 3", loss="'sparse_categorical_crossentropy'"),
)  # fmt: skip
ONE_UNIT = rule(
    "one-unit-softmax", "A softmax or categorical cross-entropy over a single unit", severity="note", source="tpu-rules L8",
    fails=sequential("L.Dense(1, activation='softmax')", loss="'binary_crossentropy'"), passes=sequential("L.Dense(1, activation='sigmoid')", loss="'binary_crossentropy'"),
    doc="""A note where the model ends in it: the shapes agree. The output is always 1, and no gradient passes through it. Inside a model, a softmax over the
one score that a layer computes for each of several positions is reported as silent. Every position then has the weight 1; a softmax over the positions was meant.""",
)  # fmt: skip
LABEL_RANGE = rule(
    "label-range", "Label out of range of the output", severity="error", source="tpu-rules O11",
    fails=sequential("L.Dense(3, activation='softmax')", y="np.arange(8) % 5", loss="'sparse_categorical_crossentropy'"),
    passes=sequential("L.Dense(5, activation='softmax')", y="np.arange(8) % 5", loss="'sparse_categorical_crossentropy'"),
)  # fmt: skip
LABEL_SCALE = rule(
    "label-scale", "Labels outside 0 to 1 under a binary cross-entropy", severity="silent", source="the formula of the loss",
    fails=sequential("L.Dense(1, activation='sigmoid')", y="np.full((8, 1), 255)", loss="'binary_crossentropy'"),
    passes=sequential("L.Dense(1, activation='sigmoid')", y="np.full((8, 1), 1)", loss="'binary_crossentropy'"),
)  # fmt: skip
_STEPS = "lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1,)) - %s))"
NO_GRADIENT = rule(
    "no-gradient", "No gradient reaches the model from its loss", severity="error", source="keras/src/optimizers/base_optimizer.py: No gradients provided for any variable",
    fails=sequential("L.Dense(4)", loss=_STEPS % "tf.cast(tf.argmax(p, -1), 'float32')"), passes=sequential("L.Dense(4)", loss=_STEPS % "tf.reduce_max(p, -1)"),
    doc="""Reported if every path from the predictions to the loss goes through an operation without a gradient, such as argmax, a comparison, round, or a cast
to integers, also inside a built-in layer. Reported too if the loss uses no trainable weight. TensorFlow raises an error; JAX trains with gradients of zero.""",
)  # fmt: skip
CONV_AXES = rule(
    "convolution-axes", "A convolution slides over fewer axes than the data has", severity="silent", source="Conv1D in tf_keras and Keras accepts extra batch axes",
    frameworks=("tf_keras",),
    fails="""
def build():
    m = keras.Sequential([L.Conv1D(4, 2), L.Flatten(), L.Dense(3)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((4, 12, 12, 3), "float32"), np.zeros((4, 3), "float32")
""",
    passes="""
def build():
    m = keras.Sequential([L.Conv2D(4, 2), L.Flatten(), L.Dense(3)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((4, 12, 12, 3), "float32"), np.zeros((4, 3), "float32")
""",
)  # fmt: skip


def aligned(y: Shape, p: Shape) -> tuple[Shape, Shape]:
    """Labels and predictions as Keras aligns them before a loss: one trailing axis of size 1 is added or removed."""
    if len(y) == len(p) + 1 and y[-1] == 1:
        return (y, (*p, 1)) if len(p) == 1 else (y[:-1], p)
    if len(p) == len(y) + 1 and p[-1] == 1:
        return ((*y, 1), p) if len(y) == 1 else (y, p[:-1])
    return y, p


@check(order=40)
def loss_broadcast(evidence: Evidence) -> Iterator[Finding]:
    """Labels and predictions of a built-in loss that match only by broadcasting."""
    if evidence.where or unread_labels(evidence) or labels_in_one(evidence):
        return
    for node in evidence.losses():
        labels, predictions = ends(evidence, node)
        kind = kind_of(node)
        if labels is None or predictions is None or kind not in ("regression", "binary") or not labels.spec.shape or not predictions.spec.shape:
            continue
        y, p = aligned(labels.spec.shape, predictions.spec.shape)
        # An unknown axis may have any size: nothing is said of it.
        if len(y) == len(p) and all(None in (a, b) or a == b for a, b in zip(y, p, strict=True)):
            continue
        if labels_not_inputs(evidence, node) is not None:
            continue
        giver = evidence.flow.node(predictions.source)
        if class_labels(evidence, labels, predictions):
            single = SingleValues(node.name, labels.spec.shape, predictions.spec.shape, "classes", "values")
            yield Finding.of(INT_LABELS.id, "silent", single, (giver.id, node.id), (predictions.id, labels.id), giver.location or giver.called)
            continue
        crossing = crossed(evidence, predictions)
        if crossing is not None and crossing.op.startswith(LOOKUPS) and lookup_of_all(evidence, crossing) is not None:
            continue  # told of the lookup itself
        if crossing is not None:
            pairs = PairsPredicted(node.name, predictions.spec.shape, labels.spec.shape, Who.of(crossing), silent=True)
            yield Finding.of(BROADCAST.id, "silent", pairs, (crossing.id, node.id), (predictions.id, labels.id), crossing.called)
            continue
        surplus = len(predictions.spec.shape) > max(2, len(labels.spec.shape))
        cause: tuple[Through | Literal["last", "width", "values"], Node] | None = cause_of_axes(evidence, predictions) if surplus else None
        stepless = not len(y) == len(p) > 2 or y[1] != p[1]
        if cause is None and stepless and (len(labels.spec.shape) > 2 or (len(labels.spec.shape) == 2 and predictions.spec.shape[-1] == 1)):
            cut = cut_sequence(evidence, labels.spec.shape, predictions)
            cause = ("last", cut) if cut is not None else None
        if cause is None and len(y) == len(p) > 2 and y[:-1] == p[:-1] and y[-1] == 1:
            cause = ("width", _maker_of_width(evidence, giver, p[-1]))
        if cause is None and len(y) == len(p) == 2 and y[0] == p[0] and p[1] == 1:
            cause = ("values", _maker_of_width(evidence, giver, p[-1]))
        blamed = cause[1] if cause is not None else giver
        fact = Crosswise(node.name, predictions.spec.shape, labels.spec.shape, Who.of(blamed), cause[0] if cause is not None else "")
        yield Finding.of(BROADCAST.id, "silent", fact, (blamed.id, node.id), (predictions.id, labels.id), blamed.location or blamed.called)


@check(order=41)
def classes_as_numbers(evidence: Evidence) -> Iterator[Finding]:
    """A loss or metric of the user's own that calculates with the number of a class as if it were a row of the classes' values."""
    if evidence.where:
        return
    for node in evidence.flow.nodes:
        if node.kind not in ("loss", "metric") or (node.kind == "loss" and kind_of(node) != "custom"):
            continue
        labels, predictions = ends(evidence, node)
        if labels is None or predictions is None or not class_labels(evidence, labels, predictions):
            continue
        met = next((op for op in evidence.flow.nodes if op.parent == node.id and _multiplies(evidence, op, labels, predictions)), None)
        if met is None:
            continue
        y, p = labels.spec.shape or (), predictions.spec.shape or ()
        fact = MetricReads(node.name, y, p, False) if node.kind == "metric" else SingleValues(node.name, y, p, "classes", "values")
        rule_id = METRIC_LABELS.id if node.kind == "metric" else INT_LABELS.id
        yield Finding.of(rule_id, "silent", fact, (node.id, met.id), (predictions.id, labels.id), met.called)


def _multiplies(evidence: Evidence, op: Node, labels: Edge, predictions: Edge) -> bool:
    edges = evidence.flow.into(op.id)
    if op.op.lower() not in ("mul", "multiply") or len(edges) != 2:
        return False
    for mine, other in (edges, edges[::-1]):
        start = as_it_came(evidence, mine)
        if start.source == labels.source and start.spec == labels.spec and other.spec.shape == predictions.spec.shape:
            return mine.spec.shape != other.spec.shape
    return False


def _maker_of_width(evidence: Evidence, node: Node, width: int | None) -> Node:
    while True:
        edges = evidence.flow.into(node.id)
        shape = edges[0].spec.shape if len(edges) == 1 else None
        if not shape or shape[-1] != width or evidence.flow.node(edges[0].source).kind == "input":
            return node
        node = evidence.flow.node(edges[0].source)


@check(order=45)
def loss_values(evidence: Evidence) -> Iterator[Finding]:
    """Logits and probabilities, single units, and labels out of range of the output."""
    if evidence.where:
        return
    told: set[tuple[str, str]] = set()
    for node in evidence.losses():
        labels, predictions = ends(evidence, node)
        if predictions is None or not predictions.spec.shape:
            continue
        giver = evidence.flow.node(predictions.source)
        kind, last = kind_of(node), predictions.spec.shape[-1]
        activation = str(giver.config.get("activation") or (giver.op.lower() if giver.op == "Softmax" else ""))
        if kind in ("sparse", "categorical", "binary"):
            logits = bool(node.config.get("from_logits"))
            first = (giver.name, node.op) not in told  # a step may call one layer for several losses
            told.add((giver.name, node.op))
            if not first:
                pass
            elif logits and activation in ("softmax", "sigmoid"):
                # A tensor of TensorFlow that comes from an activation keeps what went in, and the loss takes that; a cast loses it.
                kept = evidence.backend == "tensorflow" and (evidence.framework == "tf_keras" or predictions.spec.dtype == "float32")
                yield Finding.of(
                    LOGITS.id, "silent", LogitsTwice(Who.of(giver), node.name, activation, kept), (giver.id, node.id), (predictions.id,), giver.location
                )
            elif not logits and giver.op in ("Dense", "Dot") and not activation:
                yield Finding.of(PROBABILITIES.id, "note", LogitsMissing(Who.of(giver), node.name), (giver.id, node.id), (predictions.id,), giver.location)
        if last == 1 and (activation == "softmax" or kind == "categorical"):
            yield Finding.of(ONE_UNIT.id, "note", SingleUnit(Who.of(giver), activation == "softmax"), (giver.id, node.id), (predictions.id,), giver.location)
        if (kind == "sparse" or of_sequences(node)) and labels is not None and last:
            yield from _label_range(evidence, node, giver, last, labels)
        if kind == "binary" and labels is not None and "crossentropy" in node.op.lower().replace("_", ""):
            yield from _label_scale(evidence, node, labels)


@check(order=45)
def scores_of_one(evidence: Evidence) -> Iterator[Finding]:
    """Softmaxes inside a model over the one score that a layer computes for each position."""
    ends_at = {edge.source for edge in evidence.flow.edges if evidence.flow.node(edge.target).kind in ("output", "loss", "metric")}
    for node in evidence.flow.nodes if not evidence.where else ():
        if node.status != "ok" or node.id in ends_at:
            continue
        own = node.config.get("activation") == "softmax" and _one_value(node)
        given = next((edge.spec.shape or () for edge in evidence.flow.out_of(node.id)), ()) if own else ()
        if len(given) == 3 and given[-1] == 1 and given[1] not in (None, 1):
            fact = ScoresOfOne(Who.of(node), Who.of(node), given)
            yield Finding.of(ONE_UNIT.id, "silent", fact, (node.id,), (), node.called or node.location)
        if node.op not in ("Softmax", "softmax") and not (node.op == "Activation" and node.config.get("activation") == "softmax"):
            continue
        for edge in evidence.flow.into(node.id)[:1]:
            shape = edge.spec.shape or ()
            axis = softmax_axis(evidence, node, edge)
            maker = evidence.flow.node(edge.source)
            # An activation or a scale between them keeps the shape, and tensordot multiplies rows.
            while not maker.weights and _as_many(evidence.flow.into(maker.id), shape):
                maker = evidence.flow.node(evidence.flow.into(maker.id)[0].source)
            stacked = maker.op.lower() in ("pack", "stack") and {len(one.spec.shape or ()) for one in evidence.flow.into(maker.id)} == {2}
            if stacked:
                # The scores of several tensors, each a layer's or a line's.
                maker = evidence.flow.node(evidence.flow.into(maker.id)[0].source)
            at, rank = (axis or 0) % max(len(shape), 1), len(shape)
            others = [0] if stacked else [i for i in range(1, rank) if shape[i] != 1]
            if rank == 4:
                others = summed_with(evidence, node, shape)
            single = rank in (3, 4) and at and shape[at] == 1 and len(others) == 1 and shape[others[0]] not in (None, 1)
            if single and (_one_value(maker) or _one_score(evidence, maker)):
                fact = ScoresOfOne(Who.of(node), Who.of(maker), shape, others[0])
                yield Finding.of(ONE_UNIT.id, "silent", fact, (node.id, maker.id), (edge.id,), node.called or node.location)


def _as_many(given: list[Edge], shape: Shape) -> bool:
    its = given[0].spec.shape or () if len(given) == 1 else ()
    whole = elements(its) == elements(shape) is not None and its[-1:] == (1,) == shape[-1:]
    return whole or its == shape or ((1,) in (its[-1:], shape[-1:]) and [n for n in its if n != 1] == [n for n in shape if n != 1])


def _one_value(node: Node) -> bool:
    return 1 in (node.config.get("units"), node.config.get("filters"))


def _one_score(evidence: Evidence, node: Node) -> bool:
    """Whether an operation computes one value from the features of each position."""
    given, made = ([edge.spec.shape or () for edge in found(node.id)] for found in (evidence.flow.into, evidence.flow.out_of))
    alone = node.kind == "op" and len(given) == 1 and len(given[0]) > 1 and bool(made)
    return alone and made[0] in (given[0][:-1], (*given[0][:-1], 1)) and given[0][-1] not in (None, 1)


# What returns numbers of a kind that a small change of its input does not change.
STEPPED = frozenset({"ArgMax", "ArgMin", "Round", "Rint", "Floor", "Ceil", "StopGradient"})


@check(order=45)
def gradient_lost(evidence: Evidence) -> Iterator[Finding]:
    """Losses of the user's own that no gradient leaves."""
    losses, said = evidence.losses(), False
    for node in losses if not evidence.where else []:
        _, predictions = ends(evidence, node)
        alone = len(losses) == 1 and evidence.backend == "tensorflow" and not _regularized(evidence)
        if predictions is not None and predictions.spec.dtype.startswith(("int", "uint", "bool")) and _trainable(evidence):
            giver = evidence.flow.node(predictions.source)
            fact = NoPath(node.name, Who.of(giver), alone, predictions.spec.dtype)
            yield Finding.of(NO_GRADIENT.id, "error" if alone else "silent", fact, (giver.id, node.id), location=giver.location)
            said = said or alone
            continue
        dead, whole = _dead(evidence, node.id) if predictions is not None else (None, False)
        if dead is not None:
            fact = NoPath(node.name, Who.of(dead), error := alone and whole, term=not whole)
            yield Finding.of(NO_GRADIENT.id, "error" if error else "silent", fact, (dead.id, node.id), location=dead.called)
            said = said or error
    if losses and not said and not evidence.where and _trainable(evidence):
        yield from _cut(evidence, losses[0])
    own = evidence.facts.get("own_loss") if not losses and not evidence.where and _trainable(evidence) else None
    if own and evidence.facts.get("cut") == [] and not evidence.facts.get("frozen"):
        yield Finding.of(NO_GRADIENT.id, "error", NoWeights("compute_loss"), (), location=own)


def _dead(evidence: Evidence, loss: str) -> tuple[Node | None, bool]:
    flow, numbers = evidence.flow, evidence.facts.get("single") or {}
    inside = {node.id: None for node in flow.nodes if node.parent == loss}
    ends = [one for one in inside if not any(edge.target in inside for edge in flow.out_of(one))]
    terms = [end for end in ends if _ways(evidence, end, inside)[1]]
    if not terms:
        return next((step for end in ends if (step := _ways(evidence, end, inside)[0]) is not None), None), True
    for term in terms if evidence.backend == "tensorflow" else ():
        step, alive = _ways(evidence, term, inside)
        if step is not None and not alive:
            return step, False
        if term in evidence.facts["stopped"]:
            continue
        op, given = flow.node(term).op, [edge.source for edge in flow.into(term) if edge.source in inside]
        divided = op in ("RealDiv", "DivNoNan") and (term, 0) not in numbers
        if op in ("AddV2", "Sub") or (len(flow.into(term)) == 1 and (divided or op in ("Neg", "Mean", "Sum", "Mul"))):
            terms += given
    return None, False


def _ways(evidence: Evidence, end: str, inside: Container[str]) -> tuple[Node | None, bool]:
    """A step without a slope behind the predictions from which a value is computed, and whether a way has none, or one that is meant."""
    flow, stopped, pending, found = evidence.flow, evidence.facts.get("stopped") or (), [end], None
    alive, seen = end in stopped, {end}
    for one in pending:
        for edge in flow.into(one):
            giver, number = flow.node(edge.source), edge.spec.dtype.startswith(("float", "bfloat"))
            if giver.id not in inside:
                alive = alive or (number and giver.kind not in ("stage", "input"))
                continue
            alive = alive or giver.id in stopped
            if number and giver.op not in STEPPED:
                pending += [giver.id] * (giver.id not in seen)
                seen.add(giver.id)
            elif any(above.kind == "layer" for above in ancestors(evidence, giver.id)):
                found = giver
    return found, alive


def _cut(evidence: Evidence, node: Node) -> Iterator[Finding]:
    """A loss that no weight has a part in, with all that is added to it, as the graph of the operations shows."""
    found = evidence.facts.get("cut")
    if found is None or evidence.facts.get("frozen") or "train_step" in evidence.facts.get("overrides", ()):
        return
    op, place = found[0] if found else ("", "")
    giver = evidence.flow.node(place) if place else node
    fact = NoPath(node.name, Who.of(giver), True, inside=op) if found else NoWeights(node.name)
    yield Finding.of(NO_GRADIENT.id, "error", fact, (giver.id, node.id) if place else (node.id,), location=giver.called or giver.location)


def _regularized(evidence: Evidence) -> bool:
    return any("regularizer" in key and value for node in evidence.flow.nodes for key, value in node.config.items())


def _trainable(evidence: Evidence) -> bool:
    return any(weight.trainable for node in evidence.flow.nodes for weight in node.weights)


def _label_scale(evidence: Evidence, node: Node, labels: Edge) -> Iterator[Finding]:
    path = evidence.carried(labels)
    stats = evidence.label_stats.get(path)
    if path is None or stats is None or stats.minimum is None or stats.maximum is None or 0 <= stats.minimum <= stats.maximum <= 1:
        return
    _, predictions = ends(evidence, node)
    single = predictions is not None and (predictions.spec.shape or (0,))[-1] == 1
    fact = LabelScale(node.name, path, stats.minimum, stats.maximum, stats.distinct == 2, classes_counted(stats) if single else 0)
    yield Finding.of(LABEL_SCALE.id, "silent", fact, (node.id,), (labels.id,))


def _label_range(evidence: Evidence, node: Node, giver: Node, classes: int, labels: Edge) -> Iterator[Finding]:
    own, ignored = evidence.carried(labels), node.config.get("ignore_class")
    for path, every in evidence.label_stats.items():
        # The loss leaves the labels of an ignored class out.
        kept = [value[value != ignored] for value in seen_at(evidence, path)] if ignored is not None and path == own else []
        stats = every if ignored is None else stats_of(kept)
        if path != own or stats is None or stats.maximum is None or stats.minimum is None:
            continue
        # The loss reads the whole number below.
        lowest, highest = int(stats.minimum), int(stats.maximum)
        outside = highest >= classes or lowest < 0
        if outside or not stats.whole:
            zero, blank = evidence.backend == "jax", of_sequences(node)
            fact = LabelOutOfRange(Who.of(giver), classes, lowest, highest, node.name, path, zero, stats.whole, blank)
            raises = outside and not zero and not blank
            yield Finding.of(LABEL_RANGE.id, "error" if raises else "silent", fact, (giver.id, node.id), location=giver.location)


@check(order=47)
def convolution_axes(evidence: Evidence) -> Iterator[Finding]:
    """A 1-D convolution directly on data with two spatial axes."""
    if evidence.declared is not None:
        return
    for node in evidence.flow.nodes:
        names = axes_of(node.op)
        if node.status != "ok" or not names or not node.op.startswith("Conv") or node.op in RECURRENT:
            continue
        for edge in evidence.flow.into(node.id):
            shape = edge.spec.shape
            source = evidence.flow.node(edge.source)
            if source.kind == "input" and shape and len(shape) == len(names) + 1:
                fact = RowsConvolvedAlone(Who.of(node), names, shape)
                yield Finding.of(CONV_AXES.id, "silent", fact, (node.id,), (edge.id,), node.location)
