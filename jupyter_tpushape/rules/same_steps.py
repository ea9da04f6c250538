"""A model that is to predict the next step, and is compared with the steps that it is fed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .compared import ends
from .facts.loss_silent import SameSteps
from .registry import check, rule
from .upstream import ancestors
from .words import SLICES

_NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__(); self.embed, self.walk, self.head = L.Embedding(9, 4), L.GRU(4, return_sequences=True), L.Dense(9)
    def call(self, x):
        return self.head(self.walk(self.embed(x[:, :-1])))
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        labels = x[:, %s]
        return keras.losses.sparse_categorical_crossentropy(labels, y_pred, from_logits=True)[0, 0]
def build():
    m = Net(); m.compile("sgd"); return m
def data():
    return np.zeros((8, 6), "int32"), np.zeros((8, 6), "int32")
"""
SAME = rule(
    "same-steps", "A model is compared with the steps that it is fed", severity="silent", source="teacher forcing: each step is compared with the next one",
    fails=_NET % ":-1", passes=_NET % "1:",
    doc="""Reported if a model embeds all steps but the last of a sequence, or all but the first, and a loss compares its predictions with the very same slice.
A model that reproduces a whole sequence is not reported, nor one whose ids are masked or changed before they are embedded.""",
)  # fmt: skip


@check(order=45)
def same_steps(evidence: Evidence) -> Iterator[Finding]:
    """The first loss of this kind."""
    for loss in evidence.flow.nodes if not evidence.where else ():
        for labels, predictions in _compared(evidence, loss):
            found = next(_both(evidence, labels, predictions), None)
            if found is not None:
                same, fed = found
                fact = SameSteps(loss.name, Who.of(fed), Who.of(same), _cut(same))
                yield Finding.of(SAME.id, "silent", fact, (same.id, fed.id, loss.id), (labels.id,), same.called)
                return


def _compared(evidence: Evidence, loss: Node) -> Iterator[tuple[Edge, Edge]]:
    """What a loss compares; of an operation that is one, either order of what it gets."""
    if loss.kind == "loss":
        labels, predictions = ends(evidence, loss)
        if labels is not None and predictions is not None:
            yield labels, predictions
    elif loss.kind == "op" and "crossentropy" in loss.op.lower().replace("_", ""):
        edges = evidence.flow.into(loss.id)
        yield from itertools.permutations(edges, 2) if len(edges) == 2 else ()


def _both(evidence: Evidence, labels: Edge, predictions: Edge) -> Iterator[tuple[Node, Node]]:
    """The slices of labels and of what is embedded for the predictions that take the same steps of one sequence."""
    compared = list(_cuts(evidence, labels))
    for layer in ancestors(evidence, predictions.source) if compared else ():
        for edge in evidence.flow.into(layer.id) if layer.family == "embedding" else ():
            for fed in _cuts(evidence, edge, plain=True):
                yield from ((one, fed) for one in compared if _alike(evidence, one, fed))


def _cuts(evidence: Evidence, edge: Edge, *, plain: bool = False) -> Iterator[Node]:
    """The slices that a tensor comes from; ``plain``: through casts alone."""
    node = evidence.flow.node(edge.source)
    for _ in range(4):
        if node.kind != "op":
            return
        if node.op.lower() in SLICES and _cut(node):
            yield node
            return
        given = evidence.flow.into(node.id)
        if len(given) != 1 or (plain and node.op.lower() not in ("cast", "convertelementtype", "convert_element_type")):
            return
        node = evidence.flow.node(given[0].source)


def _cut(node: Node) -> str:
    """The slice that the line of an operation takes, where it takes one of all steps but one."""
    text = node.called.text.replace(" ", "") if node.called is not None else ""
    found = [cut for cut in (":-1", "1:") if f"[:,{cut}]" in text]
    return found[0] if len(found) == 1 else ""


def _alike(evidence: Evidence, one: Node, other: Node) -> bool:
    """Whether two slices take the same steps of the same tensor."""
    sources = [{edge.source for edge in evidence.flow.into(node.id)} for node in (one, other)]
    return sources[0] == sources[1] and _cut(one) == _cut(other)
