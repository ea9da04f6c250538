"""The flow that a built functional model already knows.

Building a functional model ran shape inference once, for any batch. Where the data's specs are what the
model declares, and every layer treats the batch axis transparently, that knowledge is exact and nothing
needs to run again. Anything that could tell another story with a real batch (the user's own layers,
Lambda, raw reshapes, masks) makes :func:`declared` decline, and the program is traced for real.
"""

from __future__ import annotations

from typing import Any

from ..flow import Spec
from .recorder import Call, Port, Recorder

# Layers whose behaviour is not settled by their declared shapes.
_UNSETTLED = frozenset({
    "Lambda", "Masking", "TFSMLayer", "KerasLayer", "TorchModuleWrapper", "FlaxLayer", "JaxLayer", "RNN", "TimeDistributed",
    "Bidirectional", "StackedRNNCells", "MultiHeadAttention", "GroupQueryAttention", "Attention", "AdditiveAttention",
    "StringLookup", "IntegerLookup", "TextVectorization", "Hashing", "HashedCrossing", "CategoryEncoding", "Discretization", "ConvLSTM2D",
    "ConvLSTM1D", "ConvLSTM3D",
})  # fmt: skip
# Element by element, so that the batch axis stays where it is.
_ELEMENTWISE = frozenset({
    "add", "multiply", "subtract", "truediv", "true_divide", "divide", "relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "softmax",
    "maximum", "minimum", "square", "sqrt", "abs", "cast", "clip_by_value", "negative", "sub", "mul",
})  # fmt: skip


class Unsettled(Exception):
    """The declared shapes do not settle what a real batch would do."""


def declared(adapter: Any, model: Any, recorder: Recorder, x: list[tuple[Spec, Any]], *, strict: bool = True) -> Any:
    """Records the declared calls of ``model`` for inputs ``x`` (spec and producer each).

    Returns the outputs, nested as the model gives them, as ``(Spec, producer)`` leaves.

    Raises:
        Unsettled: where only a real trace can tell. With ``strict=False`` every layer is taken at its
            word: for drawing what was not reached.
    """
    network = adapter.graph_network(model)
    if network is None:
        raise Unsettled
    return _walk(adapter, network, recorder, x, None, strict)


def _walk(adapter: Any, network: Any, recorder: Recorder, x: list[tuple[Spec, Any]], parent: Call | None, strict: bool) -> Any:
    inputs, outputs = adapter.graph_ends(network)
    if len(inputs) != len(x):
        raise Unsettled
    known: dict[int, tuple[Spec, Any]] = {}
    batch: int | None = None
    for tensor, (spec, producer) in zip(inputs, x, strict=True):
        want = adapter.spec(tensor)
        if strict and not _fits(want, spec):
            raise Unsettled
        if spec.shape:
            batch = spec.shape[0]
        known[id(tensor)] = (spec, producer)
    for operation, arguments, results, is_input in adapter.graph_nodes(network):
        if is_input or all(id(result) in known for result in results):
            continue
        ports = []
        for tensor in arguments:
            if id(tensor) not in known:
                raise Unsettled
            spec, producer = known[id(tensor)]
            ports.append(Port(spec, producer, "", id(tensor)))
        inner = adapter.graph_network(operation) if adapter.is_layer(operation) else None
        call = _call(adapter, recorder, operation, ports, parent, inner is None)
        if inner is not None:
            made = _walk(adapter, inner, recorder, [(port.spec, port.producer) for port in ports], call, strict)
            flat = [made] if isinstance(made, tuple) else list(_flat(made))
        else:
            if strict and not _settled(adapter, operation):
                raise Unsettled
            flat = [(_with_batch(adapter.spec(result), batch, strict), call) for result in results]
        call.done = True
        if len(flat) != len(results):
            raise Unsettled
        for result, (spec, producer) in zip(results, flat, strict=True):
            known[id(result)] = (spec, producer)
            call.outputs.append(Port(spec, producer, "", id(result)))
    return _map(outputs, adapter, known)


def _call(adapter: Any, recorder: Recorder, operation: Any, ports: list[Port], parent: Call | None, opaque: bool) -> Call:
    layer = adapter.is_layer(operation)
    op = adapter.op_name(operation) if layer else type(operation).__name__
    kind = adapter.kind(operation) if layer else "op"
    name = str(getattr(operation, "name", "") or op)
    call = Call(len(recorder.calls), kind, name, op, operation, parent, opaque, ports, framework=adapter.name)
    if parent is not None:
        parent.children += 1
    recorder.calls.append(call)
    return call


def _settled(adapter: Any, operation: Any) -> bool:
    if not adapter.is_layer(operation):
        return type(operation).__name__.lower() in _ELEMENTWISE
    if adapter.kind(operation) == "op":
        return adapter.op_name(operation).lower() in _ELEMENTWISE
    name = type(operation).__name__
    if name == "Embedding" and getattr(operation, "mask_zero", False):
        return False
    return adapter.builtin(operation) and name not in _UNSETTLED and not getattr(operation, "stateful", False) and not _batchwise(operation)


def _batchwise(layer: Any) -> bool:
    """Whether a layer is told to work along the batch axis, as ``Concatenate(axis=0)``."""
    for name in ("axis", "axes"):
        axis = getattr(layer, name, None)
        items = axis if isinstance(axis, (list, tuple)) else [axis]
        rank = len(getattr(getattr(layer, "input_spec", None), "shape", None) or ())
        if any(isinstance(item, int) and not isinstance(item, bool) and (item == 0 or (rank and item == -rank)) for item in items):
            return True
    return False


def _fits(want: Spec, got: Spec) -> bool:
    if want.shape is None or got.shape is None or len(want.shape) != len(got.shape) or not got.shape:
        return False
    if want.dtype != got.dtype or got.kind != "dense" or want.kind != "dense":
        return False
    if want.shape[0] is not None and want.shape[0] != got.shape[0]:
        return False
    return None not in want.shape[1:] and want.shape[1:] == got.shape[1:]


def _with_batch(spec: Spec, batch: int | None, strict: bool) -> Spec:
    if not spec.shape:
        if strict:
            raise Unsettled
        return spec
    if strict and (spec.shape[0] not in (None, batch) or None in spec.shape[1:]):
        raise Unsettled
    return Spec((batch if spec.shape[0] is None else spec.shape[0], *spec.shape[1:]), spec.dtype, spec.kind)


def _map(structure: Any, adapter: Any, known: dict[int, tuple[Spec, Any]]) -> Any:
    if isinstance(structure, dict):
        return {key: _map(value, adapter, known) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return [_map(value, adapter, known) for value in structure]
    if id(structure) not in known:
        raise Unsettled
    return known[id(structure)]


def _flat(structure: Any) -> Any:
    if isinstance(structure, dict):
        for value in structure.values():
            yield from _flat(value)
    elif isinstance(structure, list):
        for value in structure:
            yield from _flat(value)
    else:
        yield structure
