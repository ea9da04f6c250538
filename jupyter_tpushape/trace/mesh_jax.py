"""A distribution whose mesh has no devices: what it lays out can be lowered on any machine, and layouts followed through a program.

From the layouts of data and variables, and of the outputs that a layout map names, Shardy follows them through the program: the pass that
partitions it for devices is asked, before anything is compiled.
"""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterator
from typing import Any

import jax
from keras.src.ops.operation import Operation

from ..flow.paths import map_leaves
from ..replicas.layouts import axes_of, variable_axes
from .recorder import Call, Recorder, recording

# One axis of a tensor in a layout as Shardy writes it: {"batch"}, {"model", ?}, {}.
_AXIS = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r'"([^"]+)"')
_PASS = "builtin.module(sdy-propagation-pipeline)"


class Keeping(Recorder):
    """Keeps what each call of a layer gives."""

    def __init__(self) -> None:
        super().__init__()
        self.hollow = True
        self.kept: list[tuple[Any, list[Any]]] = []

    def leave(self, adapter: Any, call: Call, outputs: list[Any]) -> None:
        """Notes the outputs with the call's object."""
        super().leave(adapter, call, outputs)
        if call.obj is not None and call.kind in ("layer", "op"):
            self.kept.append((call.obj, outputs))


def layouts(framework: Any, model: Any, x: Any, distribution: Any) -> list[tuple[Any, tuple[str, ...] | None]]:
    """See :meth:`jupyter_tpushape.trace.backend.Backend.layouts`."""
    laid, recorder = abstract(distribution), Keeping()
    groups = (model.trainable_variables, model.non_trainable_variables)
    structs = tuple([jax.ShapeDtypeStruct(tuple(one.shape), one.dtype, sharding=sharding(laid, variable_axes(laid, one))) for one in group] for group in groups)
    dtype = framework.backend.dtype
    data = map_leaves(lambda spec: jax.ShapeDtypeStruct(spec.shape, dtype(spec.dtype), sharding=data_sharding(laid, spec.shape)), x)
    objects: list[Any] = []

    def program(state: Any, x: Any) -> Any:
        trace = getattr(jax.lax.full((), 0), "_trace", None)
        with recording(recorder), _operations(framework, recorder):
            model.stateless_call(*state, x, training=False)
        results = []
        for obj, outputs in recorder.kept:
            for output in outputs:
                # What a loop's body made is known inside of it only.
                if isinstance(output, jax.core.Tracer) and getattr(output, "_trace", None) is trace:
                    objects.append(obj)
                    results.append(output)
        recorder.kept.clear()
        return results

    with laid.scope():
        lowered = jax.jit(program).trace(structs, data).lower(lowering_platforms=("tpu",))
    found = _followed(lowered.compiler_ir("stablehlo"))
    return list(zip(objects, found, strict=True)) if found else []


@contextlib.contextmanager
def _operations(framework: Any, recorder: Keeping) -> Iterator[None]:
    """Operations of a functional graph are kept as layers are; they have no recorder's door where they compute."""
    original = Operation.__call__

    def __call__(operation: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = original(operation, *args, **kwargs)
        if not framework.is_layer(operation):
            recorder.kept.append((operation, [tensor for _, tensor in framework.tensors_of((outputs,), {})]))
        return outputs

    Operation.__call__ = __call__
    try:
        yield
    finally:
        Operation.__call__ = original


def _followed(module: Any) -> list[tuple[str, ...] | None]:
    from jaxlib.mlir import ir, passmanager

    try:
        with module.context:
            passmanager.PassManager.parse(_PASS).run(module.operation)
            functions = {getattr(getattr(one, "name", None), "value", ""): one for one in module.body.operations}
            main = functions["main"]
            loops = {name for name, one in functions.items() if name != "main" and "stablehlo.while" in str(one)}
            results = [ir.DictAttr(one) for one in ir.ArrayAttr(main.attributes["res_attrs"])]
            values = list(main.regions[0].blocks[0].operations)[-1].operands
            return [
                _axes(str(one["sdy.sharding"]) if "sdy.sharding" in one else "") if not _looped(value, loops) else None
                for one, value in zip(results, values, strict=True)
            ]
    except (ValueError, KeyError, ir.MLIRError):
        return []


def _looped(value: Any, loops: set[str]) -> bool:
    """Whether a value comes out of a loop: before it partitions a program XLA opens what a loop reads, which the pass here does not know."""
    waiting, passed = [value.owner], set()
    while waiting:
        operation = waiting.pop()
        # Arguments belong to a block, which nothing comes before.
        if not hasattr(operation, "operands") or operation in passed:
            continue
        if operation.name == "stablehlo.while" or (operation.name == "func.call" and str(operation.attributes["callee"]).lstrip("@") in loops):
            return True
        passed.add(operation)
        waiting += [one.owner for one in operation.operands]
    return False


def _axes(text: str) -> tuple[str, ...]:
    inner = text.partition("[")[2].rpartition("]")[0]
    return tuple("+".join(_NAME.findall(axis)) for axis in _AXIS.findall(inner))


def abstract(distribution: Any) -> Any:
    """A copy of a ``keras.distribution`` that lays tensors over an abstract mesh of the same axes; the original is not touched."""
    mesh = distribution.device_mesh
    made = copy.copy(distribution)
    made.abstract_mesh = _mesh(tuple(mesh.shape), tuple(mesh.axis_names))

    def get_tensor_layout(path: str) -> Any:
        layout = distribution.get_tensor_layout(path)
        return sharding(made, axes_of(layout)) if layout is not None else None

    made.get_tensor_layout = get_tensor_layout
    return made


def sharding(made: Any, axes: tuple[str, ...]) -> Any:
    """JAX's sharding for a tensor whose axes lie so, over the mesh that :func:`abstract` made."""
    return jax.sharding.NamedSharding(made.abstract_mesh, jax.sharding.PartitionSpec(*(axis or None for axis in axes)))


def data_sharding(made: Any, shape: tuple[int, ...]) -> Any:
    """JAX's sharding for a batch of this shape, as Keras' trainer lays it."""
    return sharding(made, axes_of(made.get_data_layout(shape)) if shape else ())


def _mesh(sizes: tuple[int, ...], names: tuple[str, ...]) -> Any:
    try:
        return jax.sharding.AbstractMesh(sizes, names)
    except TypeError:  # before 0.5 it takes pairs
        return jax.sharding.AbstractMesh(tuple(zip(names, sizes, strict=True)))
