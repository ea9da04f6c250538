"""Windows over a series of which the last ones are shorter than those that they are batched with."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding
from ..flow.paths import flatten
from ..sources.values import Stage
from .data import DATA_RAISES
from .facts.data import ShortWindows
from .registry import check

# What keeps each window, whatever its length, and those that only change how they are drawn.
_KEEPS = frozenset({"map", "prefetch", "cache", "shuffle", "options", "enumerate", "model", "repeat"})
# Operations of a map's function that may give windows of all lengths one length.
_FILLS = ("Pad", "Concat", "Fill", "Tile", "Reshape", "Resize", "Gather", "Scatter", "Ensure", "Where", "If", "While", "Ragged", "Bincount")


@check(order=2)
def short_windows(evidence: Evidence) -> Iterator[Finding]:
    """Elements of several lengths in one batch, which the first batches do not show."""
    stages: dict[str, Stage] = {stage.name: stage for stage in getattr(evidence.sample, "stages", ())}
    stage = next((one for one in reversed(stages.values()) if one.op == "batch"), None)
    batch = stage
    shuffled = False
    while stage is not None and len(stage.inputs) == 1:
        stage = stages[stage.inputs[0]]
        if stage.op == "flat_map" and batch is not None and not evidence.where:
            series = stages[stage.inputs[0]] if len(stage.inputs) == 1 else None
            fact = _short(series, batch, shuffled) if series is not None and series.op == "window" and _varies(stage) else None
            if fact is not None:
                yield Finding.of(DATA_RAISES.id, "error", fact, location=stage.location)
            return
        ops = stage.detail.get("ops", ())
        if stage.op not in _KEEPS or not _varies(stage) or stage.detail.get("python") or any(op.startswith(_FILLS) for op in ops):
            return
        shuffled |= stage.op in ("shuffle", "repeat")


def _varies(stage: Stage) -> bool:
    """Whether the first axis of an element is unknown."""
    return any(leaf is not None and leaf.shape and leaf.shape[0] is None for _, leaf in flatten(stage.spec, "element"))


def _short(series: Stage, batch: Stage, shuffled: bool) -> ShortWindows | None:
    """The fact where a batch has windows of two lengths; in any order, where there are several that are short."""
    read = [series.detail.get(key) for key in ("elements", "size", "shift", "stride")]
    if series.detail.get("drop_remainder") or not all(isinstance(one, int) and one > 0 for one in read):
        return None
    count, size, shift, stride = read
    rows = batch.detail.get("batch_size") or 0
    lengths = [min(size, -(-(count - start) // stride)) for start in range(0, count, shift)]
    short = sum(length < size for length in lengths)
    last = len(lengths) // rows * rows if rows and batch.detail.get("drop_remainder") else len(lengths)
    groups = [lengths[start : start + rows] for start in range(0, last, rows)] if rows > 1 else []
    apart = short > 1 and len(lengths) > rows > 1 if shuffled else any(len(set(group)) > 1 for group in groups)
    return ShortWindows(size, short) if apart else None
