"""A second look inside a layer of the user's own that broke while a model was being built.

Keras 3 infers the shapes of such a layer on a graph of its own, where nothing is recorded. So the call is made again by itself, on
placeholders: what broke is then the operation or the layer inside, on its own line, with what it was given.
"""

from __future__ import annotations

from typing import Any

from .framework import Framework
from .patience import ENDS, limited
from .recorder import Call, Recorder, recording
from .restore import left_as_found


def look_inside(adapter: Framework, recorder: Recorder) -> None:
    """Replaces the call that broke by the calls inside it, where these can be told apart."""
    call = recorder.failed
    if (
        call is None
        or call.kind != "layer"
        or call.opaque
        or call.children
        or call.given is None
        or adapter.builtin(call.obj)
        or not adapter.backend.open_axes
    ):
        return
    args, kwargs = call.given
    if not any(adapter.is_symbolic(tensor) for _, tensor in adapter.tensors_of(args, kwargs)):
        return
    mark, graph_before = len(recorder.calls), recorder.graph
    place = recorder.calls.index(call) if call in recorder.calls else mark
    recorder.failed = None

    def body(graph: Any) -> None:
        recorder.graph = graph
        made: dict[int, Any] = {}

        def stand_in(value: Any) -> Any:
            if not adapter.is_symbolic(value):
                return value
            if id(value) not in made:
                made[id(value)] = graph.placeholder(adapter.spec(value), "input")
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
    if broke is None or not any(item is broke for item in fresh):
        del recorder.calls[mark:]
        recorder.failed = call
        return
    # The new call of the layer stands where the old one stood.
    fresh[0].called = call.called
    recorder.calls[place : place + 1] = []
