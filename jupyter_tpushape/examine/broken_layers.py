"""What a layer that broke was made of or handed, as only the objects themselves tell."""

from __future__ import annotations

from ..flow import Location, Shape, Who
from ..trace.framework import Framework
from ..trace.locations import location
from ..trace.recorder import Call, Recorder


def initial_shape(recorder: Recorder | None) -> tuple[str, Shape, Shape, Location | None] | None:
    """A weight of the layer that broke whose initializer returned another shape: its name, the two shapes, and the initializer's line."""
    call = recorder.failed if recorder is not None and recorder.initial else None
    while recorder is not None and call is not None:
        held = {id(one) for one in getattr(call.obj, "variables", ()) or ()}
        for one in recorder.initial:
            # A layer that the trace has built is unbuilt again.
            if one.layer is call.obj or id(one.variable) in held:
                return str(one.variable.name), one.want, one.got, location(one.line)
        call = call.parent
    return None


def on_one_sample(adapter: Framework, call: Call | None) -> tuple[Who, Shape] | None:
    """The layer or model that a mapped function called on one sample, and the sample's shape; the outermost that got it."""
    found = None
    while call is not None:
        tensors = [tensor for _, tensor in adapter.tensors_of(*call.given)] if call.given is not None else []
        mapped = [tensor for tensor in tensors if adapter.backend.is_mapped(tensor)]
        if mapped and call.kind == "layer":
            found = Who(call.name, call.op), adapter.spec(mapped[0]).shape or ()
        call = call.parent
    return found
