"""A second trace with one more row: which axes of which tensors depend on the batch.

An axis that grows with the batch carries it. That tells a batch axis that was lost, moved, merged with
another or written as a number, which no single trace can tell apart from an axis that happens to have
the same size.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..flow import Shape
from ..trace.assemble import Assembler, clean_message
from ..trace.declared import transparent
from ..trace.locations import location
from ..trace.patience import timed_out
from ..trace.raised import Raised, raised_at
from ..trace.ran import Run
from ..trace.recorder import Call, Recorder
from ..trace.run import run


@dataclass
class Probe:
    """``axes``: for each edge id, the axes that grow with the batch, with what one row more adds.

    ``failure``: what broke with another batch size and holds with this one, as ``(node id, text)``; ``raised``: at which line.
    """

    rows: int = 0
    axes: dict[str, dict[int, float]] = field(default_factory=dict)
    failure: tuple[str, str] | None = None
    # Losses that layers added: (id of the layer's node, or "", its name, the shape, the axes that grow, the line).
    added: list[tuple[str, str, Shape, dict[int, float], Any]] = field(default_factory=list)
    raised: Raised | None = None
    # The axes that grow of what operations in front of the failure were given, for each edge.
    until: dict[str, dict[int, float]] = field(default_factory=dict)
    # The axes that grow of each tensor that met there.
    met: list[dict[int, float]] = field(default_factory=list)
    # The shapes of all tensors that met there, of the program's own as well, which have no edge.
    operands: list[Shape | None] = field(default_factory=list)


# Runs a program once more, with shapes of its leaves and a recorder.
Rerun = Callable[[Callable[[Any], Shape | None], Recorder], Run]


def probe(seen: Any, rerun: Rerun | None = None) -> Probe | None:
    """Runs the model again with another number of rows; ``None`` where nothing could differ.

    Not needed where the model's own declaration settled the trace: there the batch axis is transparent.

    Args:
        rerun: runs the program with shapes of its leaves and a recorder, where it is no plain call of the model.
    """
    first = seen.run
    if first is None or seen.adapter is None or first.error is not None or not seen.evidence.x:
        return None
    settled = first.fast or (rerun is None and _transparent(seen))
    own_loss = seen.adapter.is_model(seen.model) and seen.adapter.overrides(seen.model, "compute_loss")
    batch = _batch(seen)
    # A single row takes weights of any shape.
    if not batch or (settled and not own_loss and not _compares(seen) and not (batch == 1 and seen.evidence.weight)):
        return None
    rows, recorder = _other(seen, batch), Recorder()
    second = (rerun or _plain(seen))(_with_rows(seen, batch, rows), recorder)
    assembler = Assembler(seen.adapter.name)
    assembler.inputs(second.x, None, None)
    assembler.calls(seen.adapter, recorder, seen.model if rerun is None else None, door=seen.evidence.declared is not None)
    result = Probe(rows)
    before = [call for call in seen.recorder.calls if id(call) in seen.call_ids]
    after = [call for call in recorder.calls if id(call) in assembler.ids]
    if timed_out(second.error):
        # Slow is not broken.
        seen.limits.append("the axes that carry the batch are unknown: the second trace took too long")
        return None
    if second.error is not None:
        result.raised = raised_at(second.error, seen.adapter)
        place = len(after) - 1
        if 0 <= place < len(before):
            failing = next((i for i, call in enumerate(after) if call is recorder.failed), place)
            old, new = before[min(failing, len(before) - 1)], after[failing]
            result.failure = (seen.call_ids[id(old)], clean_message(second.error))
            result.operands = [port.spec.shape for port in new.inputs if port.label != "mask"]
            result.met = [_grown(a.spec.shape, b.spec.shape, rows - batch) for a, b in zip(old.inputs, new.inputs, strict=False)]
            for one, other in zip(before, after, strict=False):
                for a, b in zip(one.inputs, other.inputs, strict=False):
                    if (edge_id := seen.edge_ids.get((id(one), a.key))) is not None:
                        result.until[edge_id] = _grown(a.spec.shape, b.spec.shape, rows - batch)
        return result
    grew: dict[tuple[int, int], dict[int, float]] = {}
    # A function that goes through the rows by itself takes more steps for more of them: what comes before it is compared.
    pairs = itertools.takewhile(lambda two: len(before) == len(after) or _alike(*two), zip(before, after, strict=False))
    for old, new in pairs:
        for left, right in zip(old.inputs, new.inputs, strict=False):
            grew[id(old), left.key] = _grown(left.spec.shape, right.spec.shape, rows - batch)
    for (call, layer, spec, place, _), (_, _, more, _, _) in zip(seen.recorder.added, recorder.added, strict=False):
        if spec.shape is not None:
            node = seen.call_ids.get(id(call), "") if call is not None else ""
            result.added.append((node, str(getattr(layer, "name", "")), spec.shape, _grown(spec.shape, more.shape, rows - batch), location(place)))
    for old_end, new_end in zip(first.outputs, second.outputs, strict=False):
        grew[0, id(old_end[1])] = _grown(old_end[1].spec.shape, new_end[1].spec.shape, rows - batch)
    for (target, key), edge_id in seen.edge_ids.items():
        found = grew.get((target, key))
        if found is not None:
            result.axes[edge_id] = found
    return result


def _compares(seen: Any) -> bool:
    """Whether code of the program's own compares labels and predictions: in a loss or metric, or in one that takes the place of the call that tells of itself."""
    calls = seen.recorder.calls
    unseen = bool(seen.evidence.y) and not any(call.kind == "loss" for call in calls) and any(call.kind == "op" for call in calls)
    return unseen or any(not call.opaque for call in calls if call.kind in ("loss", "metric"))


