"""Candidates for values that are scaled twice."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.scaled import ScaledTwice
from ..edits import RemoveLayer
from .edits import Made, of, setting


@of(ScaledTwice)
def scaled_once(evidence: Evidence, finding: Finding, fact: ScaledTwice) -> Made:
    """The layer left out; where it also moves the values, with a scale for those that it gets."""
    if not fact.offset:
        yield f"Remove {fact.layer.name}", [RemoveLayer(fact.layer.name)], "The values are scaled before it."
    elif fact.lowest >= 0 and fact.before is None:
        yield setting(fact.layer, "scale", 2 * abs(fact.offset), "", "It then maps values from 0 to 1 to the range that it is made for.")
