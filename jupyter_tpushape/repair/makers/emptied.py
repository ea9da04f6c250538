"""Candidates for a layer that is narrower than the slices that are taken of its output."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons_read import EmptySlice, SliceEmpty
from .edits import Made, configure, named
from .line import lines_at, written_in


def as_wide(evidence: Evidence, finding: Finding) -> Made:
    """The size that all slices need, as the end of the last one is written, else as a number."""
    fact = finding.fact
    gone = fact.slice if isinstance(fact, EmptySlice) else fact.reason if isinstance(fact, OperationRaised) else None
    if not isinstance(gone, SliceEmpty) or not gone.argument:
        return
    node = named(evidence, gone.giver)
    why = f"The slices reach up to {gone.stop}."
    for line in lines_at(evidence, node.location)[:1] if node is not None and not gone.end.isdigit() else ():
        assert node is not None
        fits = [one for one in written_in(line, node, gone.argument) if line.number(one) in (None, gone.size)]
        if len(fits) == 1:
            yield f"Set {gone.argument}={gone.end} on {gone.giver}", [line.edit(fits[0], gone.end)], why
    yield f"Set {gone.argument}={gone.stop} on {gone.giver}", [configure(gone.giver, **{gone.argument: gone.stop})], why
