"""Labels that mark several classes per sample under a softmax, whose probabilities share one sum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Finding, KeyPath, Who
from .compared import ends, kind_of, labels_seen
from .examples import sequential
from .facts.scores import SeveralMarked
from .registry import check, rule

MARKS = rule(
    "several-classes", "Labels mark several classes per sample under a softmax", severity="silent", source="the formula of softmax",
    fails=sequential("L.Dense(3, activation='softmax')", y="np.tri(8, 3, dtype='float32')", loss="'binary_crossentropy'"),
    passes=sequential("L.Dense(3, activation='sigmoid')", y="np.tri(8, 3, dtype='float32')", loss="'binary_crossentropy'"),
    doc="""Reported for a binary or categorical cross-entropy if the observed labels are vectors of 0 and 1 and at least a tenth of them have more than one 1.""",
)  # fmt: skip
_OFTEN = 0.1


@check(order=45)
def several_marked(evidence: Evidence) -> Iterator[Finding]:
    """Cross-entropies between a softmax, or what a categorical one takes for it, and labels of several classes."""
    for node in evidence.losses() if not evidence.where else ():
        labels, predictions = ends(evidence, node)
        kind = kind_of(node)
        if predictions is None or labels is None or kind not in ("binary", "categorical"):
            continue
        giver, shape = evidence.flow.node(predictions.source), predictions.spec.shape or ()
        softmax = giver.config.get("activation") == "softmax" or giver.op == "Softmax" or kind == "categorical"
        if softmax and len(shape) > 1 and (shape[-1] or 0) > 2 and labels.spec.shape == shape:
            share = _share(evidence, evidence.carried(labels))
            if share >= _OFTEN:
                fact = SeveralMarked(Who.of(giver), node.name, shape[-1] or 0, kind == "categorical")
                yield Finding.of(MARKS.id, "silent", fact, (giver.id, node.id), (predictions.id,), giver.location)


def _share(evidence: Evidence, path: KeyPath | None) -> float:
    """How many of the observed vectors of 0 and 1 have more than one 1; 0 where they have other values."""
    seen = labels_seen(evidence, path)
    if not seen or any(array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all() for array in seen):
        return 0.0
    return float(np.mean(np.concatenate([(array.sum(-1) > 1).reshape(-1) for array in seen])))
