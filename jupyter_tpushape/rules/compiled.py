"""Losses, metrics, labels and weights against the model's outputs: their names and their number."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.compiled import Compiled, Told
from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_contracts import HeardKeysMissing
from ..flow import Fact, Finding, KeyPath, Node, Shape, Spec
from .compared import class_labels, ends
from .facts.compiled import (
    Apart,
    LabelsInDict,
    LossesSorted,
    LossWeightsApart,
    MetricReads,
    NamelessOutputs,
    OutputsWithoutLoss,
    UnknownOutputs,
    What,
    WrongNumber,
)
from .registry import check, rule

_TWO = """
def build():
    i = keras.Input((8,)); m = keras.Model(i, [L.Dense(1, name="age")(i), L.Dense(2, name="size")(i)]); m.compile("sgd", %s); return m
def data():
    return np.zeros((8, 8), "float32"), {"age": np.zeros((8, 1), "float32"), "size": np.zeros((8, 2), "float32")}
"""
OUTPUTS = rule(
    "output-names", "Losses, metrics, labels or weights do not match the model's outputs", severity="error", source="Keras' compile, and the names of the outputs",
    fails=_TWO % '{"age": "mse", "height": "mse"}', passes=_TWO % '{"age": "mse", "size": "mse"}',
)  # fmt: skip
METRIC_LABELS = rule(
    "metric-labels", "A metric expects different labels than the loss", severity="error", source="the metric's update_state, run symbolically",
    fails="""
