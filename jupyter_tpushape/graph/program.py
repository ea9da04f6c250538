"""The replica's program op by op: what in it a TPU has no kernel for, or takes only as a constant.

A model made of built-in layers that the TPU compiler was seen to compile (``tpu_layers.json``) alone is not traced a second time for this; one with
other layers, losses or operations of the user's own, or with preprocessing inside, is. Nothing is computed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..flow import Location
from ..trace.recorder import Recorder
from ..trace.run import run
from .called import keeps_values, keeps_values_inside
from .walk import OUTSIDE, Met, nodes, static, walk
from .wrote import asked_for, made_by_user, never_fed, user_line

# Beside the table of constants: operands that its made-up ones did not reach, or that XLA takes as they are where a TPU does not.
BESIDE: dict[str, tuple[int, ...]] = {
    "Slice": (2,), "SplitV": (1, 2), "StatelessRandomNormalV2": (0,), "StatelessRandomUniformV2": (0,), "TopKV2": (1,),
}  # fmt: skip
BOUNDED = frozenset({"Where", "Unique", "UniqueV2", "DynamicPartition"})
ELEMENTWISE = frozenset({"AddV2", "Add", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "SquaredDifference", "Pow", "SelectV2", "DivNoNan"})
PRODUCTS = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum", "Conv2D", "Conv3D", "DepthwiseConv2dNative"})
_XLA = "XLA_CPU_JIT"
# Layers that compile with default arguments, and that are looked into because others decide: code of the user's own, a way to resize.
DOUBTFUL = frozenset({"Lambda", "Resizing", "UpSampling2D", "CenterCrop", "RandomCrop", "Discretization", "CategoryEncoding"})
CONTAINERS = frozenset({"Functional", "Sequential", "Model", "InputLayer"})


@cache
def compiled_layers(package: str) -> frozenset[str]:
    """Names of a framework's layers that the TPU compiler took, forward and gradient, when ``scripts/tpu_layers.py`` asked it."""
    held = json.loads((Path(__file__).parent / "tpu_layers.json").read_text(encoding="utf-8"))
    return frozenset(held.get(package, {}).get("compiled", ())) | CONTAINERS


@cache
def constants() -> dict[str, tuple[int, ...]]:
    """Operands by place that XLA must know when it compiles, as it said when ``scripts/tpu_constants.py`` asked it; -1 counts from the end."""
    held = json.loads((Path(__file__).parent / "tpu_constants.json").read_text(encoding="utf-8"))
    return {**BESIDE, **{kind: tuple(places) for kind, places in held["constants"].items()}}


@dataclass(frozen=True)
class Use:
    """One operation that matters. ``what``: ``kernel``, ``dtype``, ``constant``, ``bounded``, ``mixed``, ``assert``, ``loop``, ``product``, ``size``,
    ``placeholder``."""

    what: str
    op: str
    scope: str = ""
    detail: str = ""
    location: Location | None = None


@dataclass
class Program:
    """``uses``: what is worth a finding. ``traced``: whether the forward pass was looked at op by op."""

    uses: list[Use] = field(default_factory=list)
    traced: bool = False
    soft: bool = False
    ops: int = 0


@cache
def kernels() -> dict[str, dict[str, frozenset[str]]]:
    """Ops with an XLA kernel: for each, the dtypes that an attribute is limited to."""
    held = json.loads((Path(__file__).parent / "tpu_kernels.json").read_text(encoding="utf-8"))
    codes = dict(zip("abcdefghijklmnopqrstuvwxyz", held["types"], strict=False))
    known = {op: {name: frozenset(codes[c] for c in text) for name, text in limits.items()} for op, limits in held["kernels"].items()}
    known.update({op: {} for op in held["tpu_only"]})
    return known


def registered() -> frozenset[str]:
    """Ops with an XLA kernel in this very process."""
    module = sys.modules.get("tensorflow.python.framework.kernels")
    try:
        if module is None or not any(kernel.device_type == _XLA for kernel in module.get_registered_kernels_for_op("MatMul").kernel):
            return frozenset()
        return _every(module)
    except Exception:  # a build without the registry's query
        return frozenset()


