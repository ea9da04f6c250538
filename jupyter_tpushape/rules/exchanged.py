"""Labels of two outputs in each other's place, where their shapes do not tell."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, KeyPath, Node, Shape, Who
from .compared import ends, kind_of
from .facts.exchanged import LabelsExchanged
from .registry import check, rule

_TWO = """
def build():
    i = keras.Input((4,)); boxes, classes = L.Dense(3)(i), L.Dense(3, activation="softmax")(i)
    m = keras.Model(i, [boxes, classes]); m.compile("sgd", ["mse", "categorical_crossentropy"]); return m
def data():
    boxes, classes = np.linspace(0, 1, 24, dtype="float32").reshape(8, 3), np.eye(3, dtype="float32")[np.arange(8) %% 3]
    return np.zeros((8, 4), "float32"), [%s]
"""
EXCHANGED = rule(
    "labels-exchanged", "The labels of two outputs are in each other's place", severity="silent",
    source="the values of the labels, and what the losses of Keras compare", fails=_TWO % "classes, boxes", passes=_TWO % "boxes, classes",
    doc="""Reported if a categorical cross-entropy reads rows that do not sum to 1, and a loss for numbers reads one-hot vectors of the same shape. One of
the two alone may be meant.""",
)  # fmt: skip


@check(order=46)
def labels_exchanged(evidence: Evidence) -> Iterator[Finding]:
    """An output for classes and one for numbers, each with labels that only the other can mean."""
    losses = [(node, *_read(evidence, node)) for node in evidence.losses()] if not evidence.where else []
    for node, path, giver in losses:
        stats = evidence.label_stats.get(path) if path is not None else None
        if kind_of(node) != "categorical" or giver is None or path is None or stats is None or stats.shares or stats.whole or stats.binary:
            continue
        for other, its, beside in losses:
            found = evidence.label_stats.get(its) if its is not None else None
            alike = its is not None and _shape(evidence, path) == _shape(evidence, its)
            if kind_of(other) == "regression" and beside is not None and found is not None and found.one_hot and alike and its is not None:
                fact = LabelsExchanged(Who.of(giver), node.name, Who.of(beside), other.name, path, its, _shape(evidence, path))
                yield Finding.of(EXCHANGED.id, "silent", fact, (giver.id, node.id), location=giver.location)
                return


def _read(evidence: Evidence, node: Node) -> tuple[KeyPath | None, Node | None]:
    labels, predictions = ends(evidence, node)
    path = evidence.carried(labels) if labels is not None else None
    return path, evidence.flow.node(predictions.source) if predictions is not None else None


def _shape(evidence: Evidence, path: KeyPath) -> Shape:
    return next((spec.shape or () for at, spec in evidence.y if at == path), ())
