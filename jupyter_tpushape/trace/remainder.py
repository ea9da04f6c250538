"""What lies beyond a break: drawn, marked as not reached, never hidden."""

from __future__ import annotations

from typing import Any

from ..flow import Node, Spec
from ..flow.paths import flatten
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
    ends = [last] if last is not None else []
    network = adapter.graph_network(seen.model) if adapter is not None and seen.model is not None and adapter.is_model(seen.model) else None
    if adapter is not None:
        listed = _listed(adapter, seen, recorder)
        if not listed and network is not None and failed is not None:
            ends = _rest_of_graph(assembler, seen, network, failed.id)
        for layer in listed:
            ends = [_ghost(assembler, adapter, recorder, layer, ends)]
    if any(node.kind == "output" for node in assembler.flow.nodes):
        return
    for i, end in enumerate(ends or [None]):
        name = output_names[i] if i < len(output_names) else "output"
        output = assembler.node(None, name=name, kind="output", op="Output", status="not-reached")
        _joined(assembler, [end] if end is not None else [], output.id)
    if seen.evidence.y:
        loss = assembler.node(None, name="loss", kind="loss", op=_loss_name(seen), status="not-reached")
        _joined(assembler, ends or [output.id], loss.id)


def _joined(assembler: Assembler, sources: list[str], target: str) -> None:
    for source in dict.fromkeys(sources):
        assembler.edge(source, target, _UNKNOWN, status="not-reached", placed=False)


def _listed(adapter: Any, seen: Any, recorder: Recorder) -> list[Any]:
    call = recorder.failed
    if call is None or call.obj is None:
        return []
    while call.parent is not None and call.parent.obj is not seen.model:
        call = call.parent
    for _, layers in reversed(recorder.sequences):
        for i, layer in enumerate(layers):
            if layer is call.obj:
                return [item for item in layers[i + 1 :] if adapter.is_layer(item)]
    return []


def _rest_of_graph(assembler: Assembler, seen: Any, network: Any, failed: str) -> list[str]:
    adapter, recorder = seen.adapter, seen.recorder
    pairs = seen.run.feeds.pairs if seen.run is not None and seen.run.feeds is not None else []
    made = {id(door.tensor): assembler.ids.get(id(leaf.source), failed) for door, leaf in pairs}
    calls: dict[int, list[Call]] = {}
    for call in recorder.calls:
        calls.setdefault(id(call.obj), []).append(call)
    for node in adapter.graph_nodes(network):
        if node.is_input:
            continue
        ran = calls.get(id(node.operation))
        if ran:
            ports = ran.pop(0).outputs
            sources = [assembler.source_of(ports[i]) if i < len(ports) else None for i in range(len(node.outputs))]
        else:
            before = [made[id(tensor)] for tensor in node.inputs if id(tensor) in made]
            sources = [_ghost(assembler, adapter, recorder, node.operation, before or [failed])] * len(node.outputs)
        made |= {id(tensor): source or failed for tensor, source in zip(node.outputs, sources, strict=True)}
    return [made.get(id(tensor), failed) for _, tensor in flatten(adapter.graph_ends(network)[1])]


def _ghost(assembler: Assembler, adapter: Any, recorder: Recorder, layer: Any, before: list[str]) -> str:
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
    _joined(assembler, before, node.id)
    return node.id


def _loss_name(seen: Any) -> str:
    for _, arguments in reversed(seen.recorder.compiled):
        loss = arguments.get("loss")
        if loss is not None:
            return loss if isinstance(loss, str) else str(getattr(loss, "name", "") or getattr(loss, "__name__", "loss"))
    return "loss"
