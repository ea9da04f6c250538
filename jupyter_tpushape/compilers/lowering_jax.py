"""Programs of Keras on JAX, lowered for a TPU from specs alone: no TPU, no libtpu, and no values of variables.

What is lowered is the share of one device under ``DataParallel``: its rows, and every variable whole. The exchange of gradients between
devices is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax

from ..flow.paths import map_leaves, to_wire
from ..trace.framework import Framework
from ..trace.recorder import Recorder, recording
from ..trace.run import Leaf

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
        """The node that made an operation, or whose gradient it is; ``""`` where none did or several may have."""
        return next((self._nodes[part] for part in map(_plain, reversed(operation.split("/"))) if part in self._nodes), "")


def _plain(part: str) -> str:
    return _AROUND.sub("", part)


def lower(
    adapter: Framework, model: Any, name: str, arguments: tuple[Any, ...]
) -> tuple[bytes, str, list[tuple[str, Any, tuple[int, ...]]]]:
    """Lowers one program.

    Args:
        arguments: nests of :class:`Leaf`: x, and for ``train`` y and the weights.

    Returns:
        XLA's bytes and text of it, and its parameters in order: ``(name, variable or leaf, shape)``.
    """
    silent = Recorder()
    silent.muted, silent.hollow = 1, True
    with recording(silent):
        specs = [map_leaves(lambda leaf: leaf.spec, argument) for argument in arguments]
        if name == "train":
            optimizer = adapter.compile_arguments(model)["optimizer"]
            vars(model)["optimizer"] = optimizer
            adapter.build_step(model, *specs)
            optimizer.build(model.trainable_variables)
            groups = [model.trainable_variables, model.non_trainable_variables, model.optimizer.variables, model.metrics_variables]
        else:
            groups = [model.trainable_variables, model.non_trainable_variables]
        state = tuple([jax.ShapeDtypeStruct(tuple(one.shape), one.dtype) for one in group] for group in groups)
        data = tuple(map_leaves(_struct(adapter), argument) for argument in arguments if argument is not None)
        step = jax.jit(_step(model, name), donate_argnums=0 if name == "train" else (), keep_unused=True)
        lowered = step.trace(state, data).lower(lowering_platforms=("tpu",))
    program = lowered.compiler_ir("hlo")
    leaves = jax.tree.leaves(tuple(map_leaves(_Held, argument) for argument in arguments if argument is not None))
    held = [(str(one.path), one, tuple(one.shape)) for group in groups for one in group]
    held += [(one.leaf.name, one.leaf, tuple(one.leaf.spec.shape or ())) for one in leaves]
    return program.as_serialized_hlo_module_proto(), _text(program), held


def _text(program: Any) -> str:
    """XLA's text with the scopes of operations, and without the table of source files, which says nothing of the program."""
    return _FILES.sub("\n", str(program.get_hlo_module().to_string()))


class _Held:
    """A leaf that JAX's trees take for one."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf


def _struct(adapter: Framework) -> Callable[[Leaf], Any]:
    return lambda leaf: jax.ShapeDtypeStruct(leaf.spec.shape, adapter.backend.dtype(leaf.spec.dtype))


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
