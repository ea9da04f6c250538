"""Candidates for what the values of an output mean: a unit for every class, probabilities instead of logits."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.ranges import OutOfRange
from ..edits import Loss
from .edits import Fix, Made, configure, setting, transform
from .ends import head_of, highest_of, loss_node, several, snake


def more_units(evidence: Evidence, finding: Finding) -> Made:
    """A unit for every class that was seen; for two classes and one sigmoid, the loss that is made for it."""
    head = head_of(evidence, evidence.flow.node(finding.nodes[0]))
    highest = highest_of(finding)
    if head is not None and highest is not None and getattr(finding.fact, "whole", True):
        key = "units" if isinstance(head.config.get("units"), int) else "filters"
        loss = loss_node(evidence, finding)
        if loss is not None and highest == 1 == head.config[key] and head.config.get("activation") == "sigmoid" and not several(evidence):
            yield (
                "Use binary_crossentropy, which expects one probability per label",
                [Loss(loss.id, "binary_crossentropy", was=snake(loss.op))],
                "A single sigmoid unit separates two classes.",
            )
        more = setting(head, key, highest + 1, f", for classes 0 to {highest}", "As many as the sampled labels need.")
        from_one: Fix = (
            "Number the classes from 0: labels minus 1",
            [transform(("y",), "shift", by=-1)],
            "Use this if your labels start at 1.",
        )
        fits = loss is not None and highest == head.config[key]
        # As many classes as units, and none of them 0: they are counted from 1.
        yield from (
            [from_one, more]
            if fits and isinstance(finding.fact, OutOfRange) and finding.fact.lowest == 1
            else [more, from_one]
            if fits
            else [more]
        )


def no_logits(evidence: Evidence, finding: Finding) -> Made:
    """from_logits=False behind an activation, or no activation."""
    giver, loss = evidence.flow.node(finding.nodes[0]), loss_node(evidence, finding)
    if loss is None:
        return
    plain = snake(loss.op)
    if not several(evidence):
        yield (
            "Set from_logits=False: the model already applies the activation",
            [Loss(loss.id, plain, {"from_logits": False}, plain)],
            "The loss then expects probabilities, which is what it receives.",
        )
    if giver.config.get("activation"):
        yield (
            f"Remove the activation of {giver.name}",
            [configure(giver.name, activation=None)],
            "The loss applies it itself, which is numerically more stable.",
        )
