"""Windows over a series of which the last ones are shorter than those that they are batched with."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..flow import Location
from ..flow.paths import flatten
from ..sources.values import Stage
from .facts.data import ShortWindows

# What keeps each window, whatever its length; of maps, those whose results are as long.
_KEEPS = frozenset({"map", "prefetch", "cache", "shuffle", "options", "enumerate", "model", "repeat"})


def short_windows(evidence: Evidence) -> tuple[ShortWindows, Location | None] | None:
    """Elements of several lengths in one batch, which the first batches may not show, and the line that makes them."""
    stages: dict[str, Stage] = {stage.name: stage for stage in getattr(evidence.sample, "stages", ())}
    batch = stage = next((one for one in reversed(stages.values()) if one.op == "batch"), None)
    shuffled = False
    while batch is not None and stage is not None and len(stage.inputs) == 1:
        stage = stages[stage.inputs[0]]
        if stage.op == "flat_map":
            series = stages[stage.inputs[0]] if len(stage.inputs) == 1 else None
            fact = _short(series, batch, shuffled) if series is not None and series.op == "window" and _varies(stage) else None
            return (fact, stage.location) if fact is not None else None
        if stage.op not in _KEEPS or not _varies(stage) or (stage.op == "map" and not stage.detail.get("as_long")):
            return None
        shuffled |= stage.op in ("shuffle", "repeat")
    return None


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
