"""Layers whose results no end of the program depends on: the loss is computed without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .framework import Framework
    from .recorder import Call, Recorder


def unused(framework: Framework, recorder: Recorder, graph: Any, ends: list[Any]) -> Iterator[tuple[Call, bool]]:
    """The outermost calls of such layers, in the order in which they ran, and whether they train weights; all others are the framework's own.

    A result that a composite layer returns is the composite's to give, whether anyone takes it or not. A layer of which another call
    is used is trained by that one.
    """
    idle = framework.backend.idle(recorder, graph, ends)
    calls = [call for call in recorder.calls if call.kind == "layer" and call.done and call.outputs]
    dead = {id(call) for call in calls if all(port.key in idle for port in call.outputs)}
    used = {id(call.obj) for call in calls if id(call) not in dead}
    trained = _trained(framework, recorder)
    for call in calls:
        alone = id(call) in dead and (id(call) in trained or call.opaque) and id(call.obj) not in used
        if alone and not _returned(call) and all(id(one) not in dead for one in around(call)):
            yield call, id(call) in trained


def outside(network: Any, operations: Iterable[Any], of: Callable[[Any], Any]) -> list[Any]:
    """The operations that are called on the results of a graph's own, or on what those give, and never in the graph.

    Args:
        network: the graph. operations: its operations. of: the operation of a call.
    """
    mine = {id(node) for nodes in network._nodes_by_depth.values() for node in nodes}
    found: dict[int, Any] = {}
    pending = [node for operation in operations for node in operation._outbound_nodes]
    seen = set(mine)
    while pending:
        node = pending.pop(0)
        if id(node) not in seen:
            seen.add(id(node))
            operation = of(node)
            if not any(id(one) in mine for one in operation._inbound_nodes):
                found[id(operation)] = operation
                pending += operation._outbound_nodes
    return [*found.values()]


def around(call: Call) -> Iterator[Call]:
    """The calls that a call stands in, innermost first."""
    while call.parent is not None:
        call = call.parent
        yield call


def _returned(call: Call) -> bool:
    keys = {port.key for port in call.outputs}
    return any(port.key in keys for one in around(call) for port in one.outputs)


def _trained(framework: Framework, recorder: Recorder) -> set[int]:
    """The calls, by id, of layers that train weights, themselves or in the layers that they call."""
    found: set[int] = set()
    for call in recorder.calls:
        if call.kind == "layer" and call.done and _trains(framework, call):
            found.update(map(id, (call, *around(call))))
    return found


def _trains(framework: Framework, call: Call) -> bool:
    weights = framework.own_weights(call.obj) if call.weights is None else call.weights
    return bool(getattr(call.obj, "trainable", True)) and any(weight.trainable for weight in weights)
