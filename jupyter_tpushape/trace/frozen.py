"""Functions of Keras 3 on TensorFlow that were compiled too early: while Keras inferred shapes, when weights are constants.

Keras calls a layer that it cannot build otherwise on a graph of its own. A ``tf.function`` in that call is traced there, the weights that
the call creates are numbers to it, and the training step takes the function as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .locations import defined
from .reach import is_graph_function

if TYPE_CHECKING:
    from .framework import Framework
    from .recorder import Call, Recorder


@dataclass(frozen=True)
class Frozen:
    """The call of the layer, the method that is compiled, its line, and the layers whose weights it does not read."""

    call: Call
    function: str
    place: tuple[str, int] | None
    layers: tuple[str, ...]


def frozen(framework: Framework, recorder: Recorder, graph: Any, model: Any) -> Iterator[Frozen]:
    """The methods of traced layers that a step takes as they are, with weights that are trained and that nothing reads."""
    trained = framework.trained(model) if framework.is_model(model) else []
    read = framework.backend.captured(graph, trained)
    unread = {id(one) for one, known in zip(trained, read, strict=True) if not known and id(one) not in recorder.read}
    seen = {id(call.obj) for call in recorder.calls}
    for call in recorder.calls if unread else ():
        methods = list(_compiled(call.obj)) if call.kind == "layer" and call.done else []
        inner = getattr(call.obj, "_flatten_layers", lambda **_: ())() if methods else ()
        # A layer that the program itself called is not inside a compiled method.
        lost = [one for one in inner if (one is call.obj or id(one) not in seen) and _all_in(one, unread)]
        if lost:
            unread -= {id(one) for layer in lost for one in framework.trained(layer)}
            name, function = methods[0]
            yield Frozen(call, name, defined(function), tuple(str(one.name) for one in lost))


def _compiled(obj: Any) -> Iterator[tuple[str, Any]]:
    """The methods of the user's class that are compiled by themselves and have been, with the functions inside."""
    held = vars(obj)
    for name in dict.fromkeys((*(name for kind in type(obj).__mro__ for name in vars(kind)), *held)):
        if is_graph_function(held[name] if name in held else getattr(type(obj), name, None)):
            method = getattr(obj, name)
            if getattr(method, "experimental_get_tracing_count", lambda: 1)():
                yield name, method.python_function


def _all_in(layer: Any, unread: set[int]) -> bool:
    own = [one for one in getattr(layer, "_trainable_variables", ()) if one.trainable]
    return bool(own) and all(id(one) in unread for one in own)
