"""Programs of Keras on JAX, lowered for a TPU from specs alone: no TPU, no libtpu, and no values of variables.

What is lowered is one program for all devices: data and variables bear their layouts on an abstract mesh, and the worker's compiler cuts
the program into each device's share and puts the exchange between devices in. It goes there as portable StableHLO.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax

from ..flow.paths import map_leaves, to_wire
from ..replicas.layouts import Axes, axes_of, mesh_of, variable_axes
from ..trace.framework import Framework
from ..trace.mesh_jax import abstract, data_sharding, sharding
from ..trace.ran import Leaf
from ..trace.recorder import Recorder, recording
from . import bridge

_FILES = re.compile(r"\nFileNames\n.*?\n\n\n", re.DOTALL)
# What a transformation puts around a scope's name.
_AROUND = re.compile(r"^(?:\w+\()+|\)+$")


class NamedScopes:
    """Operations by the layer whose scope they were made in; Keras opens one of its name in JAX for each layer."""

    def __init__(self, flow: Any) -> None:
        found: dict[str, list[str]] = {}
        for node in flow.nodes:
            if node.kind == "layer":
                found.setdefault(node.name, []).append(node.id)
        self._nodes = {name: ids[0] for name, ids in found.items() if len(ids) == 1}

    def node(self, operation: str) -> str:
        """The node that made an operation, or whose gradient it is."""
        return next((self._nodes[part] for part in map(_plain, reversed(operation.split("/"))) if part in self._nodes), "")


def _plain(part: str) -> str:
    return _AROUND.sub("", part)


class Made(NamedTuple):
    """A program: its portable form, XLA's text of it, and its parameters in order: ``(name, variable or leaf, shape on one device)``."""

    portable: bytes
    text: str
    held: list[tuple[str, Any, tuple[int, ...]]]
    shardy: bool


def lower(adapter: Framework, model: Any, name: str, arguments: tuple[Any, ...], distribution: Any = None) -> Made:
    """Lowers one program.

    Args:
        arguments: nests of :class:`Leaf` with the whole batch's specs: x, and for ``train`` y and the weights. distribution: how data and
            variables lie on the devices; ``None``: on a single one.
    """
    silent = Recorder()
    silent.muted, silent.hollow = 1, True
    laid = _Laid(distribution)
    with recording(silent):
        specs = [map_leaves(lambda leaf: leaf.spec, argument) for argument in arguments]
        if name == "train":
            optimizer = adapter.compile_arguments(model)["optimizer"]
            # Its slots are made last, as those of the variables' layouts.
            vars(model)["optimizer"] = None
            adapter.build_step(model, *specs)
            vars(model)["optimizer"] = optimizer
            with laid.variables(model.trainable_variables):
                optimizer.build(model.trainable_variables)
            groups = [model.trainable_variables, model.non_trainable_variables, model.optimizer.variables, model.metrics_variables]
        else:
            groups = [model.trainable_variables, model.non_trainable_variables]
        state = tuple([laid.struct(tuple(one.shape), one.dtype, laid.of_variable(one)) for one in group] for group in groups)
        given = [argument for argument in arguments if argument is not None]
        data = tuple(map_leaves(lambda leaf: laid.data(tuple(leaf.spec.shape), adapter.backend.dtype(leaf.spec.dtype)), one) for one in given)
        step = jax.jit(
            _step(model, name), donate_argnums=0 if name == "train" else (), keep_unused=True, **laid.results(name, state)
        )  # fmt: skip
        with laid.scope():
            lowered = step.trace(state, data).lower(lowering_platforms=("tpu",))
    leaves = jax.tree.leaves(tuple(map_leaves(_Held, argument) for argument in given))
    held = [(str(one.path), one, laid.shard(struct)) for group, structs in zip(groups, state, strict=True) for one, struct in zip(group, structs, strict=True)]
    structs = jax.tree.leaves(data)
    held += [(one.leaf.name, one.leaf, laid.shard(struct)) for one, struct in zip(leaves, structs, strict=True)]
    return Made(_portable(lowered), _text(lowered.compiler_ir("hlo")), held, bool(getattr(jax.config, "jax_use_shardy_partitioner", False)))


