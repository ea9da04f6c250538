"""Models that are called inside another program, and broke there: what they declare beside what they were given."""

from __future__ import annotations

from dataclasses import dataclass

from ..flow import Shape
from ..trace.assemble import Assembler
from ..trace.doors import accepted
from ..trace.framework import Framework
from ..trace.recorder import Recorder


@dataclass(frozen=True)
class OpenDoor:
    """The model's node, the shape that it declares, the one that it was given, and the node that this came from.

    ``built``: it declares none, and took the shape of its first call for one.
    """

    node: str
    wanted: Shape
    given: Shape
    giver: str | None
    built: bool


def undeclared(adapter: Framework, recorder: Recorder) -> list[str]:
    """Sequential models without an Input."""
    return [
        model.name for model, layers in recorder.sequences if layers and not isinstance(layers[0], (adapter.InputLayer, adapter.Model))
        and not adapter.is_tensor(layers[0])
    ]  # fmt: skip


def open_door(adapter: Framework, recorder: Recorder, assembler: Assembler, root: object) -> OpenDoor | None:
    """The innermost model around the call that failed that was given other sizes than it declares.

    A Sequential model, and any of tf_keras that a program calls by itself, lets them in; a layer behind the door then raises.
    """
    call = recorder.failed.parent if recorder.failed is not None else None
    while call is not None:
        declared = list(getattr(call.obj, "inputs", None) or []) if adapter.is_model(call.obj) and call.obj is not root else []
        if len(declared) == 1 == len(call.inputs) and id(call) in assembler.ids:
            want, got = adapter.spec(declared[0]), call.inputs[0].spec
            if want.shape and got.shape and not accepted(want, got):
                return OpenDoor(
                    assembler.ids[id(call)], want.shape, got.shape, assembler.source_of(call.inputs[0]), call.obj.name in undeclared(adapter, recorder)
                )
        call = call.parent
    return None
