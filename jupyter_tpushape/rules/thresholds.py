"""Thresholds of metrics against what the model returns: probabilities or logits."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Who
from .compared import ends, kind_of
from .examples import sequential
from .facts.scores import LogitsCut
from .registry import check, rule

_LOGITS = sequential(
    "L.Dense(1)",
    y="np.tile([0, 1], 4)",
    loss="keras.losses.BinaryCrossentropy(from_logits=True), metrics=[keras.metrics.BinaryAccuracy(threshold=%s)]",
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
    logits = {
        edge.source: node for node, edge in losses if edge is not None and kind_of(node) == "binary" and node.config.get("from_logits")
    }
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