class _Laid:
    """How a program's tensors lie on the devices."""

    def __init__(self, distribution: Any) -> None:
        self._distribution = abstract(distribution) if distribution is not None else None
        self._mesh = mesh_of(distribution) if distribution is not None else None

    def scope(self) -> Any:
        """Layers ask the distribution that is set how their outputs lie."""
        return self._distribution.scope() if self._distribution is not None else contextlib.nullcontext()

    @contextlib.contextmanager
    def variables(self, variables: list[Any]) -> Iterator[None]:
        """Variables know their layout for as long as the optimizer makes its slots, as those that were made under the distribution do."""
        before = [getattr(one, "_layout", None) for one in variables]
        if self._distribution is not None:
            for one in variables:
                one._layout = self._distribution.get_variable_layout(one)
        try:
            yield
        finally:
            for one, layout in zip(variables, before, strict=True):
                one._layout = layout

    def of_variable(self, variable: Any) -> Axes:
        return variable_axes(self._distribution, variable) if self._distribution is not None else ()

    def struct(self, shape: tuple[int, ...], dtype: Any, axes: Axes) -> Any:
        if self._distribution is None:
            return jax.ShapeDtypeStruct(shape, dtype)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding(self._distribution, axes))

    def data(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if self._distribution is None:
            return jax.ShapeDtypeStruct(shape, dtype)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=data_sharding(self._distribution, shape))

    def results(self, name: str, state: Any) -> dict[str, Any]:
        """A step gives its state back as it lay, which Keras' trainer asks for."""
        if self._distribution is None or name != "train":
            return {}
        return {"out_shardings": (None, jax.tree.map(lambda one: one.sharding, state))}

    def shard(self, struct: Any) -> tuple[int, ...]:
        """What one device holds of it."""
        if self._mesh is None:
            return tuple(struct.shape)
        return tuple(int(n or 0) for n in self._mesh.shard(tuple(struct.shape), axes_of(struct.sharding)))


def _portable(lowered: Any) -> bytes:
    """The program as StableHLO of a version that this jaxlib can write and the worker's can read."""
    from jaxlib.mlir.dialects import stablehlo

    version = min(str(stablehlo.get_current_version()), bridge.STABLEHLO, key=lambda text: [int(part) for part in text.split(".")])
    written = io.BytesIO()
    lowered.compiler_ir("stablehlo").operation.write_bytecode(file=written)
    try:
        core = importlib.import_module("jaxlib._jax")
    except ImportError:  # before 0.6
        core = importlib.import_module("jaxlib.xla_extension")
    try:
        # Layouts as plain attributes: the dialect that they are written in carries no promise between versions.
        return bytes(core.mlir.serialize_portable_artifact(written.getvalue(), version, False))
    except TypeError:
        return bytes(core.mlir.serialize_portable_artifact(written.getvalue(), version))


def _text(program: Any) -> str:
    """XLA's text with the scopes of operations, and without the table of source files, which says nothing of the program."""
    return _FILES.sub("\n", str(program.get_hlo_module().to_string()))


class _Held:
    """A leaf that JAX's trees take for one."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf


def _step(model: Any, name: str) -> Callable[..., Any]:
    if name == "forward":
        return lambda state, data: model.stateless_call(*state, data[0])[0]
    return model.train_step  # type: ignore[no-any-return]


def owners(seen: Any, model: Any) -> dict[int, tuple[str, str]]:
    """``(path, node)`` by the identity of each variable: the node is the innermost layer's that the flow shows."""
    by_name = {node.name: node.id for node in seen.evidence.flow.nodes if node.kind == "layer"}
    best: dict[int, tuple[int, str, str]] = {}
    for layer in model._flatten_layers(include_self=True, recursive=True):
        node = by_name.get(str(layer.name))
        held = list(layer.variables) if node is not None else []
        for variable in held:
            if id(variable) not in best or len(held) < best[id(variable)][0]:
                best[id(variable)] = (len(held), str(variable.path), node or "")
    return {key: (path, node) for key, (_, path, node) in best.items()}


def parameters(seen: Any, model: Any, held: list[tuple[str, Any, tuple[int, ...]]]) -> Iterator[tuple[str, str, tuple[int, ...], bool]]:
    """``(name, node, shape, is data)`` of each parameter; an optimizer's slot by the path that it carries of its variable."""
    inputs = {node.path: node.id for node in seen.evidence.flow.nodes if node.kind == "input"}
    known = owners(seen, model)
    paths = sorted(((path.replace("/", "_"), node) for path, node in known.values()), key=lambda pair: -len(pair[0]))
    for name, one, shape in held:
        if isinstance(one, Leaf):
            yield name, inputs.get(to_wire(one.path), ""), shape, True
        elif id(one) in known:
            yield name, known[id(one)][1], shape, False
        else:
            plain = name.replace("/", "_")
            yield name, next((node for path, node in paths if path in plain), ""), shape, False
