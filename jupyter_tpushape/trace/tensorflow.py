"""TensorFlow as a backend: tensors, and a graph that knows who made which operation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.distribute.values import DistributedVariable
from tensorflow.python.eager import context
from tensorflow.python.framework.func_graph import FuncGraph

from ..flow import Spec
from ..replicas.strategy import is_tpu
from .anew import note
from .backend import Backend, Graph, Values
from .hooks import triangle
from .learned import along, counted, cuts, turned
from .noise import scaled_noise
from .recorder import Call, Port, Recorder, line_running
from .values_tensorflow import WRITES, GraphValues

if TYPE_CHECKING:
    from .framework import Framework

# Operations that only rename, guard or copy a tensor: the data goes straight through.
_TRANSPARENT = frozenset({"Identity", "IdentityN", "StopGradient", "PreventGradient", "EnsureShape", "Snapshot", "CheckNumerics"})
# Operations whose result describes a tensor and does not carry its data.
# Up to how many axes the kernels mirror, and choose between values of different shapes.
_MIRRORED, _CHOSEN = 5, 8
_META = frozenset({"Shape", "ShapeN", "Rank", "Size", "NoOp", "Assert", "Const", "Placeholder"})


def spec_of(value: Any) -> Spec:
    """The spec of a TensorFlow tensor or variable."""
    dtype = getattr(value.dtype, "name", str(value.dtype))
    kind = "dense"
    if isinstance(value, tf.RaggedTensor):
        kind = "ragged"
    elif isinstance(value, tf.SparseTensor):
        kind = "sparse"
    shape = value.shape
    dims = None if shape is None or shape.rank is None else tuple(int(n) if n is not None else None for n in shape)
    return Spec(dims, dtype.removesuffix("_ref"), kind)  # type: ignore[arg-type]


def is_tf_tensor(value: Any) -> bool:
    return isinstance(value, (tf.Tensor, tf.Variable, tf.RaggedTensor, tf.SparseTensor))


class TraceGraph(FuncGraph, Graph):  # type: ignore[misc]
    """A function graph that tells the recorder of every operation made outside built-in layers."""

    def __init__(self, recorder: Recorder, adapter: Framework) -> None:
        super().__init__("tpushape")
        self.recorder = recorder
        self.adapter = adapter

    def placeholder(self, spec: Spec, name: str) -> Any:
        """A tensor of this spec that stands for data."""
        return placeholder(spec.shape, spec.dtype, name, spec.kind)

    def _create_op_internal(self, op_type: str, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = self.recorder
        hidden = recorder.muted or recorder.inside_opaque
        try:
            _refuse(op_type, inputs, kwargs)
            operation = super()._create_op_internal(op_type, inputs, *args, **kwargs)
        except (ValueError, TypeError) as error:
            if hidden:
                if recorder.stack and not recorder.stack[-1].inner:
                    recorder.stack[-1].inner = op_type
            elif recorder.failed is None:
                self._note_failure(op_type, inputs, error)
            raise
        if not hidden:
            self._note(operation, op_type, inputs)
        return operation

    def _ports(self, inputs: Any) -> list[Port]:
        ports = []
        for tensor in inputs:
            producer = self.recorder.producers.get(id(tensor))
            if producer is not None and tensor.dtype not in (tf.resource, tf.variant):
                ports.append(Port(spec_of(tensor), producer, "", id(tensor)))
        return ports

    def _note(self, operation: Any, op_type: str, inputs: Any) -> None:
        ports = self._ports(inputs)
        if op_type in _META or not ports:
            self._note_shape(operation, inputs)
            return
        recorder = self.recorder
        if op_type in _TRANSPARENT:
            if op_type in ("StopGradient", "IdentityN"):
                recorder.stopped.add(id(ports[0].producer))
            for tensor in operation.outputs:
                recorder.produce(id(tensor), ports[0].producer, tensor)
            return
        call = self._call(op_type, ports)
        if recorder.failed is not None and recorder.failed.called is not None and recorder.failed.called == call.called:
            recorder.forgive()
        call.done = True
        call.values = _operands(inputs)
        for tensor in inputs if op_type in ("Add", "AddV2") and len(ports) == 1 else ():
            call.values |= triangle(self.adapter, tensor, -1e3) if id(tensor) != ports[0].key else {}
        for tensor in operation.outputs:
            call.outputs.append(Port(spec_of(tensor), call, "", id(tensor)))
            recorder.produce(id(tensor), call, tensor)
        ranks = [tensor.shape.rank for tensor in inputs]
        recorder.along += [(call, id(inputs[place]), axis, False) for place, axis in along(operation, op_type, ranks)]
        if op_type == "Transpose" and "operand1" not in call.values and (order := turned(ranks[0])) is not None:
            call.values["operand1"] = order
        recorder.single += [(call, *one) for one in _single(op_type, inputs)]
        if (scaled := scaled_noise(op_type, inputs)) is not None:
            recorder.scaled.append((call, id(scaled[0]), *scaled[1:]))
        recorder.along += [(call, id(tensor), 0, True) for tensor in counted(operation)]

    def _note_shape(self, operation: Any, inputs: Any) -> None:
        """A shape, and what is computed from the shape of one tensor alone: sizes, and tensors that are created with them."""
        recorder = self.recorder
        of = {port.key: port for port in self._ports(inputs)} | {port.key: port for tensor in inputs if (port := recorder.shaped.get(id(tensor))) is not None}
        for tensor in operation.outputs if len(of) == 1 else ():
            recorder.shaped[id(tensor)] = next(iter(of.values()))
            recorder.alive.append(tensor)

    def _like(self, tensor: Any) -> Any:
        port = self.recorder.shaped.get(id(tensor))
        return port.producer if port is not None and port.spec.shape == spec_of(tensor).shape else None

    def _note_failure(self, op_type: str, inputs: Any, error: BaseException) -> None:
        producers = self.recorder.producers
        data = [tensor for tensor in inputs if getattr(tensor, "dtype", None) not in (None, tf.resource, tf.variant)]
        ports = [Port(spec_of(tensor), producers.get(id(tensor)), "", id(tensor), self._like(tensor)) for tensor in data]
        call = self._call(op_type, ports)
        call.values = _operands(inputs)
        call.failure = error
        self.recorder.failed = call

    def _call(self, op_type: str, ports: list[Port]) -> Call:
        from .locations import user_frame

        recorder = self.recorder
        parent = recorder.stack[-1] if recorder.stack else None
        call = Call(len(recorder.calls), "op", op_type, op_type, None, parent, True, ports, framework=self.adapter.name)
        call.called = user_frame(depth=4) or line_running()
        if parent is not None:
            parent.children += 1
        recorder.calls.append(call)
        return call


def _refuse(op_type: str, inputs: Any, given: dict[str, Any]) -> None:
    """What only the run itself would say: of text that is cast, of padding that mirrors more than there is, of too many axes,
    of a reshape that leaves two sizes to be computed.

    Raises:
        TypeError, ValueError: in the runtime's own words.
    """
    if op_type == "Cast":
        _refuse_text(inputs, given)
    elif op_type == "MirrorPad":
        _refuse_padding(inputs, given)
    elif op_type == "SelectV2":
        shapes = [tuple(one.shape) for one in inputs if one.shape.rank is not None]
        if len(set(shapes)) > 1 and max(map(len, shapes)) > _CHOSEN:
            raise ValueError(f"Broadcast between {shapes[0]} and {shapes[1]} is not supported yet.")
    elif op_type == "Reshape":
        sizes = tf.get_static_value(inputs[1], partial=True)
        computed = [] if sizes is None else [place for place, size in enumerate(sizes.tolist()) if size == -1]
        if len(computed) > 1:
            raise ValueError(f"Only one input size may be -1, not both {computed[0]} and {computed[1]}")


def _refuse_padding(inputs: Any, given: dict[str, Any]) -> None:
    shape, sizes = inputs[0].shape, tf.get_static_value(inputs[1])
    if sizes is None or shape.rank is None:
        return
    if shape.rank > _MIRRORED:
        raise ValueError(f"inputs rank not in [0,{_MIRRORED}]: {shape.rank}")
    # REFLECT leaves the edge itself out.
    less = getattr((given.get("attrs") or {}).get("mode"), "s", b"") == b"REFLECT"
    for size, pair in zip(shape, sizes.tolist(), strict=True):
        if size is not None and max(pair) > size - less:
            raise ValueError(f"paddings must be {'less than' if less else 'no greater than'} the dimension size: {pair[0]}, {pair[1]} with {size}")


def _refuse_text(inputs: Any, given: dict[str, Any]) -> None:
    source = getattr(inputs[0], "dtype", None)
    to = next((tf.as_dtype(attr.type) for name, attr in (given.get("attrs") or {}).items() if name == "DstT"), None)
    if source is not None and to is not None and source != to and tf.string in (source, to):
        raise TypeError(f"Cast {source.name} to {to.name} is not supported")


def _operands(inputs: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for position, tensor in enumerate(inputs):
        if position and getattr(tensor, "dtype", None) in (tf.int32, tf.int64):
            with contextlib.suppress(Exception):
                constant = tf.get_static_value(tensor)
                if constant is not None and constant.size <= 16:
                    values[f"operand{position}"] = constant.tolist()
    return values


_WITH_ONE = frozenset({"Add", "AddV2", "Sub", "Mul", "RealDiv", "SelectV2"})


def _single(op_type: str, inputs: Any) -> Iterator[tuple[int, float]]:
    for place, tensor in enumerate(inputs) if op_type in _WITH_ONE else ():
        if tensor.op.type == "Const" and tensor.shape.num_elements() == 1 and tensor.dtype.is_floating | tensor.dtype.is_integer:
            yield place, float(tf.get_static_value(tensor).reshape(())[()])


@contextlib.contextmanager
def graph_for(recorder: Recorder, adapter: Framework) -> Iterator[TraceGraph]:
    """A graph to trace in: eager state outside stays as it is, new variables take no memory."""
    # A runtime that first starts inside a graph has soft placement off for good: start it here, eagerly.
    context.context().ensure_initialized()
    with tf.variable_creator_scope(partial(_made, recorder)), TraceGraph(recorder, adapter).as_default() as graph:
        yield graph


def _made(recorder: Recorder, next_creator: Any, **kwargs: Any) -> Any:
    variable = hollow_variable(next_creator, **kwargs)
    note(recorder, variable)
    recorder.variables.append(variable)
    return variable


def hollow_variable(next_creator: Any, **kwargs: Any) -> Any:
    """Creates a variable that has a shape and no value, where the shape is known beforehand."""
    from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

    shape = kwargs.get("shape")
    initial = kwargs.get("initial_value")
    if shape is None and not callable(initial) and hasattr(initial, "shape"):
        shape = getattr(initial, "shape", None)
    dtype = kwargs.get("dtype") or getattr(initial, "dtype", None)
    if shape is None or dtype is None or tf.TensorShape(shape).rank is None or not tf.TensorShape(shape).is_fully_defined():
        return next_creator(**kwargs)
    with tf.init_scope():
        return UninitializedVariable(
            trainable=kwargs.get("trainable"), shape=shape, dtype=dtype, name=kwargs.get("name"),
            synchronization=kwargs.get("synchronization"), aggregation=kwargs.get("aggregation"),
        )  # fmt: skip


def placeholder(shape: tuple[int | None, ...] | None, dtype: str, name: str, kind: str = "dense") -> Any:
    """A symbolic tensor of the trace graph; ragged and sparse ones as such."""
    safe = "".join(c if c.isalnum() else "_" for c in name) or "x"
    if kind == "sparse":
        return tf.compat.v1.sparse_placeholder(tf.as_dtype(dtype), shape=shape, name=safe)
    if kind == "ragged":
        rank = len(shape or ()) - 1
        return tf.compat.v1.ragged.placeholder(tf.as_dtype(dtype), ragged_rank=max(1, rank), value_shape=(), name=safe)
    return tf.compat.v1.placeholder(tf.as_dtype(dtype), shape=shape, name="t_" + safe)


class TensorFlow(Backend):
    """Graphs of TensorFlow: an axis may stay unknown, and every replica runs the program on its own rows."""

    name = "tensorflow"
    tuples = True

    def is_tensor(self, value: Any) -> bool:
        """Whether this is a tensor or variable of TensorFlow's, ragged and sparse ones included."""
        return is_tf_tensor(value)

    def spec(self, tensor: Any) -> Spec:
        """The spec of a tensor or variable."""
        return spec_of(tensor)

    def known(self, tensor: Any) -> Any:
        """The values of a tensor that does not depend on data."""
        try:
            return _known(tensor)
        except Exception:  # what TensorFlow cannot work out is not known
            return None

    def trace(self, recorder: Recorder, framework: Framework, body: Callable[[Any], None], variables: Sequence[Any] = ()) -> Any:
        """Calls ``body`` inside a function graph of its own."""
        with graph_for(recorder, framework) as graph, _in_replica(variables):
            body(graph)
        return graph

    def cut(self, recorder: Recorder, end: Any, frozen: Sequence[Any], trained: Sequence[Any] = ()) -> list[tuple[str, Any]] | None:
        """Reads the graph back from the loss."""
        if not isinstance(getattr(end, "graph", None), FuncGraph):
            return None
        fixed, changed = _handles(frozen), _handles(trained)
        captured = {id(outer) for outer, _ in end.graph.captures}
        spread = any(isinstance(getattr(one, "_value", one), DistributedVariable) for one in trained)
        # Another model's, such as the features of a perceptual loss, are not changed either.
        if trained and (captured & changed or not spread):
            fixed |= captured - changed
        found = cuts(end, recorder.weights, fixed, recorder.producers)
        return None if found is None else [(cut.operation.type, cut.call) for cut in found]

    def captured(self, graph: Any, variables: Sequence[Any]) -> list[bool]:
        """Functions hand on what they read to the graph that calls them."""
        held = {id(outer) for outer, _ in graph.captures}
        return [not held.isdisjoint(_handles([one])) for one in variables]

    def idle(self, recorder: Recorder, graph: Any, ends: Sequence[Any]) -> Collection[int]:
        """By the graph, where what gives nothing out (a write, a print, an assertion) is an end as well."""
        made = [one for one in graph.get_operations() if getattr(one, "graph", None) is graph]
        pending = [tensor.op for tensor in ends if getattr(tensor, "graph", None) is graph]
        pending += [one for one in made if not one.outputs or one.type.startswith(WRITES)]
        useful: set[Any] = set()
        while pending:
            one = pending.pop()
            if one not in useful:
                useful.add(one)
                pending += [tensor.op for tensor in one.inputs]
                pending += one.control_inputs
        return {id(tensor) for one in made if one not in useful for tensor in one.outputs}

    def values(self, recorder: Recorder, graph: Any, ends: Sequence[Any], variables: Sequence[Any]) -> Values:
        """The graph's operations."""
        return GraphValues(graph, ends, [*variables, *recorder.variables], recorder.weights)

    def is_spoiled(self, step: Any, built: bool) -> bool:
        """By the two programs that a ``tf.function`` makes in its first call: where that raised, it has begun the first and lacks the second.

        It needs the second if it has created variables, and the first cannot create them any more.
        """
        begun = [one for one in _functions(step) if getattr(one, "_variable_creation_config", None) is not None]
        return any(getattr(one, "_no_variable_creation_config", None) is None and (not built or getattr(one, "_created_variables", None)) for one in begun)

    def is_lost(self, variable: Any) -> bool:
        """A variable that a ``tf.function`` created, where its first call raised before it gave the value."""
        made = getattr(variable, "_value", variable)
        handle = getattr(made, "_handle", None)
        if type(made).__name__ != "UnliftedInitializerVariable" or not isinstance(handle, tf.__internal__.EagerTensor):
            return False
        try:
            with tf.init_scope():
                return not bool(tf.raw_ops.VarIsInitializedOp(resource=handle))
        except tf.errors.OpError:  # a device that runs nothing, as that of a planned slice
            return False

    def explain(self, recorder: Recorder, framework: Framework, error: BaseException) -> None:
        """There is nothing to add: TensorFlow checks shapes where it makes an operation, and the graph notes what fails."""


