"""Candidates for labels that the last activation cannot return."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding, KeyPath
from ...rules.compared import seen_at
from ...rules.facts.out_of_reach import OutOfReach
from ...sources.stats import stats_of
from .edits import Made, configure, left_out, of, transform

# Pixels have 256 values, and pictures at least so many in a sample.
_BRIGHT, _PIXELS = 32, 16


@of(OutOfReach)
def pictures_scaled(evidence: Evidence, finding: Finding, fact: OutOfReach) -> Made:
    """Bytes of pictures from 0 to 1, in the labels and in the data of the same range."""
    seen = stats_of(seen_at(evidence, fact.path))
    shape = next((spec.shape for path, spec in evidence.y if path == fact.path), None) or ()
    pixels = len(shape) > 2 or (len(shape) == 2 and (shape[1] or 0) >= _PIXELS)
    if seen is None or not seen.whole or not pixels or fact.high != 1 or not (fact.lowest >= 0 and _BRIGHT <= fact.highest <= 255):
        return
    alike = [path for path, spec in evidence.x if spec.shape == shape and _highest(evidence, path) == fact.highest]
    edits = [transform(path, "scale", by=255) for path in (*alike, fact.path)]
    yield (
        f"Divide the {'data and the ' if alike else ''}labels by 255",
        edits,
        "Bytes then become values from 0 to 1, which the activation returns.",
    )


def _highest(evidence: Evidence, path: KeyPath) -> float | None:
    found = stats_of(seen_at(evidence, path))
    return found.maximum if found is not None else None


@of(OutOfReach)
def without_activation(evidence: Evidence, finding: Finding, fact: OutOfReach) -> Made:
    """The layer without its activation, which then returns any number."""
    node = evidence.flow.node(finding.nodes[0])
    why = "It then returns any number, as the labels need."
    if node.op == "Activation" or not node.config.get("activation"):
        yield f"Remove {node.name}: a regression ends without an activation", [left_out(node.name)], why
    else:
        yield f"Set activation=None on {node.name}", [configure(node.name, activation=None)], why
