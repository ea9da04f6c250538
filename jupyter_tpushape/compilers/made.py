"""What a program is made of, as a key: an answer to the same model, compile arguments, specs and versions is known before anything is lowered.

Only what is said in configurations counts as known, and the numbers that a layer has adapted to. A model with code of the user's own, a patched
layer, or a layer with a table has no key, and is lowered each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from importlib import metadata
from typing import Any

import msgspec

from ..flow.decoding import converted
from ..flow.paths import to_wire
from ..graph.program import foreign
from . import cache, hlo, process
from .programs import Lowered, Parameter, Plan
from .scopes import Found

# Layers around a program that no configuration tells: a function, or a file's.
_WRAPPERS = frozenset({"Lambda", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper"})
# Where tf_keras has a layer of a TensorFlow function by its public name, with its arguments in the network's configuration.
_OPERATIONS = "layers.core.tf_op_layer"


class _Unknown(Exception):
    """A value whose meaning no configuration tells."""


class _Kept(msgspec.Struct):
    """A program without its bytes: its parameters, ``(operation, node)`` by the places that the compiler's answer names, and that answer."""

    parameters: list[tuple[str, str, list[int], bool]]
    operations: dict[str, tuple[str, str]]
    answer: dict[str, Any]
    replicas: int = 1
    apart: bool = False


def key(seen: Any, plan: Plan, place: str) -> str:
    """The key of a program that is not lowered yet, ``""`` where there is none. ``place``: the topology and what else the answer depends on."""
    adapter, model = seen.adapter, seen.model
    if not adapter.backend.replicated or not adapter.is_model(model):
        return ""
    try:
        parts = [
            cache.FORMAT, place, plan.label, _versions(adapter.package), os.environ.get("XLA_FLAGS", ""), os.environ.get("TF_XLA_FLAGS", ""),
            [[to_wire(leaf.path), leaf.spec.shape, leaf.spec.dtype] for leaf in plan.leaves], plan.sizes,
            _structure(adapter, model), seen.program.training, _said(seen.program.loss, adapter.package),
            _said(adapter.compile_arguments(model), adapter.package) if plan.name == "train" else "",
            [(node.id, node.name, node.kind, node.op, node.parent) for node in seen.evidence.flow.nodes],
        ]  # fmt: skip
        text = json.dumps(parts, sort_keys=True)
    except (_Unknown, TypeError, ValueError, AttributeError, NotImplementedError, KeyError):  # also a value that is not there
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


def read(key: str) -> tuple[Lowered, dict[str, Any]] | None:
    """A program's parameters and the compiler's answer, as they were kept under a key."""
    place = cache.place("made", key)
    found = cache.load(place)
    try:
        kept: _Kept = converted(found, _Kept)
    except (msgspec.ValidationError, RecursionError):
        return None
    if not cache.usable(kept.answer):
        return None
    parameters = [Parameter(name, node, tuple(shape), data) for name, node, shape, data in kept.parameters]
    hlo.named(kept.answer, lambda place: kept.operations.get(place, (place, ""))[0])
    program = Lowered(
        "", parameters=parameters, scopes=Found(dict(kept.operations.values())), replicas=kept.replicas, apart=kept.apart
    )  # fmt: skip
    return program, {**kept.answer, "cached": True}


def write(key: str, program: Lowered, answer: dict[str, Any]) -> None:
    """Keeps what :func:`read` gives. Refusals that name an operation are not kept: the line that made it is known to the lowered program alone."""
    if not key or not answer["ok"]:
        return
    operations: dict[str, tuple[str, str]] = {}
    back = hlo.operation_at(program.read.names)

    def noted(place: str) -> str:
        name = back(place)
        if name != place and name:
            operations[place] = (name, program.scopes.node(name) if program.scopes is not None else "")
        return place

    hlo.named(answer, noted)
    parameters = [(one.name, one.node, list(one.shape), one.data) for one in program.parameters]
    cache.write(cache.place("made", key), msgspec.to_builtins(_Kept(parameters, operations, answer, program.replicas, program.apart)))


