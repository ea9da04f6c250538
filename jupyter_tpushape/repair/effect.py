"""The effect of a fix: shapes before and after, and added parameters."""

from __future__ import annotations

import contextlib

from ..examine import Examined
from ..flow import Effect, show_shape


def effect_of(seen: Examined, again: Examined) -> Effect:
    """The effect of an edit, from the examined programs before and after."""
    before = next((spec.shape for _, spec in seen.evidence.outputs), None)
    after = next((spec.shape for _, spec in again.evidence.outputs), None)
    old, new = _parameters(seen), _parameters(again)
    parts = []
    if after is not None:
        ends = "the loss" if again.evidence.y and again.evidence.losses() else "the output"
        parts.append(f"reaches {ends}; predictions {show_shape(before) + ' → ' if before and before != after else ''}{show_shape(after)}")
    if old is not None and new is not None and old != new:
        parts.append(f"{new - old:+,} parameters")
    elif new is not None and old is None:
        parts.append(f"{new:,} parameters")
    return Effect(before, after, after, (new or 0) - (old or 0) if old is not None else 0, "; ".join(parts))


def _parameters(seen: Examined) -> int | None:
    """The number of parameters of a model; ``None`` if it is not built, or failed before all layers were built."""
    if seen.model is None or seen.evidence.where == "build":
        return None
    if seen.evidence.where and not _built(seen.model):
        return None
    count = sum(node.params for node in seen.evidence.flow.nodes)
    with contextlib.suppress(Exception):
        count = int(seen.model.count_params())
    # A product of many sizes may have more digits than Python writes.
    return count if count < 2**63 else None


def _built(model: object) -> bool:
    """Whether all of its layers are built: one that failed half way says so of itself, whatever its parts say."""
    layers = getattr(model, "_flatten_layers", None)
    return all(getattr(part, "built", False) for part in (layers() if callable(layers) else [model]))
