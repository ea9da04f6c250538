"""From a finding and the specs on both sides to candidate edits, the most likely first.

The order is what an expert would try: at the cause rather than at the symptom, one edit rather than two, and nothing
thrown away. Verification decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..examine.evidence import Evidence
from ..flow import Edit, Finding, elements
from ..internal import part_lost
from .edits import InputShape
from .makers.edits import Fix
from .makers.layers import general
from .makers.numbers import in_terms
from .table import AT_THE_LINE, FIRST, MAKERS, OWN, RAISED

# Weights of layers that are built on such a sample would fill the memory of this machine, and no step could be fed with it.
_MOST_VALUES = 2**31


@dataclass(frozen=True)
class Candidate:
    """Edits to try, with a title and a reason."""

    title: str
    edits: tuple[Edit, ...]
    reason: str = ""


def candidates(evidence: Evidence, finding: Finding) -> list[Candidate]:
    """Every candidate for a finding, in the order of the trials."""
    at_line = AT_THE_LINE if evidence.raised is not None and finding.rule in RAISED else ()
    makers = OWN[type(finding.fact)] if type(finding.fact) in OWN else (*FIRST, *at_line, *MAKERS.get(finding.rule, (general,)))
    found: list[Candidate] = []
    seen: set[str] = set()
    for make in makers:
        made: list[Fix] = []
        try:
            for fix in make(evidence, finding):
                made += [*in_terms(evidence, fix), fix]
        except Exception as error:
            part_lost(error)
        for title, edits, reason in made:
            key = repr(edits)
            # Without an edit it is the program as it was.
            if edits and key not in seen and not any(isinstance(edit, InputShape) and (elements(tuple(edit.shape)) or 0) >= _MOST_VALUES for edit in edits):
                seen.add(key)
                found.append(Candidate(title, tuple(edit.value for edit in edits), reason))
    return found
