"""Candidates for a model that reproduces its input, and has other labels: the inputs as labels."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.restored import LabelsNotInputs
from ..edits.regroup import NAMES, Regroup
from .edits import Made, of


@of(LabelsNotInputs)
def inputs_as_labels(evidence: Evidence, finding: Finding, fact: LabelsNotInputs) -> Made:
    """The data of the only input in place of the labels; weights of the samples stay."""
    sample = evidence.sample
    if sample is None or len(evidence.x[0][0]) != 1 or len(evidence.y[0][0]) != 1:
        return
    function = sample.stages[0].function or "" if sample.kind in ("generator", "pydataset") and sample.stages else ""
    parts = 2 + bool(evidence.weight)
    element = ", ".join([NAMES[0], NAMES[0], *NAMES[2:parts]])
    yield (
        "Use the inputs as labels: (x, x)",
        [Regroup("data", parts, f"({element})", "", function)],
        "The output has the shape of the input, so each sample is compared with itself.",
    )
