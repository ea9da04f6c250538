"""Labels of another kind than the outputs: classes for a model that reproduces its input, predictions without an axis of classes, and values that the last activation cannot return."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Shape, Who, elements
from ..flow.observed import keeps
from .compared import ends, kind_of, seen_at
from .examples import sequential
from .facts.loss_silent import LabelsNotInputs
from .facts.ranges import OutOfReach
from .facts.scores import NoClassAxis
from .loss_rules import RANK
from .registry import check, rule
from .upstream import ancestors

_MODEL = """
def build():
    m = keras.Sequential([keras.Input((16, 16, 1)), L.Conv2D(4, 3, strides=2, padding="same"), L.Conv2DTranspose(1, 3, strides=2, padding="same")])
    m.compile("sgd", "mse"); return m
def data():
    x = np.zeros((8, 16, 16, 1), "float32")
"""
RESTORED = rule(
    "labels-not-inputs", "A model that reproduces its input has other labels", severity="error", source="tf_keras and Keras: a loss compares labels with outputs",
    fails=_MODEL + "    return x, np.arange(8) % 4\n", passes=_MODEL + "    return x, x\n",
    doc="""Reported if the output has the shape of the only input, a layer in between has fewer positions or values, and each label has fewer values than the
output. The severity is `silent` where the loss broadcasts the labels.""",
)  # fmt: skip
# With fewer values than this, an output as wide as the input says little.
_FEW = 16


def labels_not_inputs(evidence: Evidence, loss: Node) -> LabelsNotInputs | None:
    """The fact where a loss compares the outputs of a model that reproduces its input with labels that are no inputs."""
    labels, predictions = ends(evidence, loss)
    if labels is None or predictions is None or len(evidence.x) != 1 or len(evidence.y) != 1 or len(evidence.outputs) != 1:
        return None
    if kind_of(loss) not in ("regression", "binary"):
        return None
    x, y, p = evidence.x[0][1].shape, labels.spec.shape, predictions.spec.shape
    if not x or not y or not p or len(y) > 2 or x[1:] != p[1:] or None in p[1:]:
        return None
    values = elements(p[1:]) or 0
    if values < _FEW or (elements(y[1:]) or values) >= values or not _narrows(evidence, predictions):
        return None
    return LabelsNotInputs(loss.name, p, y)


def _narrows(evidence: Evidence, predictions: Edge) -> bool:
    """Whether what the output is computed from had fewer positions in between, or fewer values where it has no positions."""
    whole = predictions.spec.shape or ()
    made = [edge.spec.shape for node in ancestors(evidence, predictions.source) for edge in evidence.flow.out_of(node.id)]
    return any(_fewer(shape, whole) for shape in made if shape and None not in shape[1:])


def _fewer(shape: Shape, whole: Shape) -> bool:
    if len(whole) == 2 or len(shape) == 2:
        return len(shape) == 2 and (elements(shape[1:]) or 0) < (elements(whole[1:]) or 0)
    return len(shape) == len(whole) and (elements(shape[1:-1]) or 0) < (elements(whole[1:-1]) or 0)


@check(order=39)
def reproduced(evidence: Evidence) -> Iterator[Finding]:
    """The loss broadcasts such labels over all values of the output."""
    for loss in evidence.losses() if not evidence.where else ():
        fact = labels_not_inputs(evidence, loss)
        if fact is not None:
            _, predictions = ends(evidence, loss)
            assert predictions is not None
            giver = evidence.flow.node(predictions.source)
            yield Finding.of(RESTORED.id, "silent", fact, (giver.id, loss.id), (predictions.id,), giver.location or giver.called)


def classless(loss: Node, predictions: Shape) -> NoClassAxis | None:
    """What a sparse cross-entropy lacks in predictions of one number per sample."""
    return NoClassAxis(loss.name, predictions) if kind_of(loss) == "sparse" and len(predictions) == 1 else None


@check(order=31)
def no_class_axis(evidence: Evidence) -> Iterator[Finding]:
    """Losses that only fail at run time: their shapes are not known before."""
    for node in evidence.losses() if not evidence.where else ():
        _, predictions = ends(evidence, node)
        p = predictions.spec.shape if predictions is not None else None
        fact = classless(node, p) if p is not None else None
        if fact is not None and predictions is not None:
            giver = evidence.flow.node(predictions.source)
            yield Finding.of(RANK.id, "error", fact, (node.id,), (predictions.id,), giver.location or giver.called)


_Y = "np.linspace(-2, 3, 8, dtype='float32')[:, None]"
REACH = rule(
    "activation-range", "The last activation cannot return the labels", severity="note", source="the formulas of the activations, and the sampled labels",
    fails=sequential("L.Dense(1, activation='relu')", y=_Y), passes=sequential("L.Dense(1)", y=_Y),
    doc="""Reported for a loss of numbers, such as mse, if observed labels are outside of the range of the activation that the model ends in: negative
