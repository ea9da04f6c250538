"""tf_keras, the Keras 2 line."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
import tf_keras
from tensorflow.python.autograph.core import ag_ctx
from tf_keras.src import backend
from tf_keras.src.engine.base_layer import Layer
from tf_keras.src.engine.functional import Functional
from tf_keras.src.engine.input_layer import InputLayer
from tf_keras.src.engine.input_spec import assert_input_compatibility
from tf_keras.src.engine.keras_tensor import KerasTensor
from tf_keras.src.layers.rnn import gru_lstm_utils
from tf_keras.src.losses import Loss
from tf_keras.src.metrics import Metric
from tf_keras.src.mixed_precision.loss_scale_optimizer import BaseLossScaleOptimizer
from tf_keras.src.optimizers.legacy.optimizer_v2 import OptimizerV2
from tf_keras.src.optimizers.optimizer import _BaseOptimizer

from ..flow import Spec
from ..sources.others import at_work
from .doors import Door, Feeds, doors, feeds
from .framework import Framework, GraphNode
from .recorder import active
from .unused import outside


class TfKeras(Framework):
    """tf_keras: operations between layers are layers too (``TFOpLambda``), losses align ranks before they compute."""

    name = "tf_keras"
    package = "tf_keras"
    metrics_held = "compiled_metrics"

    Layer = Layer
    Loss = Loss
    Metric = Metric
    Model = tf_keras.Model
    Sequential = tf_keras.Sequential
    Functional = Functional
    InputLayer = InputLayer

    def is_symbolic(self, obj: Any) -> bool:
        # What a call returned without a return statement is a placeholder of None, which has no shape.
        return isinstance(obj, KerasTensor) and not isinstance(obj.type_spec, tf.NoneTensorSpec)

    def kind(self, obj: Any) -> str:
        return "op" if type(obj).__name__ in ("TFOpLambda", "SlicingOpLambda", "ClassMethod", "InstanceMethod", "InstanceProperty") else "layer"

    def op_name(self, obj: Any) -> str:
        if self.kind(obj) == "op":
            symbol = getattr(obj, "symbol", None) or getattr(obj, "method_name", None) or getattr(obj, "attr_name", None)
            return str(symbol or type(obj).__name__).rsplit(".", 1)[-1]
        return type(obj).__name__

    def takes_training(self, obj: Any) -> bool:
        return bool(getattr(obj, "_expects_training_arg", False))

    def takes_mask(self, obj: Any) -> bool:
        # An attention reads the masks off its inputs.
        return bool(getattr(obj, "_expects_mask_arg", False)) or hasattr(obj, "_compute_attention_mask")

    def install_more(self) -> None:
        """Operations between layers are layers; a recurrent layer's program for GPUs is made once."""
        self.hooks.patch(gru_lstm_utils, "function_register", around_registering)

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Autograph as ``fit`` has it; no warning reaches the user."""
        logger = tf.get_logger()
        level = logger.level
        logger.setLevel("ERROR")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with ag_ctx.ControlStatusCtx(status=ag_ctx.Status.ENABLED):
                    yield
        finally:
            logger.setLevel(level)

    def globals(self) -> dict[str, Any]:
        """Name counters and the seed generator."""
        counters = {graph: dict(names) for graph, names in backend.PER_GRAPH_OBJECT_NAME_UIDS.items()}
        generator = getattr(backend._SEED_GENERATOR, "generator", None)
        return {"counters": counters, "seed": generator.getstate() if isinstance(generator, random.Random) else None}

    def restore_globals(self, saved: dict[str, Any]) -> None:
        # All threads count together: where another one makes layers, their names must not be given twice.
        for graph in () if at_work() else list(backend.PER_GRAPH_OBJECT_NAME_UIDS):
            names = backend.PER_GRAPH_OBJECT_NAME_UIDS[graph]
            names.clear()
            names.update(saved["counters"].get(graph, {}))
        if saved["seed"] is not None:
            backend._SEED_GENERATOR.generator.setstate(saved["seed"])

    def call_model(self, model: Any, x: Any, training: bool) -> Any:
        return model(x, training=training)

    def compute_loss(self, model: Any, x: Any, y: Any, y_pred: Any, weight: Any) -> Any:
        return model.compute_loss(x, y, y_pred, weight)

    def metric_objects(self, model: Any, y: Any, y_pred: Any) -> list[Any]:
        container = getattr(model, "compiled_metrics", None)
        if container is None:
            return []
        if not container.built:
            # A dict of labels is brought to the outputs' own nesting first, as update_state does.
            container.build(y_pred, container._conform_to_outputs(y_pred, y))
        return list(container.metrics)

    def _all_built(self, model: Any) -> bool:
        optimizer, metrics = model.optimizer, getattr(model, "compiled_metrics", None)
        # An optimizer of the older kind has a list of what it created.
        made = getattr(optimizer, "_built", False) or bool(getattr(optimizer, "_weights", ()))
        return made and bool(getattr(metrics, "built", True))

    def compiled(self, model: Any) -> bool:
        return bool(getattr(model, "_is_compiled", False))

    def has_loss(self, model: Any) -> bool:
        return getattr(getattr(model, "compiled_loss", None), "_user_losses", None) is not None

    def compile_loss(self, loss: Any, model: Any) -> Any:
        from tf_keras.src.engine.compile_utils import LossesContainer

        return LossesContainer(loss, output_names=getattr(model, "output_names", None))

    def doors(self, model: Any, left: bool = False) -> list[Door] | None:
        """The inputs that the model declares, in the order in which tf_keras flattens them."""
        if self.graph_network(model) is None:
            return None
        return doors(model._nested_inputs, model.inputs, lambda tensor: (str(tensor.node.layer.name), self.spec(tensor)))

    def feeds(self, model: Any, declared: list[Door], x: Any) -> Feeds:
        """Which leaf of ``x`` each declared input gets, by tf_keras' own code.

        A dict goes by the keys of a dict model, and by the inputs' names for a list or a single input, as long as
        the model's inputs are not nested more deeply; more keys are ignored. Everything else goes by order.
        """
        nested = model._nested_inputs
        by_key = getattr(model, "_enable_dict_to_input_mapping", False)
        stand_in = SimpleNamespace(_nested_inputs=nested, _enable_dict_to_input_mapping=by_key)
        return feeds(
            declared, x, getattr(model, "input_spec", None), assert_input_compatibility, lambda nest: Functional._flatten_to_reference_inputs(stand_in, nest)
        )

    def flatten(self, tree: Any) -> list[Any]:
        return list(tf.nest.flatten(tree))

    def map_structure(self, change: Any, tree: Any) -> Any:
        return tf.nest.map_structure(change, tree)

    def optimizer_classes(self) -> tuple[Any, ...]:
        """The base classes of the optimizers, the legacy ones and those that scale losses included."""
        return (_BaseOptimizer, OptimizerV2, BaseLossScaleOptimizer)

    def origin(self, tensor: Any) -> tuple[Any, list[Any]] | None:
        """The layer that made a symbolic tensor, and that call's own inputs."""
        node = getattr(tensor, "node", None)
        if node is None:
            return None
        return node.layer, list(node.keras_inputs)

    def graph_network(self, model: Any) -> Any:
        """The functional graph inside a model."""
        return model if getattr(model, "_is_graph_network", False) else None

    def graph_nodes(self, network: Any) -> Iterator[GraphNode]:
        """The calls of a functional graph, in the order of execution."""
        for depth in sorted(network._nodes_by_depth, reverse=True):
            for node in network._nodes_by_depth[depth]:
                first = next(iter(node.call_args or ()), None)
                yield GraphNode(node.layer, list(node.keras_inputs), tf.nest.flatten(node.outputs), bool(node.is_input), first)

    def beside(self, network: Any) -> list[Any]:
        return outside(network, network.layers, lambda node: node.layer)

    def graph_ends(self, network: Any) -> tuple[list[Any], Any]:
        """The functional graph's input tensors, flat, and its outputs nested as a call returns them."""
        return list(network.inputs), network._nested_outputs

    def new_input(self, spec: Spec, name: str) -> Any:
        """A symbolic input of this spec."""
        shape = spec.shape or ()
        return tf_keras.Input(batch_shape=shape, dtype=spec.dtype, name=name, sparse=spec.kind == "sparse", ragged=spec.kind == "ragged")

    def input_layer(self, spec: Spec, name: str) -> Any:
        return InputLayer(batch_input_shape=spec.shape, dtype=spec.dtype, name=name)

    def input_layer_like(self, layer: Any) -> Any:
        return InputLayer.from_config(layer.get_config())

    def given_arguments(self, operation: Any, result: Any) -> tuple[Any, Any]:
        return result.node.call_args, result.node.call_kwargs

    def functional_class(self, model: Any) -> Any:
        return tf_keras.Model

    def input_structure(self, model: Any, inputs: list[Any]) -> Any:
        return getattr(model, "_nested_inputs", inputs)

    def compile_given(self, model: Any) -> tuple[Any, Any]:
        return model.compiled_loss._user_losses, model.compiled_metrics._user_metrics

    def compile_arguments(self, model: Any) -> dict[str, Any]:
        """What the model was compiled with; the optimizer anew, from its configuration."""
        loss, metrics = model.compiled_loss, model.compiled_metrics
        return {
            "optimizer": type(model.optimizer).from_config(model.optimizer.get_config()), "loss": loss._user_losses, "loss_weights": loss._user_loss_weights,
            "metrics": self._fresh(metrics._user_metrics), "weighted_metrics": self._fresh(metrics._user_weighted_metrics),
        }  # fmt: skip


_MADE: set[Any] = set()
# Then it begins anew: shapes differ from model to model.
_MOST = 10_000


def around_registering(original: Any) -> Any:
    def function_register(func: Any, *args: Any, **kwargs: Any) -> Any:
        if active() is None:
            return original(func, *args, **kwargs)
        seen = _key(func, args, kwargs)
        if seen in _MADE:
            return None
        made = original(func, *args, **kwargs)
        if seen is not None:
            if len(_MADE) >= _MOST:
                _MADE.clear()
            _MADE.add(seen)
        return made

    return function_register


def _key(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    code = getattr(getattr(func, "python_function", None), "__code__", None)
    values = [_part(value) for value in (*args, *kwargs.values())]
    return None if code is None or None in values else (code, tuple(kwargs), tuple(values))


def _part(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return type(value), value
    if isinstance(value, (tf.Tensor, tf.Variable)):
        shape = value.shape
        return "tensor", None if shape.rank is None else tuple(shape.as_list()), value.dtype.name
    return None
