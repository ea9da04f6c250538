"""A second look with one row more: which axes of which tensors depend on the batch.

An axis that grows with the batch carries it. That tells a batch axis that was lost, moved, merged with
another or written as a number, which no single trace can tell apart from an axis that happens to have
the same size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..flow import Shape
from ..trace.assemble import Assembler, clean_message
from ..trace.patience import timed_out
from ..trace.raised import Raised, raised_at
from ..trace.recorder import Call, Recorder
from ..trace.run import Run, run


@dataclass
class Probe:
    """``axes``: for each edge id, the axes that grow with the batch, with what one row more adds.

    ``failure``: what broke with another batch size and holds with this one, as ``(node id, text)``; ``raised``: at which line.
    """

    rows: int = 0
    axes: dict[str, dict[int, float]] = field(default_factory=dict)
    failure: tuple[str, str] | None = None
    raised: Raised | None = None


def probe(seen: Any, rerun: Callable[[Callable[[Any], Shape | None], Recorder], Run] | None = None) -> Probe | None:
    """Runs the model again with another number of rows; ``None`` where nothing could differ.

    Not needed where the model's own declaration settled the trace: there the batch axis is transparent.

    Args:
        seen: the look at the program.
        rerun: runs the program with shapes of its leaves and a recorder, where it is no plain call of the model.
    """
    first = seen.run
    if first is None or seen.adapter is None or first.error is not None or not seen.evidence.x:
        return None
    if first.fast and not any(not call.opaque for call in seen.recorder.calls if call.kind == "loss"):
        return None
    shape = seen.shape_of()
    batch = next((spec.shape[0] for _, spec in seen.evidence.x if spec.shape), None)
    if not batch:
        return None
    rows = batch + 1 if batch > 2 else batch + 2

    def grown(leaf: Any) -> Shape | None:
        found = shape(leaf)
        return (rows, *found[1:]) if found and found[0] == batch else found

    recorder = Recorder()
    program = seen.program
    again = rerun or (
        lambda shape, recorder: run(
            seen.adapter, seen.model, seen.sample, shape=shape, training=program.training, loss=program.loss,
            recorder=recorder, fast=first.fast, step=first.step,
        )
    )  # fmt: skip
    second = again(grown, recorder)
    assembler = Assembler(seen.adapter.name)
    assembler.inputs(second.x, None, None)
    assembler.calls(seen.adapter, recorder, seen.model if rerun is None else None, door=seen.evidence.declared is not None)
    result = Probe(rows)
    before = [call for call in seen.recorder.calls if id(call) in seen.call_ids]
    after = [call for call in recorder.calls if id(call) in assembler.ids]
    if timed_out(second.error):
        # Slow is not broken.
        seen.limits.append("which axes carry the batch: the second trace took too long")
        return None
    if second.error is not None:
        result.raised = raised_at(second.error, seen.adapter)
        place = len(after) - 1
        if 0 <= place < len(before):
            failing = next((i for i, call in enumerate(after) if call is recorder.failed), place)
            result.failure = (seen.call_ids[id(before[min(failing, len(before) - 1)])], clean_message(second.error))
        return result
    if len(before) != len(after):
        return None
    grew: dict[tuple[int, int], dict[int, float]] = {}
    for old, new in zip(before, after, strict=True):
        for left, right in zip(old.inputs, new.inputs, strict=False):
            grew[id(old), left.key] = _grown(left.spec.shape, right.spec.shape, rows - batch)
    for old_end, new_end in zip(first.outputs, second.outputs, strict=False):
        grew[0, id(old_end[1])] = _grown(old_end[1].spec.shape, new_end[1].spec.shape, rows - batch)
    for (target, key), edge_id in seen.edge_ids.items():
        found = grew.get((target, key))
        if found is not None:
            result.axes[edge_id] = found
    return result


def _grown(before: Shape | None, after: Shape | None, more: int) -> dict[int, float]:
    if before is None or after is None or len(before) != len(after):
        return {}
    return {i: (b - a) / more for i, (a, b) in enumerate(zip(before, after, strict=True)) if a is not None and b is not None and a != b}


__all__ = ["Call", "Probe", "probe"]
