"""What lies beyond a break: drawn, marked as not reached, never hidden."""

from __future__ import annotations

from typing import Any

from ..flow import Node, Spec
from .assemble import Assembler
from .families import layer_family, op_family
from .locations import location
from .recorder import Call, Recorder, line_of

_UNKNOWN = Spec(None, "")


def not_reached(assembler: Assembler, seen: Any, output_names: list[str]) -> None:
    """Adds the layers, outputs and losses that the program would have reached after the break."""
    recorder, adapter = seen.recorder, seen.adapter
    failed = next(iter(assembler.flow.failed()), None)
    last = failed.id if failed is not None else None
    if failed is not None and failed.kind in ("loss", "metric"):
        return
    call = recorder.failed
    if adapter is not None:
        layers = _after(adapter, seen, recorder, call)
        for layer in layers:
            last = _ghost(assembler, adapter, recorder, layer, last)
    if any(node.kind == "output" for node in assembler.flow.nodes):
        return
    end = assembler.node(None, name=output_names[0] if output_names else "output", kind="output", op="Output", status="not-reached")
    if last is not None:
        assembler.edge(last, end.id, _UNKNOWN, status="not-reached", placed=False)
    if seen.evidence.y:
        loss = assembler.node(None, name="loss", kind="loss", op=_loss_name(seen), status="not-reached")
        assembler.edge(last or end.id, loss.id, _UNKNOWN, status="not-reached", placed=False)


def _after(adapter: Any, seen: Any, recorder: Recorder, call: Call | None) -> list[Any]:
    """The layers behind the one that broke, in order, as far as they are known."""
    if call is not None and call.obj is not None:
        while call.parent is not None and call.parent.obj is not seen.model:
            call = call.parent
        for _, layers in reversed(recorder.sequences):
            for i, layer in enumerate(layers):
                if layer is call.obj:
                    return [item for item in layers[i + 1 :] if adapter.is_layer(item)]
    network = adapter.graph_network(seen.model) if seen.model is not None and adapter.is_model(seen.model) else None
    if network is None:
        return []
    done = {id(item.obj) for item in recorder.calls}
    return [node.operation for node in adapter.graph_nodes(network) if not node.is_input and id(node.operation) not in done]


def _ghost(assembler: Assembler, adapter: Any, recorder: Recorder, layer: Any, last: str | None) -> str:
    is_layer = adapter.is_layer(layer)
    made = recorder.made.get(id(layer))
    node: Node = assembler.node(
        layer, name=str(getattr(layer, "name", "")), kind=adapter.kind(layer) if is_layer else "op",
        op=adapter.op_name(layer) if is_layer else type(layer).__name__, status="not-reached",
        location=location(made.where if made else line_of(layer)),
    )  # fmt: skip
    node.family = layer_family(layer) if is_layer and node.kind != "op" else op_family(node.op)
    if is_layer:
        node.config = adapter.config(layer)
    if last is not None:
        assembler.edge(last, node.id, _UNKNOWN, status="not-reached", placed=False)
    return node.id


def _loss_name(seen: Any) -> str:
    for _, arguments in reversed(seen.recorder.compiled):
        loss = arguments.get("loss")
        if loss is not None:
            return loss if isinstance(loss, str) else str(getattr(loss, "name", "") or getattr(loss, "__name__", "loss"))
    return "loss"
