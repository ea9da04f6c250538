"""Candidates for scores of two classes: a sigmoid in place of a softmax over one unit, and where a metric cuts logits."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.compared import kind_of, labels_seen
from ...rules.facts.scores import LogitsCut, SingleUnit
from ..edits import Edit, Loss, MetricArgument, MetricExchanged
from .edits import Made, configure, named, of
from .ends import label_path, loss_node, several, snake


@of(SingleUnit)
def sigmoid_of_one(evidence: Evidence, finding: Finding, fact: SingleUnit) -> Made:
    """A sigmoid, where the labels are zeros and ones."""
    giver, loss = named(evidence, fact.head.name), loss_node(evidence, finding)
    seen = labels_seen(evidence, label_path(evidence, finding))
    if giver is None or loss is None or not seen or any(not ((one == 0) | (one == 1)).all() for one in seen):
        return
    edits: list[Edit] = (
        [configure(giver.name, activation="sigmoid")] if giver.config.get("activation") in ("softmax", "linear", None) else []
    )
    if not edits:
        return
    if kind_of(loss) == "binary":
        yield f"Use a sigmoid on {giver.name}", edits, "It is the probability of label 1."
    elif kind_of(loss) == "categorical" and not several(evidence):
        edits.append(Loss(loss.id, "binary_crossentropy", was=snake(loss.op)))
        yield f"Use a sigmoid on {giver.name}, and binary_crossentropy", edits, "It is the probability of label 1."


@of(LogitsCut)
def cut_at_zero(evidence: Evidence, finding: Finding, fact: LogitsCut) -> Made:
    """The threshold of a metric as a logit."""
    node = evidence.flow.node(finding.nodes[0])
    why = "A logit above 0 is a probability above 0.5."
    yield f"Set threshold=0.0 on the metric {node.name}", [MetricArgument(node.name, "BinaryAccuracy", "threshold", 0.0)], why
    yield (
        f"Replace the metric {node.name} by BinaryAccuracy(threshold=0.0)",
        [MetricExchanged(node.name, "BinaryAccuracy", {"threshold": 0.0})],
        why,
    )
