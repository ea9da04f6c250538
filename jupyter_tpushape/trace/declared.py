"""The flow that a built functional model already knows.

Building a functional model ran shape inference once, for any batch. Where the data's specs are what the
model declares, and every layer treats the batch axis transparently, that knowledge is exact and nothing
needs to run again. Anything that could tell another story with a real batch (the user's own layers,
Lambda, raw reshapes, masks) makes :func:`declared` decline, and the program is traced for real.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..flow import Spec
from ..flow.paths import map_leaves
from .called import Check, check_of, hold
from .doors import Door
from .locations import of_the_user
from .recorder import Call, Port, Recorder

# Layers whose behaviour is not settled by their declared shapes.
_UNSETTLED = frozenset({
    "Lambda", "Masking", "TFSMLayer", "KerasLayer", "TorchModuleWrapper", "FlaxLayer", "JaxLayer", "RNN", "StackedRNNCells", "MultiHeadAttention", "GroupQueryAttention", "Attention", "AdditiveAttention",
    "StringLookup", "IntegerLookup", "TextVectorization", "Hashing", "HashedCrossing", "CategoryEncoding", "Discretization", "ConvLSTM2D",
    "ConvLSTM1D", "ConvLSTM3D",
})  # fmt: skip
# Layers that are as settled as what they hold.
_EACH_STEP = "TimeDistributed"
_WRAPPERS = {_EACH_STEP: ("layer",), "Bidirectional": ("forward_layer", "backward_layer")}
# Element by element, so that the batch axis stays where it is.
_ELEMENTWISE = frozenset({
    "add", "multiply", "subtract", "truediv", "true_divide", "divide", "relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "softmax",
    "maximum", "minimum", "square", "sqrt", "abs", "cast", "clip_by_value", "negative", "sub", "mul",
})  # fmt: skip


class Unsettled(Exception):
    """The declared shapes do not settle what a real batch would do."""


@dataclass(frozen=True, eq=False)
class Made:
    """One tensor of the declared flow: its spec, and the call or source that gives it."""

    spec: Spec
    producer: Any


def declared(adapter: Any, model: Any, recorder: Recorder, fed: list[tuple[Door, Made]], *, training: bool = True, strict: bool = True) -> Any:
    """Records the declared calls of ``model``, whose inputs are fed so.

    Returns the outputs, nested as the model gives them, with a :class:`Made` at each leaf.

    Raises:
        Unsettled: where only a real trace can tell. With ``strict=False`` every layer is taken at its
            word: for drawing what was not reached.
    """
    network = adapter.graph_network(model)
    if network is None:
        raise Unsettled
    checks: list[Check] | None = [] if strict else None
    made = _walk(adapter, network, recorder, fed, None, checks)
    if checks and not hold(adapter, checks, training):
        raise Unsettled
    return made


def transparent(adapter: Any, model: Any, fed: list[tuple[Spec, Spec]]) -> bool:
    """Whether every operation of a functional model keeps the batch axis where it is, although its inputs leave other axes open.

    Args:
        fed: for each input, what the model declares and what the data is.
    """
    network = adapter.graph_network(model)
    return network is not None and all(_open(want, got) for want, got in fed) and _keeps_batch(adapter, network)


def _open(want: Spec, got: Spec) -> bool:
    if want.shape is None or got.shape is None or len(want.shape) != len(got.shape) or (want.dtype, want.kind) != (got.dtype, got.kind):
        return False
    return want.kind == "dense" and want.shape[:1] == (None,) and all(a in (None, b) for a, b in zip(want.shape, got.shape, strict=True))


def _keeps_batch(adapter: Any, network: Any) -> bool:
    for node in adapter.graph_nodes(network):
        results = [adapter.spec(result).shape or () for result in node.outputs]
        if any(shape[:1] != (None,) for shape in results):
            return False
        if node.is_input:
            continue
        operation = node.operation
        inner = adapter.graph_network(operation) if adapter.is_layer(operation) else None
        if inner is not None:
            if not _keeps_batch(adapter, inner):
                return False
            continue
        ports = [Port(adapter.spec(tensor), None, "", id(tensor)) for tensor in node.inputs]
        own = any(of_the_user(value) for value in vars(operation).values())
        if own or not (_settled(adapter, operation) and _aligned(adapter, operation, ports)):
            return False
    return True


def _walk(adapter: Any, network: Any, recorder: Recorder, fed: list[tuple[Door, Made]], parent: Call | None, checks: list[Check] | None) -> Any:
    strict = checks is not None
    inputs, outputs = adapter.graph_ends(network)
    known: dict[int, Made] = {}
    sparse = any(made.spec.kind == "sparse" for _, made in fed)
    batch: int | None = None
    for door, made in fed:
        if strict and not _fits(door.spec, made.spec):
            raise Unsettled
        if made.spec.shape:
            batch = made.spec.shape[0]
        known[id(door.tensor)] = made
    if any(id(tensor) not in known for tensor in inputs):
        raise Unsettled
    for node in adapter.graph_nodes(network):
        if node.is_input or all(id(result) in known for result in node.outputs):
            continue
        if any(id(tensor) not in known for tensor in node.inputs):
            raise Unsettled
        operation = node.operation
        ports = [Port(known[id(tensor)].spec, known[id(tensor)].producer, "", id(tensor)) for tensor in node.inputs]
        inner = adapter.graph_network(operation) if adapter.is_layer(operation) else None
        call = _call(adapter, recorder, operation, ports, parent, inner is None)
        if inner is not None:
            flat = adapter.flatten(_walk(adapter, inner, recorder, _fed(adapter, operation, node.first, known), call, checks))
        else:
            each_step = checks is not None and _each_step(adapter, operation, ports, checks)
            if strict and not each_step and not (_settled(adapter, operation) and _aligned(adapter, operation, ports)):
                raise Unsettled
            if strict and not adapter.is_layer(operation) and _whole(ports, [adapter.spec(result) for result in node.outputs]):
                raise Unsettled
            flat = [Made(_with_batch(_dense(adapter.spec(result), sparse), batch, strict), call) for result in node.outputs]
            if checks is not None and adapter.is_layer(operation) and not each_step:
                check = check_of(node, [port.spec for port in ports], [made.spec for made in flat])
                checks += [check] if check is not None else []
        call.done = True
        if len(flat) != len(node.outputs):
            raise Unsettled
        for result, made in zip(node.outputs, flat, strict=True):
            known[id(result)] = made
            call.outputs.append(Port(made.spec, made.producer, "", id(result)))
    if any(id(tensor) not in known for tensor in adapter.flatten(outputs)):
        raise Unsettled
    return adapter.map_structure(lambda tensor: known[id(tensor)], outputs)


def _fed(adapter: Any, model: Any, first: Any, known: dict[int, Made]) -> list[tuple[Door, Made]]:
    doors = adapter.doors(model)
    # A tensor may stand there twice, so each place has a value of its own.
    found = adapter.feeds(model, doors, map_leaves(lambda tensor: replace(known[id(tensor)]) if id(tensor) in known else None, first))
    if not found.settled:
        raise Unsettled
    return list(found.pairs)


def _each_step(adapter: Any, operation: Any, ports: list[Port], checks: list[Check]) -> bool:
    """Whether a model is applied to each step of a sequence, and its own declaration settles what one step does.

    A call would trace it once for each step.
    """
    inner = getattr(operation, "layer", None)
    network = adapter.graph_network(inner) if adapter.is_layer(operation) and type(operation).__name__ == _EACH_STEP else None
    if network is None or len(ports) != 1 or not adapter.builtin(operation) or getattr(operation, "compute_dtype", "") != ports[0].spec.dtype:
        return False
    shape, doors = ports[0].spec.shape or (), adapter.doors(inner)
    if len(shape) < 3 or len(doors) != 1:
        return False
    step = Made(Spec((shape[0], *shape[2:]), ports[0].spec.dtype), None)
    _walk(adapter, network, Recorder(), [(doors[0], step)], None, checks)
    return True


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
    if of_the_user(getattr(operation, "activity_regularizer", None)):
        return False
    if name == "Embedding" and getattr(operation, "mask_zero", False):
        return False
    held = [getattr(operation, part, None) for part in _WRAPPERS.get(name, ())]
    if not all(adapter.is_layer(one) and adapter.graph_network(one) is None and _settled(adapter, one) for one in held):
        return False
    return adapter.builtin(operation) and name not in _UNSETTLED and not getattr(operation, "stateful", False) and not _batchwise(operation)


def _whole(ports: list[Port], made: list[Spec]) -> bool:
    return any("float" in port.spec.dtype for port in ports) and not any("float" in spec.dtype for spec in made)


def _aligned(adapter: Any, operation: Any, ports: list[Port]) -> bool:
    """Whether the batch axes of what an operation joins meet one another.

    Tensors of different ranks are aligned at their last axes, so the batch axis of one meets another axis of the other. A declared batch
    axis agrees with any size there. Layers that merge put axes of size 1 behind the batch axis instead.
    """
    ranks = {len(port.spec.shape or ()) for port in ports} - {0}
    return len(ranks) < 2 or (adapter.is_layer(operation) and adapter.kind(operation) != "op")


def _batchwise(layer: Any) -> bool:
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


def _dense(spec: Spec, sparse: bool) -> Spec:
    """Keras 3 declares a product with a plain number sparse; without a sparse input nothing is."""
    return Spec(spec.shape, spec.dtype) if spec.kind == "sparse" and not sparse else spec


def _with_batch(spec: Spec, batch: int | None, strict: bool) -> Spec:
    if not spec.shape:
        if strict:
            raise Unsettled
        return spec
    if strict and (spec.shape[0] not in (None, batch) or None in spec.shape[1:]):
        raise Unsettled
    return Spec((batch if spec.shape[0] is None else spec.shape[0], *spec.shape[1:]), spec.dtype, spec.kind)
