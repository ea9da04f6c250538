"""The graph of a functional model of Keras 3: its operations, its ends, and how it is made again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
from keras.src.layers.core.input_layer import InputLayer
from keras.src.models.functional import Functional

from ..flow import Spec
from .framework import GraphNode
from .unused import outside


class FunctionalGraph:
    """What :class:`Keras3` answers about symbolic tensors and the calls between them."""

    def origin(self, tensor: Any) -> tuple[Any, list[Any]] | None:
        """The operation that made a symbolic tensor, and that operation's own inputs."""
        history = getattr(tensor, "_keras_history", None)
        if history is None:
            return None
        operation, node_index, _ = history
        nodes = operation._inbound_nodes
        inputs = list(nodes[node_index].input_tensors) if node_index < len(nodes) else []
        return operation, inputs

    def graph_network(self, model: Any) -> Any:
        """The functional graph inside a model."""
        if isinstance(model, keras.Sequential):
            return getattr(model, "_functional", None)
        return model if isinstance(model, Functional) else None

    def graph_nodes(self, network: Any) -> Iterator[GraphNode]:
        """The calls of a functional graph, in the order of execution."""
        for depth in sorted(network._nodes_by_depth, reverse=True):
            for node in network._nodes_by_depth[depth]:
                first = next(iter(node.arguments.args), None)
                yield GraphNode(node.operation, list(node.input_tensors), list(node.output_tensors), bool(node.is_input), first)

    def beside(self, network: Any) -> list[Any]:
        return outside(network, network._operations, lambda node: node.operation)

    def graph_ends(self, network: Any) -> tuple[list[Any], Any]:
        """The functional graph's input tensors, flat, and its outputs nested as a call returns them."""
        outputs = network._outputs_struct
        single = isinstance(outputs, (list, tuple)) and len(outputs) == 1
        return list(network.inputs), outputs[0] if single else outputs

    def new_input(self, spec: Spec, name: str) -> Any:
        """A symbolic input of this spec."""
        shape = spec.shape or ()
        return keras.Input(batch_shape=shape, dtype=spec.dtype, name=name, sparse=spec.kind == "sparse" or None)

    def input_layer(self, spec: Spec, name: str) -> Any:
        return InputLayer(batch_shape=spec.shape, dtype=spec.dtype, name=name)

    def input_layer_like(self, layer: Any) -> Any:
        return InputLayer(batch_shape=layer.batch_shape, dtype=layer.dtype, name=layer.name)

    def given_arguments(self, operation: Any, result: Any) -> tuple[Any, Any]:
        arguments = operation._inbound_nodes[result._keras_history[1]].arguments
        return arguments.args, arguments.kwargs

    def functional_class(self, model: Any) -> Any:
        return keras.Model

    def input_structure(self, model: Any, inputs: list[Any]) -> Any:
        return model._inputs_struct if isinstance(model, Functional) else inputs
