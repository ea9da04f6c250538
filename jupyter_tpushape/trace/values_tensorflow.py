"""Computing a traced graph of TensorFlow operation by operation, with weights of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute

from .backend import Values, drawn

_DRAWS = ("Random", "TruncatedNormal", "Multinomial")
WRITES = ("Assign", "ResourceScatter", "ResourceApply", "ResourceStridedSliceAssign", "Scatter", "Lookup", "PyFunc", "EagerPyFunc")
_CALLS = frozenset({"While", "If", "Case", "StatefulPartitionedCall"})


class GraphValues(Values):
    """The operations that lead to some tensors of a graph."""

    def __init__(self, graph: Any, ends: Sequence[Any], variables: Sequence[Any], trained: Collection[int]) -> None:
        self._trained = trained
        held = {id(getattr(getattr(one, "_value", one), "handle", None)): one for one in variables}
        self._captured = [(outer, id(inner), held.get(id(outer))) for outer, inner in graph.captures]
        needed, pending = set(), [tensor.op for tensor in ends]
        while pending:
            operation = pending.pop()
            if operation not in needed:
                needed.add(operation)
                pending += [] if all(id(one) in trained for one in operation.outputs) else [tensor.op for tensor in operation.inputs]
        made = [one for one in graph.get_operations() if one in needed and one.type != "Placeholder"]
        self._steps = [(one, _attributes(one)) for one in made]
        self.operations = [(one.type, [id(tensor) for tensor in one.inputs], [id(tensor) for tensor in one.outputs]) for one in made]
        # What is drawn by the program itself is the same in each run.
        self._random: dict[int, Any] = {}
        self._pure = not _writes(graph, made)
        # The first run with a seed: what does not follow from other data than it had is as it was there.
        self._first: _Computed | None = None

    def compute(self, fed: dict[int, Any], seed: int) -> dict[int, Any]:
        """Runs the operations eagerly, on variables that stand in for the user's."""
        with tf.init_scope(), tf.device("/CPU:0"):
            if self._first is None or self._first.seed != seed or not self._pure:
                self._first = self._whole(fed, seed)
                return dict(self._first.arrays)
            return self._again(self._first, fed)

    def _whole(self, fed: dict[int, Any], seed: int) -> _Computed:
        draw = np.random.default_rng(seed)
        values: dict[int, Any] = {}
        for outer, key, variable in self._captured:
            values[key] = outer if outer.dtype != tf.resource else variable
            if outer.dtype == tf.resource and variable is not None:
                values[key] = _variable(variable, draw)
        for step, attributes in self._steps:
            if all(id(one) in self._trained for one in step.outputs):
                made = [tf.cast(drawn(draw, tuple(one.shape), one.dtype.name, True), one.dtype) for one in step.outputs]
            else:
                made = self._made(step, attributes, fed, values)
            values.update((id(one), value) for one, value in zip(step.outputs, made or (), strict=True))
        return _Computed(seed, fed, values, _arrays(values))

    def _again(self, first: _Computed, fed: dict[int, Any]) -> dict[int, Any]:
        values = dict(first.values)
        other = {key for key in fed.keys() | first.fed.keys() if fed.get(key) is not first.fed.get(key)}
        again: dict[int, Any] = {}
        for step, attributes in self._steps:
            if all(id(one) in self._trained for one in step.outputs) or not any(id(one) in other for one in step.inputs):
                continue
            for one, value in zip(step.outputs, self._made(step, attributes, fed, values) or (), strict=True):
                values[id(one)] = again[id(one)] = value
                other.add(id(one))
        return first.arrays | _arrays(again)

    def _made(self, step: Any, attributes: tuple[Any, ...], fed: dict[int, Any], values: dict[int, Any]) -> Any:
        known = [self._random.get(id(one)) for one in step.outputs]
        if None not in known:
            return known
        if step.type == "Const":
            return [tf.constant(tf.make_ndarray(step.get_attr("value")), step.outputs[0].dtype)]
        inputs = [fed[id(one)] if id(one) in fed else values[id(one)] for one in step.inputs]
        inputs = [tf.cast(value, one.dtype) if id(one) in fed else value for value, one in zip(inputs, step.inputs, strict=True)]
        made = execute.execute(step.type, len(step.outputs), inputs, attributes, context.context())
        if step.type.startswith(_DRAWS):
            self._random.update((id(one), value) for one, value in zip(step.outputs, made, strict=True))
        return made


@dataclass(frozen=True)
class _Computed:
    """A whole run: its data, the value of each tensor, and those that are numbers with a fraction."""

    seed: int
    fed: dict[int, Any]
    values: dict[int, Any]
    arrays: dict[int, Any]


def _arrays(values: dict[int, Any]) -> dict[int, Any]:
    return {key: value.numpy() for key, value in values.items() if getattr(value, "dtype", tf.resource).is_floating}


def _writes(graph: Any, operations: Sequence[Any]) -> bool:
    """Whether a run leaves other values in variables than it found; operations without an output are not run."""
    kinds = {one.type for one in operations if one.outputs}
    if kinds & _CALLS:
        kinds |= {node.op for function in graph.as_graph_def().library.function for node in function.node_def}
    return any(kind.startswith(WRITES) for kind in kinds)


def _variable(variable: Any, draw: Any) -> Any:
    shape, dtype = tuple(variable.shape), tf.as_dtype(variable.dtype)
    handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape, shared_name=context.anonymous_name())
    tf.raw_ops.AssignVariableOp(resource=handle, value=tf.cast(drawn(draw, shape, dtype.name, bool(variable.trainable)), dtype))
    return handle


def _attributes(operation: Any) -> tuple[Any, ...]:
    if operation.type == "Const":
        return ()
    public = [(name, _plain(value)) for name, value in operation.node_def.attr.items() if not name.startswith("_")]
    return tuple(item for pair in public for item in pair)


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "list":
        fields = (list(getattr(value.list, name)) for name in ("s", "i", "f", "b", "type"))
        return next(filter(None, fields), [_shape(shape) for shape in value.list.shape])
    if kind == "shape":
        return _shape(value.shape)
    return value.func.name if kind == "func" else getattr(value, kind)


def _shape(shape: Any) -> list[int] | None:
    return None if shape.unknown_rank else [axis.size for axis in shape.dim]
