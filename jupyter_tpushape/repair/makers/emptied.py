"""Candidates for a layer that is narrower than the slices that are taken of its output."""

from __future__ import annotations

import sys

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons_read import EmptySlice, SliceEmpty
from ..text.arguments import argument
from ..text.names import positions_of
from .edits import Made, configure, named
from .line import lines_at, makers_of


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
        positions = positions_of(getattr(getattr(sys.modules.get(evidence.framework), "layers", None), node.op, None))
        written = [argument(call, gone.argument, positions) for call in makers_of(line, node)]
        fits = [one for one in written if one is not None and line.number(one) in (None, gone.size)]
        if len(fits) == 1:
            yield f"Set {gone.argument}={gone.end} on {gone.giver}", [line.edit(fits[0], gone.end)], why
    yield f"Set {gone.argument}={gone.stop} on {gone.giver}", [configure(gone.giver, **{gone.argument: gone.stop})], why
