"""What an optimizer does behind the loss, where that is more than the framework's own code for the weights it was built for."""

from __future__ import annotations

from typing import Any

from .framework import Framework
from .locations import of_the_user
from .patience import ENDS, limited
from .raised import innermost
from .recorder import Call, Recorder, unmasked

_CLASSES = ("keras.", "tf_keras.")


def of_the_framework(optimizer: Any) -> bool:
    """Whether an optimizer's class is one of Keras's own."""
    return str(type(optimizer).__module__).startswith(_CLASSES)


def updates(adapter: Framework, model: Any) -> bool:
    """Whether the optimizer's step can fail: it runs code of the user's own, or was built before."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or adapter.backend.replicated or not adapter.trained(model):
        return False
    own = not of_the_framework(optimizer) or any(of_the_user(one) for one in vars(optimizer).values())
    return own or bool(optimizer.built) or any(of_the_user(getattr(one, "constraint", None)) for one in adapter.trained(model))


def updated(adapter: Framework, recorder: Recorder, model: Any, loss: Any) -> BaseException | None:
    """Runs the optimizer's step; what it raised, with a node for it behind the loss."""
    try:
        with limited("The optimizer's step"):
            adapter.update(model)
    except ENDS as raised:
        error = unmasked(raised)
        optimizer, found = model.optimizer, innermost(error)
        call = Call(len(recorder.calls), "op", str(getattr(optimizer, "name", "optimizer")), type(optimizer).__name__, framework=adapter.name)
        call.called = found[1] if found is not None else None
        call.inputs = [recorder.port(adapter, loss, "loss")] if adapter.is_tensor(loss) else []
        call.failure = error
        recorder.calls.append(call)
        recorder.failed = call
        return error
    return None
