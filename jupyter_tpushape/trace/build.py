"""Runs a builder: a function that builds a model and may raise an error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..replicas.mesh import live_distribution
from ..sources.state import kept_random_state
from .frameworks import adapter_for, loaded
from .patience import ENDS, limited
from .recorder import Call, Port, Recorder, Source, recording, unmasked


def build(builder: Callable[[], Any], recorder: Recorder, *, hollow: bool = False) -> tuple[Any, BaseException | None]:
    """Calls ``builder`` with the recorder active; returns what it built, or the error that it raised.

    With ``hollow``, the model is for tracing only: its variables have no values, if the framework can delay them.
    Name counters and random states are restored afterwards, so that a traced builder does not change the names and seeds of
    what the user creates next.
    """
    recorder.hollow, recorder.building, before = hollow, True, live_distribution()
    with watching(recorder):
        try:
            with limited("The function that builds the model"):
                return builder(), None
        except ENDS as error:
            return None, unmasked(error)
        finally:
            recorder.hollow = recorder.building = False
            # One that is set stays; of one in whose scope the model was built, the variables keep their layouts.
            recorder.distribution = now if (now := live_distribution()) is not before else recorder.scoped


Counters = list[tuple[Any, dict[str, Any]]]


@contextlib.contextmanager
def kept_counters(start: Counters = ()) -> Iterator[Counters]:  # type: ignore[assignment]
    """Restores the frameworks' name counters afterwards; inside, they start as ``start`` says, or unchanged.

    A layer is identified by its name, so a program that runs again must give its layers the same names.
    """
    saved = [(adapter, adapter.globals()) for adapter in loaded()]
    for adapter, state in start:
        adapter.restore_globals(state)
    try:
        yield saved
    finally:
        for adapter, state in saved:
            adapter.restore_globals(state)


@contextlib.contextmanager
def watching(recorder: Recorder, *, restore: bool = True) -> Iterator[None]:
    """Records everything inside; with ``restore``, also restores global state."""
    adapters = loaded()
    saved = [(adapter, adapter.globals()) for adapter in adapters] if restore else []
    recorder.walk = history(recorder)
    with recording(recorder), kept_random_state() if restore else contextlib.nullcontext():
        try:
            yield
        finally:
            recorder.walk = None
            for adapter, state in saved:
                adapter.restore_globals(state)


def history(recorder: Recorder) -> Callable[[Any, dict[int, Any]], Any]:
    """Finds the origin of a symbolic tensor that no recorded call returned: an ``Input``, or a call before the recording."""
    sources: dict[int, Source] = {}

    def find(tensor: Any, producers: dict[int, Any], depth: int = 0) -> Any:
        known = producers.get(id(tensor))
        if known is not None or depth > 400:
            return known
        adapter = adapter_for(tensor)
        made = adapter.origin(tensor) if adapter is not None else None
        if adapter is None or made is None:
            return None
        operation, inputs = made
        if isinstance(operation, adapter.InputLayer):
            if id(operation) not in sources:
                sources[id(operation)] = Source(str(operation.name), "x")
                recorder.inputs.append((sources[id(operation)], operation, adapter.spec(tensor)))
            producer: Any = sources[id(operation)]
        else:
            layer = adapter.is_layer(operation)
            ports = [Port(adapter.spec(item), find(item, producers, depth + 1), "", id(item)) for item in inputs]
            producer = Call(
                len(recorder.calls), adapter.kind(operation) if layer else "op", str(operation.name),
                adapter.op_name(operation) if layer else type(operation).__name__, operation, None, True, ports, framework=adapter.name, done=True,
            )  # fmt: skip
            recorder.calls.append(producer)
        recorder.produce(id(tensor), producer, tensor)
        return producer

    return find