def _versions(package: str) -> list[str]:
    from .. import __version__

    return [__version__, process.versions(), *(metadata.version(name) for name in ("tensorflow", package) if _installed(name))]


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:  # tensorflow-cpu, tensorflow-tpu
        module = sys.modules.get(name)
        if module is None or not hasattr(module, "__version__"):
            raise _Unknown from None
        return False
    return True


def _structure(adapter: Any, model: Any) -> list[Any]:
    """The model as its configuration says it, and its variables: which are one and the same, and which are trained."""
    package = adapter.package
    layers = list(model._flatten_layers(include_self=True, recursive=True))
    for layer in layers:
        held = vars(layer)
        if foreign(layer, package) or type(layer).__name__ in _WRAPPERS:
            raise _Unknown
        if type(layer).__module__.endswith(_OPERATIONS):
            if not isinstance(getattr(layer, "symbol", "sliced"), str):
                raise _Unknown
            continue
        if any(callable(held.get(name)) for name in ("call", "train_step", "predict_step", "compute_loss")):
            raise _Unknown
        if not str(getattr(type(layer).call, "__module__", "")).startswith(f"{package}."):
            raise _Unknown
    adapted = [_adapted(layer) for layer in layers if hasattr(layer, "adapt")]
    numbers: dict[int, int] = {}
    variables = [[numbers.setdefault(id(one), len(numbers)), list(one.shape), str(one.dtype), bool(one.trainable)] for layer in layers for one in layer.weights]
    framework = sys.modules[package]
    told = framework.saving.serialize_keras_object(model)
    told.pop("compile_config", None)  # read from the model itself, for the train step
    config = framework.backend if package == "tf_keras" else framework.config
    return [_known(told, package), variables, adapted, config.floatx(), config.image_data_format()]


def _adapted(layer: Any) -> dict[str, Any]:
    """What a layer holds that ``adapt`` may have set: numbers, lists of them, and arrays by their values."""
    found = {}
    for name, value in vars(layer).items():
        if "Table" in type(value).__name__:
            raise _Unknown
        if name.startswith("_") or isinstance(value, (str, type(None))):
            continue
        if isinstance(value, (bool, int, float, list, tuple)) and not callable(value):
            found[name] = repr(value)
        elif callable(getattr(value, "numpy", None)) or hasattr(value, "__array_interface__"):
            array = value.numpy() if hasattr(value, "numpy") else value
            found[name] = f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
    return found


def _known(value: Any, package: str) -> Any:
    if isinstance(value, dict):
        # tf_keras calls its own modules keras.
        if "module" in value and str(value["module"]).split(".")[0] not in (package, "keras"):
            raise _Unknown
        if str(value.get("class_name", "")) in ("function", "__lambda__"):
            raise _Unknown
        return {str(name): _known(inner, package) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_known(inner, package) for inner in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a learning rate as NumPy's number
        return value.item()
    raise _Unknown


def _said(value: Any, package: str) -> Any:
    if isinstance(value, dict):
        return {str(name): _said(inner, package) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_said(inner, package) for inner in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    kind = type(value) if hasattr(value, "get_config") else value
    module = str(getattr(kind, "__module__", ""))
    if not module.startswith(f"{package}.") or not hasattr(kind, "__qualname__"):
        raise _Unknown
    name = f"{module}.{kind.__qualname__}"
    return [name, _known(value.get_config(), package), _plain(vars(value))] if kind is not value else name


# Whether something has run already, which is no part of what it does.
_STATE = frozenset({"built", "_built", "_lock", "_is_built", "_called"})


def _plain(held: Any) -> Any:
    if isinstance(held, dict):
        found = {str(name): _plain(value) for name, value in held.items() if name not in _STATE}
        return {name: value for name, value in found.items() if value is not None}
    if isinstance(held, (list, tuple)):
        return [_plain(value) for value in held]
    return held if isinstance(held, (bool, int, float, str)) else None
