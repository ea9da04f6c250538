"""Arrays with a row for each position of a sample, where the other has a row for each sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..examine.evidence import Evidence
from ..flow import KeyPath, Shape


def flattened_rows(evidence: Evidence, counts: Sequence[int]) -> tuple[KeyPath, Shape] | None:
    """The array whose rows are the positions of the other's samples, and the axes of these positions; ``None`` where the numbers do not say so."""
    leaves = list(evidence.sample.leaves("x", "y")) if evidence.sample is not None and len(counts) == 2 else []
    # Of arrays, a leaf has the rows of the whole.
    rows = [(path, leaf.shape or ()) for path, leaf in leaves]
    if len(rows) != 2 or min(counts) < 1 or max(counts) % min(counts):
        return None
    each = max(counts) // min(counts)
    many, few = (0, 1) if counts[0] > counts[1] else (1, 0)
    inner = [shape[1:-1] for shape in [rows[few][1], *(spec.shape or () for _, spec in evidence.outputs)]] + [rows[few][1][1:]]
    for axes in inner:
        if axes and None not in axes and each > 1 and math.prod(n or 0 for n in axes) == each:
            return rows[many][0], axes
    return None
