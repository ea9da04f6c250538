"""Softmaxes and attention that work over the samples of a batch."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Who
from .balanced import meant, softmax_axis
from .examples import sequential
from .facts.mixing import AttentionOverBatch, SoftmaxOverBatch
from .mixing import SOURCE, above, carried, of_a_loss
from .registry import check, rule

SOFTMAX = rule(
    "softmax-over-batch", "Softmax over the samples of a batch", severity="silent", source=SOURCE,
    fails=sequential("Gate(), L.Dense(1)", more="class Gate(L.Layer):\n    def call(self, x):\n        return x * tf.nn.softmax(x, axis=0)"),
    passes=sequential("Gate(), L.Dense(1)", more="class Gate(L.Layer):\n    def call(self, x):\n        return x * tf.nn.softmax(x, axis=1)"),
    doc="""Reported inside a model if a softmax sums over the batch axis and no other axis carries the batch. A matrix of every sample against every other
(contrastive learning) has two such axes and is not reported. Neither is a softmax in a loss.""",
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
            axis = node.config.get("axis", -1) if node.kind == "layer" else softmax_axis(evidence, node, edge)
            if not isinstance(axis, int) or axis % len(shape) not in grown or len(shape) < 2:
                continue
            if meant(evidence, node):
                continue
            where = next((item for item in [node, *above(evidence, node)] if item.kind == "layer"), node)
            fact = SoftmaxOverBatch(Who.of(node), Who.of(where) if where is not node else None)
            yield Finding.of(SOFTMAX.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)


def _attention(evidence: Evidence, node: Node) -> Iterator[Finding]:
    for edge in evidence.flow.into(node.id):
        shape = edge.spec.shape
        if edge.label in ("", "query", "value", "key") and shape and len(shape) == 2 and carried(evidence, edge) == {0: 1.0}:
            fact = AttentionOverBatch(Who.of(node), shape)
            yield Finding.of(SOFTMAX.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)
            return
