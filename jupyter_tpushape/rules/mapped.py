"""What the functions of a pipeline do to their elements that only the running pipeline shows, or not even that."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_mapped import HeardCrop, HeardRow
from ..flow import Fact, Location, Shape
from ..flow.paths import flatten
from .facts.mapped import AxisEmptied, CropBeyond, RowMissing

# What looks up rows of a table.
_LOOKUPS = frozenset({"GatherV2", "Gather", "GatherNd", "ResourceGather", "ResourceGatherNd"})


def refused_by_kernels(evidence: Evidence, said: str) -> Fact | None:
    """The fact for the message of an operation that was running."""
    crop, row = hear(said, HeardCrop), hear(said, HeardRow)
    if crop is not None:
        return CropBeyond(crop.given, crop.wanted)
    if row is not None:
        functions = [stage.function for stage in evidence.stages if stage.op == "map" and not _LOOKUPS.isdisjoint(stage.detail.get("ops") or ())]
        return RowMissing(functions[0] if len(functions) == 1 else "", row.index, row.size)
    return None


def emptied_stage(evidence: Evidence) -> tuple[AxisEmptied, Location | None] | None:
    """The first function of the pipeline that makes an axis of size 0, and where it is."""
    for stage in evidence.stages:
        given = [shape for one in evidence.stages if one.name in stage.inputs for shape in _shapes(one.spec)]
        made = [shape for shape in _shapes(stage.spec) if 0 in shape]
        if stage.op == "map" and stage.function and made and given and not any(0 in shape for shape in given):
            return AxisEmptied(stage.function, max(given, key=len), made[0]), stage.location
    return None


def _shapes(spec: object) -> Iterator[Shape]:
    for _, leaf in flatten(spec):
        if getattr(leaf, "shape", None):
            yield leaf.shape
