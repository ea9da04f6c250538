"""Labels of another kind than the outputs: classes for a model that reproduces its input, and predictions without an axis of classes."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Shape, elements
from .compared import ends, kind_of
from .facts.loss_silent import LabelsNotInputs
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
