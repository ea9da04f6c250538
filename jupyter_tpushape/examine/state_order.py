"""States that a recurrent layer returns and another one gets in another order."""

from __future__ import annotations

from ..trace.recorder import Call
from .program import Examined


def crossed(seen: Examined) -> list[tuple[str, str, tuple[int, ...]]]:
    """The node that gets states, the node that returned them, and the place among the returned ones of each that it gets."""
    found = []
    for call in seen.recorder.calls:
        if call.kind != "layer" or len(call.inputs) < 3 or id(call) not in seen.call_ids:
            continue
        states = call.inputs[1:]
        maker = states[0].producer
        if (
            not isinstance(maker, Call)
            or maker.kind != "layer"
            or id(maker) not in seen.call_ids
            or any(one.producer is not maker for one in states)
        ):
            continue
        keys = [port.key for port in maker.outputs]
        given = [keys.index(port.key) if port.key in keys else -1 for port in states]
        # All states of the one, each of them once, in another order than they came; the first output is no state.
        if sorted(given) == list(range(1, len(keys))) and given != sorted(given):
            found.append((seen.call_ids[id(call)], seen.call_ids[id(maker)], tuple(given)))
    return found
