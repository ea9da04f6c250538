"""Losses that a program calls with labels and predictions in each other's place."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .compared import ends, kind_of
from .facts.loss_silent import LossOrder
from .registry import check, rule
from .upstream import ancestors

_STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__(); self.dense = L.Dense(1, activation="sigmoid"); self.of = keras.losses.BinaryCrossentropy()
    def call(self, x):
        return self.dense(x)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            p = self(x, training=True)
            loss = self.of(%s)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
def build():
    m = Net(); m.compile("sgd"); return m
def data():
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
"""
ORDER = rule(
    "loss-arguments", "Labels and predictions are exchanged", severity="silent",
    source="keras.losses.Loss.__call__(y_true, y_pred): a crossentropy takes the logarithm of its second argument",
    fails=_STEP % "p, y", passes=_STEP % "y, p",
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
        fact = LossOrder(
            node.name, Who.of(giver), labels.spec.shape or (), predictions is None, len(same) if len(same) == len(beside) else 0
        )
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
    """Whether a layer upstream has weights to train."""
    start = evidence.flow.node(edge.source)
    above = (start, *ancestors(evidence, start.id))
    return any(node.kind == "layer" and (node.family in _WEIGHTED or any(one.trainable for one in node.weights)) for node in above)


def _given(evidence: Evidence, edge: Edge) -> bool:
    """Whether a tensor is of the data."""
    start = evidence.flow.node(edge.source)
    return any(node.kind in ("input", "stage") for node in (start, *ancestors(evidence, start.id)))
