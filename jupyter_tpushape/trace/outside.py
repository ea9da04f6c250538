"""Layers that the program calls and that its model does not hold: fit changes the weights of a model, and theirs are none of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .unused import around

if TYPE_CHECKING:
    from .framework import Framework
    from .recorder import Call, Recorder


def outside(framework: Framework, recorder: Recorder, model: Any) -> Iterator[Call]:
    """The calls of such layers while the model ran, in their order; of those in a layer that is outside itself, only that one."""
    if not framework.is_model(model) or not framework.trained(model):
        return
    held = {id(one) for one in framework.variables(model)}
    found: dict[int, Call] = {}
    for call in recorder.calls:
        if call.kind != "layer" or not call.done or id(call.obj) in found or not getattr(call.obj, "trainable", True):
            continue
        own = framework.trained(call.obj)
        if not own or any(id(one) in held for one in own):
            continue
        above = [*around(call)]
        # What a loss computes with a network of its own is the loss's business.
        if all(one.kind == "layer" for one in above) and not any(id(one.obj) in found for one in above):
            found[id(call.obj)] = call
    yield from found.values()
