"""From a finding and the specs on both sides to candidate edits, the most likely first.

The order is what an expert would try: at the cause rather than at the symptom, one edit rather than two, and nothing
thrown away. Verification decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..examine.evidence import Evidence
from ..flow import Edit, Finding
from ..internal import part_lost
from .makers.edits import Fix
from .makers.layers import general
from .table import AT_THE_LINE, FIRST, MAKERS, RAISED


@dataclass(frozen=True)
class Candidate:
    """Edits to try, with a title and a reason."""

    title: str
    edits: tuple[Edit, ...]
    reason: str = ""


def candidates(evidence: Evidence, finding: Finding) -> list[Candidate]:
    """Every candidate for a finding, in the order of the trials."""
    at_line = AT_THE_LINE if evidence.raised is not None and finding.rule in RAISED else ()
    found: list[Candidate] = []
    seen: set[str] = set()
    for make in (*FIRST, *at_line, *MAKERS.get(finding.rule, (general,))):
        made: list[Fix] = []
        try:
            made.extend(make(evidence, finding))
        except Exception as error:
            part_lost(error)
        for title, edits, reason in made:
            key = repr(edits)
            if key not in seen:
                seen.add(key)
                found.append(Candidate(title, tuple(edit.value for edit in edits), reason))
    return found