def _alike(old: Call, new: Call) -> bool:
    return (old.kind, old.op, old.called) == (new.kind, new.op, new.called)


def _transparent(seen: Any) -> bool:
    """Whether the model keeps the batch axis by its declaration, although it was traced because other axes are open."""
    first, adapter, model = seen.run, seen.adapter, seen.model
    if first.step or first.feeds is None or not first.feeds.settled or adapter.overrides(model, "call"):
        return False
    return transparent(adapter, model, [(door.spec, leaf.spec) for door, leaf in first.feeds.pairs])


def broken(seen: Any, rerun: Rerun | None = None) -> list[dict[int, float]]:
    """Which axes of what the operation that broke was given grow with the batch; ``[]`` where a second look does not end there."""
    first, failed = seen.run, seen.recorder.failed
    batch = _batch(seen)
    if first is None or failed is None or seen.adapter is None or not batch or timed_out(first.error):
        return []
    # Of a loss this is worth a second look where a tensor seems to have the batch twice.
    if failed.kind != "op" and not any((port.spec.shape or ()).count(batch) > 1 for port in failed.inputs):
        return []
    rows, recorder = _other(seen, batch), Recorder()
    (rerun or _plain(seen))(_with_rows(seen, batch, rows), recorder)
    again = recorder.failed
    if again is None or (again.op, again.called, len(again.inputs)) != (failed.op, failed.called, len(failed.inputs)):
        return []
    return [_grown(left.spec.shape, right.spec.shape, rows - batch) for left, right in zip(failed.inputs, again.inputs, strict=True)]


def _batch(seen: Any) -> int | None:
    """How many samples there are: the rows of the inputs, where these differ (nodes and edges of a graph), those that have labels.

    Where the rows differ and none has labels (a label for each graph), no input has a row for each sample.
    """
    rows = [spec.shape[0] for _, spec in seen.evidence.x if spec.shape]
    labeled = [spec.shape[0] for _, spec in seen.evidence.y if spec.shape]
    if labeled and len(set(rows)) > 1 and labeled[0] not in rows:
        return None
    return next((count for count in rows if count in labeled[:1]), next(iter(rows), None))


def _other(seen: Any, batch: int) -> int:
    """Another number of rows, at least three, and the size of no axis of the data, which might be aligned with them."""
    sizes = {size for _, spec in (*seen.evidence.x, *seen.evidence.y, *seen.evidence.weight) for size in (spec.shape or ())[1:]}
    return next(rows for rows in itertools.count(batch + 1 if batch > 2 else batch + 2) if rows not in sizes)


def _with_rows(seen: Any, batch: int, rows: int) -> Callable[[Any], Shape | None]:
    shape = seen.shape_of()

    def grown(leaf: Any) -> Shape | None:
        found = shape(leaf)
        return (rows, *found[1:]) if found and found[0] == batch else found

    return grown


def _plain(seen: Any) -> Rerun:
    first, program = seen.run, seen.program
    return lambda shape, recorder: run(
        seen.adapter, seen.model, seen.sample, shape=shape, training=program.training, loss=program.loss,
        recorder=recorder, fast=first.fast, step=first.step,
    )  # fmt: skip


def _grown(before: Shape | None, after: Shape | None, more: int) -> dict[int, float]:
    if before is None or after is None or len(before) != len(after):
        return {}
    return {i: (b - a) / more for i, (a, b) in enumerate(zip(before, after, strict=True)) if a is not None and b is not None and a != b}


__all__ = ["Call", "Probe", "Rerun", "broken", "probe"]