@cache
def _every(module: Any) -> frozenset[str]:
    """Asked once: TensorFlow keeps the 400 kB of each answer for good, and XLA's kernels are registered all at one time."""
    return frozenset(kernel.op for kernel in module.get_all_registered_kernels().kernel if kernel.device_type == _XLA)


def _dtype(value: Any) -> str:
    import tensorflow as tf

    return str(tf.as_dtype(value).name)


def uses_of(graph: Any, *, training: bool = False) -> Iterator[Use]:
    """What in a traced graph a TPU takes not at all, or not as it is.

    Args:
        training: whether gradients flow through it, which loops without a bound do not survive.
    """
    known, here, definition = kernels(), registered(), graph.as_graph_def()
    functions = {function.signature.name: function for function in definition.library.function}
    located: set[str] = set()
    for met in walk(graph, functions):
        kind = met.operation.type
        if kind not in known and kind not in here:
            if met.by is None or met.by_user:
                yield Use("kernel", kind, met.scope, location=met.line)
                located |= {kind} if met.by is not None else set()
        elif met.by is None or met.by_user:
            yield from _uses_of_one(met, known.get(kind, {}), training, graph)
    for operation in graph.get_operations():
        if operation.type == "Placeholder" and never_fed(operation):
            yield Use("placeholder", "Placeholder", operation.name, location=user_line(operation))
    for kind in dict.fromkeys(node.op for node in nodes(definition, functions)):
        if not (kind in known or kind in here or kind in OUTSIDE or kind in functions or kind in located or kind == "_Arg"):
            yield Use("kernel", kind, "a function that the program calls")


def _uses_of_one(met: Met, limits: dict[str, frozenset[str]], training: bool, program: Any) -> Iterator[Use]:
    """What is to be said of one operation that has a kernel.

    Args:
        limits: the dtypes that its attributes are limited to. program: the graph that the walk began with.
    """
    operation, kind, scope, values = met.operation, met.operation.type, met.scope, met.values
    for name, allowed in limits.items():
        try:
            dtype = _dtype(operation.get_attr(name))
        except (TypeError, ValueError):
            continue
        if dtype not in allowed and dtype != "string" and not _static_outputs(operation, values):
            yield Use("dtype", kind, scope, dtype, met.line)
    for position in constants().get(kind, ()):
        # Of tf.range that autograph loops over only the operands are used.
        if not static(operation.inputs[position], values) and (kind != "Range" or operation.outputs[0].consumers()):
            yield Use("constant", kind, scope, operation.inputs[position].op.type, met.line)
            break
    if kind in BOUNDED and met.by_user:
        yield Use("bounded", kind, scope, location=met.line)
    elif kind in ELEMENTWISE and met.by is None and _mixes(operation) and met.by_user:
        yield Use("mixed", kind, scope, " with ".join(str(tuple(tensor.shape)) for tensor in operation.inputs[:2]), met.line)
    elif (kind in ("Assert", "CheckNumerics") or "AssertGuard" in scope.rsplit("/", 1)[-1]) and asked_for(met.wrote):
        yield Use("assert", "CheckNumerics" if kind == "CheckNumerics" else "Assert", scope, location=met.line)
    elif kind in PRODUCTS and _dtype(operation.outputs[0].dtype).lstrip("u") == "int64":
        yield Use("product", kind, scope, "int64", met.line)
    elif kind in ("While", "StatelessWhile") and training and met.by_user:
        kept = keeps_values(operation, _has_gradients(operation.graph)) if met.by is None else keeps_values_inside(operation, program)
        if kept:
            yield Use("loop", kind, scope, location=met.line)


def _has_gradients(graph: Any) -> bool:
    return any(operation.name.startswith("gradient_tape/") for operation in graph.get_operations())


def _static_outputs(operation: Any, values: dict[int, bool]) -> bool:
    # Shape arithmetic is done when the program is compiled, whatever its dtype.
    return bool(operation.outputs) and static(operation.outputs[0], values)


