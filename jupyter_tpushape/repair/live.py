"""A builder for an existing model: the same layers, recreated from their configuration.

Weights are copied by name and shape once the edited model is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..flow import CannotRebuild


def builder_of(adapter: Any, model: Any) -> Callable[[], Any]:
    """A function that builds a model like this one, compiled in the same way.

    Raises:
        CannotRebuild: if the class does not provide its configuration.
    """
    if not adapter.is_model(model):
        raise CannotRebuild("A single layer cannot be rebuilt: trace the model that contains it.")

    def build() -> Any:
        made = _again(adapter, model)
        _compile(adapter, model, made)
        return made

    return build


def _again(adapter: Any, model: Any) -> Any:
    if isinstance(model, adapter.Sequential):
        layers = [layer for layer in getattr(model, "_layers", None) or model.layers if layer is not getattr(model, "_functional", None)]
        declared = adapter.doors(model)
        made = [_clone(adapter, layer) for layer in layers if adapter.is_layer(layer) and (declared or not isinstance(layer, adapter.InputLayer))]
        if declared and declared[0].spec.shape and not any(isinstance(layer, adapter.InputLayer) for layer in made):
            made.insert(0, adapter.input_layer(declared[0].spec, declared[0].name))
        return type(model)(made, name=model.name)
    network = adapter.graph_network(model)
    if network is not None and not adapter.overrides(model, "call"):
        return _functional(adapter, model, network)
    try:
        return type(model).from_config(model.get_config())
    except Exception as error:
        raise CannotRebuild(
            f"{type(model).__name__} cannot be recreated from its configuration ({type(error).__name__}): trace a function that builds it instead."
        ) from error


def _clone(adapter: Any, layer: Any) -> Any:
    if isinstance(layer, adapter.InputLayer):
        return adapter.input_layer_like(layer)
    if adapter.is_model(layer):
        return _again(adapter, layer)
    return type(layer).from_config(layer.get_config())


def _functional(adapter: Any, model: Any, network: Any) -> Any:
    inputs, outputs = adapter.graph_ends(network)
    made: dict[int, Any] = {}
    clones: dict[int, Any] = {}
    for tensor in inputs:
        operation, _ = adapter.origin(tensor)
        made[id(tensor)] = adapter.new_input(adapter.spec(tensor), str(operation.name))
    for operation, _, results, is_input, _ in adapter.graph_nodes(network):
        if is_input or all(id(result) in made for result in results):
            continue
        if id(operation) not in clones:
            clones[id(operation)] = _clone(adapter, operation) if adapter.is_layer(operation) else operation
        args, kwargs = adapter.node_arguments(operation, results, made)
        value = clones[id(operation)](*args, **kwargs)
        flat = [tensor for _, tensor in adapter.tensors_of((value,), {})]
        for result, tensor in zip(results, flat, strict=True):
            made[id(result)] = tensor
    return adapter.functional_class(model)(_map(adapter.input_structure(model, inputs), made), _map(outputs, made), name=model.name)


def _map(structure: Any, made: dict[int, Any]) -> Any:
    if isinstance(structure, dict):
        return {key: _map(value, made) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return [_map(value, made) for value in structure]
    return made[id(structure)]


def _compile(adapter: Any, model: Any, made: Any) -> None:
    if not adapter.compiled(model):
        return
    arguments = adapter.compile_arguments(model)
    made.compile(**arguments)


def carry_weights(model: Any, made: Any) -> int:
    """Copies the weights of layers that have the same name and shapes; returns the number of layers."""
    old = {layer.name: layer for layer in _layers(model)}
    carried = 0
    for layer in _layers(made):
        source = old.get(layer.name)
        if source is None or source is layer or not layer.weights:
            continue
        before, now = source.weights, layer.weights
        if len(before) == len(now) and all(tuple(a.shape) == tuple(b.shape) for a, b in zip(before, now, strict=True)):
            layer.set_weights(source.get_weights())
            carried += 1
    return carried


def _layers(model: Any) -> list[Any]:
    found = []
    for layer in getattr(model, "layers", ()):
        if getattr(layer, "layers", None):
            found.extend(_layers(layer))
        else:
            found.append(layer)
    return found