labels for a relu, or prices for a sigmoid. Labels that leave the range by less than 2% of the difference between the largest and the smallest are not
reported. A note: the shapes agree, and the values may be placeholders.""",
)  # fmt: skip
# What an activation returns; None: no bound.
_RANGES: dict[str, tuple[float, float | None]] = {
    "relu": (0, None), "softplus": (0, None), "exponential": (0, None), "relu6": (0, 6), "sigmoid": (0, 1), "hard_sigmoid": (0, 1), "softmax": (0, 1),
    "tanh": (-1, 1), "hard_tanh": (-1, 1), "softsign": (-1, 1),
}  # fmt: skip
# Losses that are smallest where predictions and labels are equal.
_EQUAL = frozenset({"meansquarederror", "mse", "meanabsoluteerror", "mae", "meanabsolutepercentageerror", "mape", "huber", "logcosh", "rootmeansquarederror"})
_SLACK = 0.02


@check(order=45)
def out_of_reach(evidence: Evidence) -> Iterator[Finding]:
    """Labels outside of the range of the model's last activation."""
    for loss in evidence.losses() if not evidence.where else ():
        labels, predictions = ends(evidence, loss)
        if labels is None or predictions is None or kind_of(loss) != "regression" or loss.op.lower().replace("_", "") not in _EQUAL:
            continue
        head = _bounded(evidence, evidence.flow.node(predictions.source))
        path = evidence.carried(labels)
        values = [seen for seen in seen_at(evidence, path) if seen.dtype.kind in "iuf" and seen.size] if head is not None else []
        if head is None or path is None or not values:
            continue
        flat = np.concatenate([seen.reshape(-1) for seen in values]).astype("float64")
        flat = flat[np.isfinite(flat)]
        if not flat.size:
            continue
        name = activation_of(head)
        low, high = _RANGES[name]
        lowest, highest = float(flat.min()), float(flat.max())
        slack = _SLACK * (highest - lowest)
        beyond = (flat < low - slack) | (flat > (np.inf if high is None else high) + slack)
        # Labels of one value alone are placeholders.
        if lowest == highest or not beyond.any():
            continue
        fact = OutOfReach(Who.of(head), name, low, high, path, lowest, highest, float(beyond.mean()), loss.name)
        yield Finding.of(REACH.id, "note", fact, (head.id, loss.id), (predictions.id, labels.id), head.location or head.called)


def activation_of(node: Node) -> str:
    """The activation that a layer ends in, by its name."""
    given = node.config.get("activation")
    if isinstance(given, str):
        return given
    return node.op.lower() if node.op in ("Softmax", "Sigmoid", "Tanh") else ""


def _bounded(evidence: Evidence, node: Node) -> Node | None:
    for _ in range(4):
        if activation_of(node) in _RANGES:
            return node
        before = evidence.flow.into(node.id)
        if activation_of(node) not in ("", "linear") or node.weights or len(before) != 1 or not _plain(evidence, node):
            return None
        node = evidence.flow.node(before[0].source)
    return None


def _plain(evidence: Evidence, node: Node) -> bool:
    return node.op in ("Reshape", "Flatten", "Permute") or (node.op in ("Activation", "Identity") and keeps(evidence.flow, node))
