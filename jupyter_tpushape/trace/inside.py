"""Looks inside a custom layer that failed while a model was being built, by its builder or at its first call.

Keras 3 infers the shapes of such a layer on a separate graph, where nothing is recorded, and a builder that calls its model on arrays runs
operations that nobody sees. So the call is repeated alone, on placeholders: what failed is then the operation or the layer inside, on its own
line, with its arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..flow import Spec
from .framework import Framework
from .patience import ENDS, limited
from .recorder import Call, Port, Recorder, recording
from .restore import left_as_found
from .unknown import filled, ports, reopened, same_way


def look_inside(adapter: Framework, recorder: Recorder) -> None:
    """Replaces the failed call by the calls inside it, if these can be distinguished."""
    call = recorder.failed
    if call is None or call.kind != "layer" or call.opaque or call.given is None or adapter.builtin(call.obj):
        return
    # Where no trace has seen the operations, the layers inside are recorded, and give way to the same calls with what is between them.
    arrays = not any(adapter.is_symbolic(tensor) for _, tensor in adapter.tensors_of(*call.given))
    if recorder.graph is not None and (arrays or call.children):
        return
    mark = len(recorder.calls)
    fresh, broke = _called_again(adapter, recorder, call)
    if arrays and broke is not None and not _alike(call.failure, broke.failure):
        broke = None  # the code asks for values, which placeholders do not have
    if broke is not None and not adapter.backend.open_axes:
        second, _ = _called_again(adapter, recorder, call, second=True)
        del recorder.calls[mark + len(fresh) :]
        if same_way(fresh, second):
            reopened(ports(fresh), ports(second))
        else:
            broke = None
    if broke is None:
        del recorder.calls[mark:]
        recorder.failed = call
        return
    recorder.failed = broke
    # The new call of the layer stands where the old one stood.
    fresh[0].called, fresh[0].parent = call.called, call.parent
    old = _within(recorder.calls[:mark], call)
    recorder.calls[:] = [one for one in recorder.calls if id(one) not in old]


def look_before(adapter: Framework, recorder: Recorder) -> None:
    """Opens the custom layers whose result a built-in layer does not take, where an axis of unknown size came to it in there."""
    failed = recorder.failed
    if failed is None or failed.kind != "layer" or not adapter.builtin(failed.obj):
        return
    for call in _way_to(failed):
        own = call.kind == "layer" and call.given is not None and not call.children
        if not own or adapter.builtin(call.obj) or not _unknown(call.inputs) < _unknown(call.outputs):
            continue
        mark = len(recorder.calls)
        fresh, broke = _called_again(adapter, recorder, call)
        second, _ = _called_again(adapter, recorder, call, second=True) if not adapter.backend.open_axes else (fresh, None)
        recorder.failed = failed
        del recorder.calls[mark:]
        if broke is not None or len(fresh) < 2 or not same_way(fresh, second) or len(fresh[0].outputs) != len(call.outputs):
            continue
        reopened(ports(fresh), ports(second))
        fresh[0].called, fresh[0].parent = call.called, call.parent
        at = recorder.calls.index(call)
        recorder.calls[at : at + 1] = fresh
        made = {old.key: recorder.producers.get(new.key, fresh[0]) for old, new in zip(call.outputs, fresh[0].outputs, strict=True)}
        for port in (port for one in recorder.calls for port in one.inputs if port.producer is call):
            port.producer = made.get(port.key, fresh[0])


def _way_to(failed: Call) -> list[Call]:
    """The calls upstream that a call's inputs came through, the nearest first, as far back as an axis of unknown size was added."""
    found: list[Call] = []
    pending = [failed]
    while pending and len(found) < 16:
        for producer in [port.producer for port in pending.pop(0).inputs if (port.spec.shape or ()).count(None) > 1]:
            if isinstance(producer, Call) and all(producer is not one for one in found):
                found.append(producer)
                pending.append(producer)
    return found


def _unknown(found: list[Port]) -> int:
    return max(((port.spec.shape or ()).count(None) for port in found), default=0)


def _alike(at_once: BaseException | None, traced: BaseException | None) -> bool:
    """Whether two errors say the same kind of thing; TensorFlow has one of its own for operations that run at once."""
    return type(at_once) is type(traced) or (type(at_once).__name__ == "InvalidArgumentError" and isinstance(traced, ValueError))


def _within(calls: list[Call], outer: Call) -> set[int]:
    found = {id(outer)}
    for one in calls:
        if one.parent is not None and id(one.parent) in found:
            found.add(id(one))
    return found


def _called_again(adapter: Framework, recorder: Recorder, call: Call, second: bool = False) -> tuple[list[Call], Call | None]:
    """The calls inside one more call of a layer, and the one that broke. ``second``: with other sizes for unknown axes."""
    args, kwargs = call.given or ((), {})
    mark, graph_before = len(recorder.calls), recorder.graph
    recorder.failed = None

    def body(graph: Any) -> None:
        recorder.graph = graph
        made: dict[int, Any] = {}

        def stand_in(value: Any) -> Any:
            if not (adapter.is_tensor(value) or isinstance(value, np.ndarray)):
                return value
            if id(value) not in made:
                spec = adapter.spec(value)
                if spec.shape is not None and not adapter.backend.open_axes:
                    spec = Spec(filled(spec.shape, second), spec.dtype, spec.kind)
                made[id(value)] = graph.placeholder(spec, "input")
                producer = recorder.producers.get(adapter.key(value))
                if producer is not None:
                    recorder.produce(adapter.key(made[id(value)]), producer, made[id(value)])
            return made[id(value)]

        call.obj(*adapter.map_structure(stand_in, args), **adapter.map_structure(stand_in, kwargs))

    try:
        with left_as_found([adapter], [call.obj], alone=True), recording(recorder), adapter.scope(), limited("A layer"):
            adapter.backend.trace(recorder, adapter, body)
    except ENDS:
        pass
    finally:
        recorder.graph = graph_before
        recorder.stack.clear()
    fresh = recorder.calls[mark:]
    broke: Call | None = recorder.failed
    return fresh, broke if any(item is broke for item in fresh) else None
