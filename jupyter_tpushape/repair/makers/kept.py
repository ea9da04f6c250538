"""Candidates for what a compiled step assigns to attributes, where it is lost."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.mesh import StateLost
from ...rules.words import listed
from ...trace.locations import file_of
from ..edits import SeedState, StateVariables
from .edits import Made, of


@of(StateLost)
def in_variables(evidence: Evidence, finding: Finding, fact: StateLost) -> Made:
    """All that the object keeps so in variables of its own; a loss has none."""
    file = _file(evidence, finding)
    if fact.random or fact.inner or fact.holder == "loss" or finding.location is None or not file:
        return
    held = [one[1] for one in evidence.facts.get("kept", ()) if one[0] == fact.owner and not one[2] and not one[4]]
    names = list(dict.fromkeys(held))
    yield (
        f"Keep {listed(tuple(f'self.{name}' for name in names))} in {'a variable' if len(names) == 1 else 'variables'}",
        [StateVariables(fact.owner, file=file, line=finding.location.line, attributes=names, metric=fact.holder == "metric")],
        "Variables are part of the state that each step receives and returns.",
    )


@of(StateLost)
def in_seed(evidence: Evidence, finding: Finding, fact: StateLost) -> Made:
    """A seed generator for a random key."""
    file = _file(evidence, finding)
    if fact.random and not fact.inner and finding.location is not None and file:
        yield (
            f"Replace the key in self.{fact.attribute} with a SeedGenerator",
            [SeedState(fact.owner, file=file, line=finding.location.line, attribute=fact.attribute)],
            "Its state is a variable, so every step draws new numbers.",
        )


def _file(evidence: Evidence, finding: Finding) -> str:
    """The file of the line as it was written; a changed text runs under a name of its own."""
    file = file_of(finding.location) if finding.location is not None else ""
    return str(evidence.facts.get("aliases", {}).get(file, file))