def _mixes(operation: Any) -> bool:
    shapes = [tensor.shape for tensor in operation.inputs[:2]]
    if any(shape.rank is None for shape in shapes):
        return False
    left, right = (list(reversed(shape.as_list())) for shape in shapes)
    return any((a is None) != (b is None) and (a or b or 0) > 1 for a, b in zip(left, right, strict=False))


def _doubtful(model: Any, package: str) -> bool:
    try:
        layers = list(model._flatten_layers(include_self=True, recursive=True))
    except Exception:
        return True
    return any(type(layer).__name__ in DOUBTFUL or type(layer).__name__ not in compiled_layers(package) or foreign(layer, package) for layer in layers)


def foreign(layer: Any, package: str) -> bool:
    """Whether a layer's class, its activation, or an operation of the network that it is, is none of the framework's own."""
    kind = type(layer)
    if kind.__module__.split(".")[0] != package:
        return True
    if kind.__name__ in ("Sequential", "Functional", "Model"):
        operations = getattr(layer, "_operations", None) or ()
        if any(not hasattr(operation, "weights") and type(operation).__module__.split(".")[0] != package for operation in operations):
            return True
    activation = getattr(layer, "activation", None)
    return callable(activation) and not str(getattr(activation, "__module__", "") or type(activation).__module__).startswith((package, "keras.", "tf_keras."))


def program(seen: Any) -> Program | None:
    """The replica's program as far as a TPU is concerned."""
    first, adapter = seen.run, seen.adapter
    if seen.program.target is None or first is None or adapter is None or first.error is not None or not adapter.backend.replicated:
        return None
    found = Program(soft=_soft_placement())
    graphs = [] if first.graph is None else [(first.graph, first.has_loss)]
    found.traced = not first.fast
    if first.fast and _doubtful(seen.model, adapter.package):
        again = run(
            adapter, seen.model, seen.sample, shape=seen.shape_of(), training=seen.program.training, loss=seen.program.loss,
            recorder=Recorder(), fast=False,
        )  # fmt: skip
        if again.graph is not None and again.error is None:
            graphs, found.traced = [(again.graph, again.has_loss)], True
    if seen.evidence.split is not None and seen.evidence.split.dynamic and _doubtful(seen.model, adapter.package):
        found.uses += sizes_as_numbers(seen)
    seen_uses: set[tuple[str, str, str]] = set()
    for graph, loss in graphs:
        found.ops += len(graph.get_operations())
        for use in uses_of(graph, training=loss and seen.program.training):
            key = (use.what, use.op, str(use.location) or use.scope)
            if key not in seen_uses:
                seen_uses.add(key)
                found.uses.append(use)
    return found


def sizes_as_numbers(seen: Any) -> list[Use]:
    """Where the size of an unknown batch axis is made a number to compute with; the program is traced with that axis open."""
    if seen.model is None:
        return []
    shape = seen.shape_of()
    opened = run(
        seen.adapter, seen.model, seen.sample, shape=lambda leaf: (None, *(shape(leaf) or (None,))[1:]), training=seen.program.training,
        loss=seen.program.loss, recorder=Recorder(), fast=False,
    )  # fmt: skip
    if opened.graph is None or opened.error is not None:
        return []
    return [
        Use("size", "Shape", operation.name, location=user_line(operation))
        for operation in opened.graph.get_operations()
        if operation.type == "Cast" and operation.outputs[0].dtype.is_floating and made_by_user(operation) and _from_size(operation)
    ]


def _from_size(operation: Any) -> bool:
    pending = [source.op for source in operation.inputs]
    for _ in range(20):
        if not pending:
            break
        one = pending.pop()
        if one.type == "Shape":
            held = one.inputs[0].shape
            return bool(held.rank and held[0] is None)
        if one.type in ("StridedSlice", "Prod", "Identity", "Squeeze", "GatherV2", "Mul", "Pack"):
            pending.extend(source.op for source in one.inputs)
    return False


def _soft_placement() -> bool:
    """Whether the user asked for soft placement; TensorFlow's own default counts as not asked."""
    module = sys.modules.get("tensorflow.python.eager.context")
    return bool(getattr(module.context(), "_soft_device_placement", None)) if module is not None else False
