"""Keras 3, on any backend that has a file here."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import keras
from keras.src.backend import Variable
from keras.src.backend.common import global_state
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.symbolic_scope import in_symbolic_scope
from keras.src.layers.core.input_layer import InputLayer
from keras.src.layers.input_spec import assert_input_compatibility
from keras.src.layers.layer import Layer
from keras.src.losses.loss import Loss
from keras.src.metrics.metric import Metric
from keras.src.models.functional import Functional
from keras.src.ops.operation import Operation
from keras.src.optimizers.base_optimizer import BaseOptimizer

from ..flow import Spec
from .doors import Door, Feeds, Refused, doors, feeds
from .framework import Framework
from .kept import asked, renewing
from .keras3_graph import FunctionalGraph
from .keras3_variables import TracedVariables
from .recorder import active, remember_line


class Keras3(FunctionalGraph, TracedVariables, Framework):
    """Keras 3: symbolic calls on ``KerasTensor``, a stateless scope of its own, losses without tf_keras' rank repair."""

    name = "keras"
    package = "keras"
    metrics_held = "_compile_metrics"

    Layer = Layer
    Loss = Loss
    Metric = Metric
    Seeds = keras.random.SeedGenerator
    Model = keras.Model
    Sequential = keras.Sequential
    Functional = Functional
    InputLayer = InputLayer
    ops = keras.ops

    def is_symbolic(self, obj: Any) -> bool:
        return isinstance(obj, KerasTensor)

    def is_variable(self, obj: Any) -> bool:
        return isinstance(obj, Variable)

    def declared_by(self, layer: Any) -> str:
        if isinstance(layer, keras.layers.Lambda):
            return "output_shape" if getattr(layer, "_output_shape", None) is not None else ""
        own = (cls for cls in type(layer).__mro__ if not cls.__module__.startswith("keras."))
        return "compute_output_shape" if any("compute_output_shape" in vars(cls) for cls in own) else ""

    def spec(self, tensor: Any) -> Spec:
        if isinstance(tensor, KerasTensor):
            kind = "sparse" if getattr(tensor, "sparse", False) else "ragged" if getattr(tensor, "ragged", False) else "dense"
            shape = None if tensor.shape is None else tuple(tensor.shape)
            return Spec(shape, str(tensor.dtype), kind)  # type: ignore[arg-type]
        return self.backend.spec(tensor)

    def takes_training(self, obj: Any) -> bool:
        return bool(getattr(obj, "_call_has_training_arg", False))

    def takes_mask(self, obj: Any) -> bool:
        return bool(getattr(obj, "_call_has_mask_arg", False))

    def scratch(self) -> bool:
        # Calls of the user's program run outside a symbolic scope: inside one Keras infers shapes.
        return bool(in_symbolic_scope())

    def install_more(self) -> None:
        """Operations on symbolic tensors are calls too; variables of a builder that is only traced get no values."""
        self.hooks.patch(Operation, "symbolic_call", self._around_symbolic)
        self.install_hollow()

    def _around_symbolic(self, original: Any) -> Any:
        def symbolic_call(operation: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            hidden = recorder is not None and (recorder.muted or recorder.inside_opaque)
            if hidden or isinstance(operation, Layer) or in_symbolic_scope():
                return original(operation, *args, **kwargs)
            remember_line(operation)
            if recorder is None:
                return original(operation, *args, **kwargs)
            tensors = list(self.tensors_of(args, kwargs))
            call = recorder.enter(self, "op", operation, type(operation).__name__, str(getattr(operation, "name", "op")), True, tensors)
            try:
                outputs = original(operation, *args, **kwargs)
            except BaseException as error:
                recorder.fail(call, error)
                raise
            recorder.leave(self, call, [tensor for _, tensor in self.tensors_of((outputs,), {})])
            return outputs

        return symbolic_call

    # -- running a model symbolically --------------------------------------------------------------

    def globals(self) -> dict[str, Any]:
        """Keras' global state: name counters and the like, copied one level deep."""
        return {key: _copy(value) for key, value in vars(global_state.GLOBAL_STATE_TRACKER).items()}

    def restore_globals(self, saved: dict[str, Any]) -> None:
        state = vars(global_state.GLOBAL_STATE_TRACKER)
        for key in [key for key in state if key not in saved]:
            del state[key]
        for key, value in saved.items():
            current = state.get(key)
            if isinstance(current, dict) and isinstance(value, dict):
                current.clear()
                current.update(value)
            else:
                state[key] = _copy(value)

    def call_model(self, model: Any, x: Any, training: bool) -> Any:
        if getattr(model, "_call_has_training_arg", False):
            return model(x, training=training)
        return model(x)

    def build_step(self, model: Any, x: Any, y: Any, weight: Any) -> None:
        """Builds the model, its metrics and its optimizer by Keras' own shape inference."""

        def symbolic(spec: Any) -> Any:
            return KerasTensor(spec.shape, spec.dtype) if isinstance(spec, Spec) else spec

        batch = tuple(keras.tree.map_structure(symbolic, part) for part in (x, y, weight))
        held = (getattr(model, "_compile_metrics", None), getattr(model, "_compile_loss", None))
        if not all(layer.built for layer in model._flatten_layers()) or any(one is not None and not one.built for one in held):
            model._symbolic_build(data_batch=batch)
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        if hasattr(type(model), "_enforce_jax_state_sharding"):
            # Before 3.11 a step holds its state to the layouts of values, which fit has noted.
            vars(model)["_enforce_jax_state_sharding"] = _as_it_lies

    def train_step(self, model: Any, batch: Any) -> int | None:
        """Runs the model's own step as ``fit`` does on JAX: with its variables' values and a batch."""
        groups = (model.trainable_variables, model.non_trainable_variables, model.optimizer.variables, model.metrics_variables)
        state = tuple([self.backend.read(variable) for variable in group] for group in groups)
        recorder = active()
        if recorder is not None:
            recorder.metered = {id(one): str(one.path) for group in groups for one in group}
        with renewing(keras.StatelessScope, self.key, groups[1], state[1]) as renewed, asked(model, BaseOptimizer, state, self.backend):
            returned = model.train_step(state, batch)
        if recorder is not None:
            recorder.metered = {}
        pair = isinstance(returned, (tuple, list)) and len(returned) == 2 and hasattr(returned[0], "items")  # as fit reads the logs
        parts = returned[1] if pair and isinstance(returned[1], (tuple, list)) else None
        if recorder is not None and parts is not None and len(parts) == len(state):
            shapes = [[[getattr(one, "shape", None) for one in group] for group in groups] for groups in (state, map(list, parts))]
            # A step may leave metrics out; every other group has to come back as it went in.
            recorder.misplaced = next((i for i, (old, new) in enumerate(zip(*shapes, strict=True)) if i < 3 and old != new), None)
            if recorder.misplaced is None and state[0] and all(new is old for old, new in zip(state[0], parts[0], strict=True)):
                recorder.misplaced = -1
            if recorder.misplaced is None and renewed and all(parts[1][i] is state[1][i] for i in renewed):
                recorder.dropped = tuple(str(groups[1][i].path) for i in sorted(renewed))
            logs, names = returned[0], {str(metric.name) for metric in model.metrics}
            # fit then reads the metrics in place of the logs.
            if isinstance(logs, dict) and set(logs) == names and all(new is old for old, new in zip(state[3], parts[3], strict=False)):
                recorder.unread = tuple(logs)
        return len(parts) if parts is not None else None

    def renewing(self, variables: Sequence[Any]) -> AbstractContextManager[dict[int, int]]:
        return renewing(keras.StatelessScope, self.key, variables)

    def update(self, model: Any) -> None:
        """The weights stand for their gradients, which have the same shapes and dtypes."""
        optimizer, weights = model.optimizer, model.trainable_variables
        if not optimizer.built:
            optimizer.build(weights)
        values = [self.backend.read(one) for one in weights]
        optimizer.stateless_apply([self.backend.read(one) for one in optimizer.variables], values, values)

    def starts_at_zero(self, variable: Any) -> bool:
        value = getattr(variable, "_value", None)
        if value is None:
            return isinstance(getattr(variable, "_initializer", None), keras.initializers.Zeros)
        # A look at the first value is enough for almost all of them.
        known = self.backend.known(value) if getattr(value, "size", 0) else None
        return known is not None and not known.flat[0] and not known.any()

    def stepped(self, model: Any) -> list[Any] | None:
        optimizer = getattr(model, "optimizer", None)
        if optimizer is None or not self.is_model(model) or self.backend.name != "jax":
            return None
        return [*model.variables, *optimizer.variables, *model.metrics_variables]

    def built_for(self, model: Any) -> tuple[int, bool] | None:
        optimizer = getattr(model, "optimizer", None)
        known = getattr(optimizer, "_trainable_variables", None)
        if optimizer is None or known is None or not optimizer.built or [id(one) for one in known] == [id(one) for one in self.trained(model)]:
            return None
        return len(known), {id(one) for one in known} <= {id(one) for one in self.variables(model)}

    def compute_loss(self, model: Any, x: Any, y: Any, y_pred: Any, weight: Any) -> Any:
        return model._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weight, training=True)

    def metric_objects(self, model: Any, y: Any, y_pred: Any) -> list[Any]:
        container = getattr(model, "_compile_metrics", None)
        if container is None:
            return []
        if not container.built:
            container.build(y, y_pred)
        return list(container.metrics)

    def without_result(self, model: Any) -> bool:
        """The metrics of ``compile`` are built as they are first updated; a class that lists its own metrics may leave them out."""
        container = getattr(model, "_compile_metrics", None)
        return container is not None and not container.built and any(metric is container for metric in model.metrics)

    def _all_built(self, model: Any) -> bool:
        parts = (getattr(model, name, None) for name in ("optimizer", "_compile_metrics"))
        return all(getattr(part, "built", True) for part in parts if part is not None)

    def compiled(self, model: Any) -> bool:
        return bool(getattr(model, "compiled", False))

    def has_loss(self, model: Any) -> bool:
        return getattr(model, "_compile_loss", None) is not None

    def listed_losses(self, model: Any) -> int | None:
        """Keras 3 goes through the list, and leaves the outputs behind its end without a loss."""
        held = getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
        return len(held) if isinstance(held, (list, tuple)) else None

    def loss_tracker(self, model: Any) -> Any:
        return getattr(model, "_loss_tracker", None)

    def loss_weights(self, model: Any) -> Any:
        """Keras 3 matches a dict and a list by position, the keys in sorted order."""
        return getattr(getattr(model, "_compile_loss", None), "_user_loss_weights", None)

    def compile_loss(self, loss: Any, model: Any) -> Any:
        from keras.src.trainers.compile_utils import CompileLoss

        return CompileLoss(loss, output_names=getattr(model, "output_names", None))

    def left_by_fit(self, model: Any) -> str:
        return "layers" if _given_up(model) else super().left_by_fit(model)

    def begin(self, model: Any) -> None:
        if _given_up(model):
            model._layers = model._layers[1:]

    def doors(self, model: Any, left: bool = False) -> list[Door] | None:
        """The inputs that the model declares, in the order in which Keras flattens them."""
        if _given_up(model) and not left:
            return None
        network = self.graph_network(model)
        if network is not None:
            return doors(network._inputs_struct, network.inputs, self._described)
        # Before 3.6 an unbuilt Sequential raises when it is asked for its inputs.
        layers = getattr(model, "_layers", []) if isinstance(model, keras.Sequential) else []
        inputs = [layers[0].output] if layers and isinstance(layers[0], InputLayer) else []
        return doors(inputs[0], inputs, self._described) if inputs else None

    def _described(self, tensor: Any) -> tuple[str, Spec]:
        return str(tensor.name), self.spec(tensor)

    def feeds(self, model: Any, declared: list[Door], x: Any) -> Feeds:
        """Which leaf of ``x`` each declared input gets, by Keras' own code.

        A dict for a dict model goes by key: each key must be there, and more keys shift what follows them, for
        both sides are flattened in the order of their keys. A dict for a list, or for a single input, goes by
        the inputs' names, and more keys are ignored. Other containers go by order; a list for a dict model only
        where the model's keys are sorted.
        """
        network = self.graph_network(model)
        if network is None:
            return feeds(declared, x, None, assert_input_compatibility, keras.tree.flatten)

        def differs(_: Any, raise_exception: bool = False) -> None:
            if raise_exception:
                raise Refused("The structure of `inputs` doesn't match the expected structure.")

        stand_in = SimpleNamespace(
            _inputs_struct=network._inputs_struct, _inputs=network._inputs, _maybe_warn_inputs_struct_mismatch=differs,
            _convert_inputs_to_tensors=list, _adjust_input_rank=list,
        )  # fmt: skip
        return feeds(declared, x, getattr(model, "input_spec", None), assert_input_compatibility, lambda nest: Functional._standardize_inputs(stand_in, nest))

    def flatten(self, tree: Any) -> list[Any]:
        return list(keras.tree.flatten(tree))

    def map_structure(self, change: Any, tree: Any) -> Any:
        return keras.tree.map_structure(change, tree)

    def optimizer_classes(self) -> tuple[Any, ...]:
        """The base class of the optimizers."""
        return (BaseOptimizer,)

    def compile_given(self, model: Any) -> tuple[Any, Any]:
        loss, metrics = getattr(model, "_compile_loss", None), getattr(model, "_compile_metrics", None)
        return getattr(loss, "_user_loss", None), getattr(metrics, "_user_metrics", None)

    def compile_arguments(self, model: Any) -> dict[str, Any]:
        """What the model was compiled with; the optimizer anew, from its configuration."""
        loss, metrics = getattr(model, "_compile_loss", None), getattr(model, "_compile_metrics", None)
        optimizer = type(model.optimizer).from_config(model.optimizer.get_config()) if model.optimizer is not None else None
        return {
            "optimizer": optimizer, "loss": getattr(loss, "_user_loss", None), "loss_weights": getattr(loss, "_user_loss_weights", None),
            "metrics": self._fresh(getattr(metrics, "_user_metrics", None)), "weighted_metrics": self._fresh(getattr(metrics, "_user_weighted_metrics", None)),
        }  # fmt: skip


def _as_it_lies(
    trainable_variables: Any = None, non_trainable_variables: Any = None, optimizer_variables: Any = None, metrics_variables: Any = None
) -> tuple[Any, ...]:
    return tuple(group or [] for group in (trainable_variables, non_trainable_variables, optimizer_variables, metrics_variables))


def _given_up(model: Any) -> bool:
    """Whether a Sequential has the input of a ``build`` that raised: it takes no other shape, and is not built for this one."""
    layers: Any = getattr(model, "_layers", ()) if isinstance(model, keras.Sequential) else ()
    return len(layers) > 1 and isinstance(layers[0], InputLayer) and not model.built and model._functional is None


def _copy(value: Any) -> Any:
    # A defaultdict must stay one.
    return copy.copy(value) if isinstance(value, (dict, list)) else value