def _functions(step: Any, depth: int = 4) -> Iterator[Any]:
    """The ``tf.function`` objects that a training step calls, itself included: Keras 3 has them in the closure of a plain function."""
    if hasattr(step, "get_concrete_function"):
        yield step
    for cell in getattr(step, "__closure__", None) or () if depth else ():
        with contextlib.suppress(ValueError):  # an empty cell
            yield from _functions(cell.cell_contents, depth - 1)


def _handles(variables: Sequence[Any]) -> set[int]:
    """The ids of what a graph reads variables by: of a distributed one, the part of each replica."""
    raw = [getattr(one, "_value", one) for one in variables]
    parts = [part for one in raw for part in (one, *(getattr(one, "_values", ()) if isinstance(one, DistributedVariable) else ()))]
    return {id(getattr(part, "handle", None)) for part in parts}


def _in_replica(variables: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    """The first replica of a live strategy, as ``fit`` runs a step in one: that of the variables, or whose scope is open."""
    raw = (getattr(one, "_value", one) for one in variables)
    held = next((one.distribute_strategy for one in raw if isinstance(one, DistributedVariable)), None)
    if held is None and not tf.distribute.in_cross_replica_context():
        return contextlib.nullcontext()
    strategy = held or tf.distribute.get_strategy()
    if is_tpu(strategy):
        return contextlib.nullcontext()  # its variables are read in any context
    return cast(contextlib.AbstractContextManager[Any], distribute_lib.ReplicaContext(strategy, 0))


# What leaves the values as they are, and what calculates with two of them.
_SAME = frozenset({"ExpandDims", "Reshape", "Squeeze", "Identity", "StopGradient"})
_CALCULATED = {
    "AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply, "Minimum": np.minimum, "Maximum": np.maximum, "Less": np.less, "LessEqual": np.less_equal,
    "Greater": np.greater, "GreaterEqual": np.greater_equal, "Equal": np.equal, "NotEqual": np.not_equal, "LogicalAnd": np.logical_and,
}  # fmt: skip


def _known(tensor: Any, depth: int = 8) -> Any:
    """The values of a tensor that a program counts out, also where TensorFlow folds no constant."""
    values, made = tf.get_static_value(tensor), getattr(tensor, "op", None)
    if values is not None or made is None or not depth:
        return values
    if made.type == "Range" and tensor.shape.rank and tensor.shape[0] is not None:
        # As many as TensorFlow itself says there are, though it does not say which.
        start, _, by = (tf.get_static_value(one) for one in made.inputs)
        return None if start is None or by is None else start + by * np.arange(tensor.shape[0])
    shape = tuple(tensor.shape) if tensor.shape.is_fully_defined() else None
    if made.type == "Fill" and shape is not None:
        return np.full(shape, tf.get_static_value(made.inputs[1]))
    parts = [_known(one, depth - 1) for one in list(made.inputs)[: 2 if made.type in _CALCULATED else 1]]
    if shape is None or not parts or any(part is None for part in parts):
        return None
    if made.type in _CALCULATED:
        return _CALCULATED[made.type](*parts)
    if made.type == "Cast":
        return parts[0].astype(tensor.dtype.as_numpy_dtype)
    if made.type in _SAME or (made.type == "StridedSlice" and parts[0].size == np.prod(shape) and 1 in shape):
        return np.reshape(parts[0], shape)
    if made.type == "LogicalNot":
        return np.logical_not(parts[0])
    if made.type == "MatrixBandPart":
        return _band(parts[0], *(tf.get_static_value(one) for one in made.inputs[1:]))
    return np.broadcast_to(parts[0], shape) if made.type == "BroadcastTo" else None


def _band(values: Any, below: Any, above: Any) -> Any:
    rows, columns = np.indices(values.shape[-2:])
    kept = ((below < 0) | (rows - columns <= below)) & ((above < 0) | (columns - rows <= above))
    return np.where(kept, values, np.zeros((), values.dtype))