def build():
    m = keras.Sequential([keras.Input((8,)), L.Dense(5, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy", metrics=[keras.metrics.Precision()]); return m
def data():
    return np.zeros((8, 8), "float32"), np.zeros((8,), "int32")
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((8,)), L.Dense(5, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"]); return m
def data():
    return np.zeros((8, 8), "float32"), np.zeros((8,), "int32")
""",
)  # fmt: skip


def outputs_apart(evidence: Evidence) -> Fact | None:
    """The compile argument, labels or weights that do not match the outputs."""
    told: Compiled | None = evidence.facts.get("compile")
    if told is None or not evidence.outputs:
        return None
    labels, weights = _leaves(evidence.y), _leaves(evidence.weight)
    for what, given in (("loss", told.loss), ("labels", labels), ("metrics", told.metrics), ("weights", weights)):
        if what == "metrics" and evidence.where != "metric":
            continue
        # Which labels meet which outputs in a loss of the program's own is for its code to say.
        if what in ("labels", "weights") and "compute_loss" in evidence.facts.get("overrides", ()):
            continue
        # Outputs whose loss is None need no labels and no weights.
        if what in ("labels", "weights") and told.loss.none and given.count == (told.loss.count or 0) - told.loss.none:
            continue
        fact = _apart(what, given, told.outputs, len(evidence.outputs), bool(told.keyed))  # type: ignore[arg-type]
        if fact is not None:
            return fact
    sorted_apart = _losses_apart(told)
    if sorted_apart is not None:
        return sorted_apart
    apart = _weights_apart(told)
    if apart is not None and apart.kind in ("missing", "number"):
        return apart
    unknown = tuple(name for name in told.loss.names or () if name not in told.outputs)
    if unknown and len(told.outputs) == 1 and evidence.failed is not None and hear(evidence.failed.failure, HeardKeysMissing) is not None:
        return UnknownOutputs("loss", unknown, told.outputs)
    if told.loss.names and told.outputs and evidence.failed is not None and hear(evidence.failed.failure, HeardKeysMissing) is not None:
        return OutputsWithoutLoss(told.loss.names, told.outputs)
    return None


def _losses_apart(told: Compiled) -> LossesSorted | None:
    order = tuple(sorted(told.keyed))
    listed = told.loss.count == len(order) > 1 and (told.loss.mixed or told.weights.count == len(order))
    return LossesSorted(told.keyed, order, told.weights.count == len(order)) if listed and order != told.keyed else None


def _weights_apart(told: Compiled) -> LossWeightsApart | None:
    losses, weights, outputs = told.loss, told.weights, told.outputs
    if (len(outputs) < 2 and (weights.count or 0) < 2) or (weights.names is None and weights.count is None):
        return None
    number = len(losses.names) if losses.names is not None else losses.count or 1
    many = len(weights.names) if weights.names is not None else weights.count or 0
    keys = losses.names or ()

    def fact(kind: Apart, order: tuple[str, ...] = ()) -> LossWeightsApart:
        return LossWeightsApart(kind, weights.names or (), keys, outputs, number, many, order)

    if losses.names is not None and not told.keyed and {*losses.names} == {*outputs}:
        missing = weights.names is not None and not {*outputs} <= {*weights.names}
        return fact("missing") if missing else None
    every = losses.count == len(outputs) or {*keys} == {*outputs}
    if weights.names is not None and every and {*outputs} != {*weights.names}:
        return fact("missing")
    if number != many:
        return fact("number")
    if number == 1 and not keys and losses.count is None:
        return fact("all") if weights.names is not None else None
    if weights.names is not None and losses.names is not None:
        return None
    # Keys are sorted, and what is left is matched by position.
    if weights.names is not None and losses.names is None and {*weights.names} == {*outputs}:
        order = tuple(outputs[sorted(weights.names).index(name)] for name in weights.names)
        return fact("order", order) if order != weights.names else None
    if weights.names is None and losses.names is not None:
        order = tuple(sorted(losses.names))
        return fact("order", order) if order != losses.names else None
    return None


@check(order=47)
def loss_weights(evidence: Evidence) -> Iterator[Finding]:
    """Loss weights that Keras matches with other losses than the program means."""
    told: Compiled | None = evidence.facts.get("compile")
    if told is None or evidence.failure is not None or not evidence.outputs:
        return
    fact = _losses_apart(told) or _weights_apart(told)
    if fact is not None:
        yield Finding.of(OUTPUTS.id, "silent", fact)


@check(order=47)
def fewer_losses(evidence: Evidence) -> Iterator[Finding]:
    """Outputs behind the end of a list of losses, which are never trained."""
    given, count = evidence.facts.get("listed"), len(evidence.outputs)
    if given is not None and evidence.failure is None and 0 < given < count == len(evidence.y):
        names = tuple(node.name for node in evidence.flow.nodes if node.kind == "output")
        yield Finding.of(OUTPUTS.id, "silent", WrongNumber("loss", given, names, untrained=True))


@check(order=39)
def surplus_labels(evidence: Evidence) -> Iterator[Finding]:
    """Other numbers of arrays of labels than of outputs."""
    shared = labels_in_one(evidence)
    if shared or unread_labels(evidence):
        names = tuple(node.name for node in evidence.flow.nodes if node.kind == "output")
        yield Finding.of(OUTPUTS.id, "silent", WrongNumber("labels", len(evidence.y), names, shared=shared))


def unread_labels(evidence: Evidence) -> bool:
    """Whether only the first of several arrays of labels reaches the loss."""
    listed = all(len(path) == 2 and isinstance(path[1], int) for path, _ in evidence.y)
    return _lenient(evidence) and listed and len(evidence.y) > len(evidence.outputs) == 1 and bool(evidence.losses())


def labels_in_one(evidence: Evidence) -> bool:
    """Whether one array has the labels of all outputs on its axis 1, and each loss compares all of them with its own output."""
    if not _lenient(evidence) or len(evidence.y) != 1 or len(evidence.y[0][0]) != 1 or len(evidence.outputs) < 2:
        return False
    y = evidence.y[0][1].shape or ()
    rows = [spec.shape[1:] for _, spec in evidence.outputs if spec.shape]
    return y[1:2] == (len(rows),) and len(rows) == len(evidence.outputs) and all(row in (y[2:], (*y[2:], 1)) for row in rows)


def _lenient(evidence: Evidence) -> bool:
    own = {"train_step", "compute_loss"} & set(evidence.facts.get("overrides", ()))
    return evidence.framework == "tf_keras" and not evidence.where and "step" not in evidence.facts and not own


def _apart(what: What, given: Told, outputs: tuple[str, ...], count: int, keyed: bool) -> Fact | None:
    if given.names is not None and (count > 1 or keyed):
        if not outputs:
            return NamelessOutputs(what, given.names, count)
        unknown = tuple(name for name in given.names if name not in outputs)
        return UnknownOutputs(what, unknown, outputs) if unknown else None
    if given.names is not None and what == "labels" and count == 1 and given.names != outputs:
        return LabelsInDict(given.names, outputs[0] if outputs else "")
    if given.count is None or given.count == count or (count == 1 and what == "metrics"):
        return None
    names = outputs or tuple(f"output {i + 1}" for i in range(count))
    return WrongNumber(what, given.count, names) if count > 1 or (given.count > 1 and what != "weights") else None


def _leaves(found: list[tuple[KeyPath, Spec]]) -> Told:
    paths = [path for path, _ in found]
    keys = tuple(str(path[1]) for path in paths if len(path) == 2 and isinstance(path[1], str))
    if keys and len(keys) == len(paths):
        return Told(names=keys)
    if len(paths) == 1 and len(paths[0]) == 1:
        return Told(count=1)  # an array by itself
    return Told(count=len(paths)) if paths and all(len(path) == 2 for path in paths) else Told()


def metric_reads(node: Node, y: Shape, p: Shape, classes: bool) -> Fact | None:
    """A metric that receives class indices but expects vectors, or the reverse. ``classes``: the labels are class indices."""
    # All metrics together are no single one.
    if node.kind != "metric" or node.op in ("compile", "compute_metrics") or not classes or len(p) < 2 or p[-1] in (None, 1) or y not in (p[:-1], (*p[:-1], 1)):
        return None
    return MetricReads(node.name, y, p, "iou" in node.op.lower().replace("_", ""))


# The metrics of the framework's own that do not raise; each has a twin for class indices.
_OF_VECTORS = frozenset({"categoricalaccuracy", "topkcategoricalaccuracy", "categoricalcrossentropy"})


@check(order=41)
def metric_of_vectors(evidence: Evidence) -> Iterator[Finding]:
    """A metric that takes the argmax of labels and predictions, and receives class indices."""
    for node in evidence.flow.nodes if not evidence.where else ():
        name = node.op.lower().replace("_", "")
        labels, predictions = ends(evidence, node) if node.kind == "metric" and node.status == "ok" else (None, None)
        if labels is None or predictions is None or name not in _OF_VECTORS or any(one.parent == node.id for one in evidence.flow.nodes):
            continue
        if class_labels(evidence, labels, predictions):
            fact = MetricReads(node.name, labels.spec.shape or (), predictions.spec.shape or (), False, silent=True)
            yield Finding.of(METRIC_LABELS.id, "silent", fact, (node.id,), (predictions.id, labels.id), node.called)
