"""The interface to a framework: layers, models and losses. One subclass each for Keras 3 and tf_keras.

Everything that depends on what a tensor is, is in its :class:`~jupyter_tpushape.trace.backend.Backend`; the wrapped methods are in
``hooks.py``.
"""

from __future__ import annotations

import contextlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ..flow import Spec, Weight
from .backend import Backend
from .config import shown_config
from .doors import Door, Feeds
from .hooks import Hooks
from .locations import of_the_user

# How a variable lies on the mesh of the program that is looked at: a weight's ``layout`` and ``shard``.
LAID: ContextVar[Callable[[Any], dict[str, Any]] | None] = ContextVar("laid", default=None)


class GraphNode(NamedTuple):
    """One call in a functional graph. ``first`` is the call's first argument, nested as in the code."""

    operation: Any
    inputs: list[Any]
    outputs: list[Any]
    is_input: bool
    first: Any


class Framework(ABC):
    """Keras as all versions share it: a layer class, a loss class, and models built from them, on one backend."""

    name = ""
    package = ""
    # The attribute of a model that holds its compiled metrics.
    metrics_held = ""

    Layer: Any
    Loss: Any
    Metric: Any
    Model: Any
    Sequential: Any
    Functional: Any
    InputLayer: Any
    # What holds the state of random numbers, if that is no layer.
    Seeds: Any = None
    # The framework's own operations on symbolic tensors, where it has some.
    ops: Any = None

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.hooks = Hooks(self)

    def install(self) -> None:
        """Wraps the methods of the base classes once; without a recorder, a wrapper costs a thread-local lookup."""
        self.hooks.install()

    def uninstall(self) -> None:
        """Removes every hook."""
        self.hooks.uninstall()

    # -- what things are ---------------------------------------------------------------------------

    def is_layer(self, obj: Any) -> bool:
        """Whether this is a layer; a model is one too."""
        return isinstance(obj, self.Layer)

    def is_model(self, obj: Any) -> bool:
        """Whether this is a model."""
        return isinstance(obj, self.Model)

    def declared_by(self, layer: Any) -> str:
        """The argument or method of the user's own from which a symbolic call takes the output's shape."""
        return ""

    @abstractmethod
    def is_symbolic(self, obj: Any) -> bool:
        """Whether this is the framework's own placeholder, as returned by ``Input``."""

    def is_tensor(self, obj: Any) -> bool:
        """Whether this is a tensor of the backend's or a placeholder of the framework's."""
        return self.is_symbolic(obj) or self.backend.is_tensor(obj)

    def spec(self, tensor: Any) -> Spec:
        """The spec of what :meth:`is_tensor` holds for."""
        return self.backend.spec(tensor)

    def key(self, tensor: Any) -> int:
        """What identifies a tensor on its way from call to call."""
        return self.backend.key(tensor)

    def mask(self, tensor: Any) -> Any:
        """The mask that a tensor carries."""
        return self.backend.mask(tensor)

    def builtin(self, obj: Any) -> bool:
        """Whether the class is part of the framework; its internals are then not shown."""
        module = type(obj).__module__ or ""
        return module.startswith((f"{self.package}.", "tensorflow_hub."))

    def opaque(self, obj: Any) -> bool:
        """Whether to hide everything inside a call of this layer: one of the framework's own that runs no function of the user's."""
        return self.builtin(obj) and not self.is_model(obj) and not of_the_user(getattr(obj, "function", None))

    def kind(self, obj: Any) -> str:
        """The kind of node for a call of this layer: ``layer``, or ``op`` if a framework wraps operations in layers."""
        return "layer"

    def op_name(self, obj: Any) -> str:
        """The layer's class, or the operation that it wraps."""
        return type(obj).__name__

    @abstractmethod
    def takes_mask(self, obj: Any) -> bool:
        """Whether a layer reads the mask of its input."""

    def keeps_mask(self, obj: Any) -> bool:
        """Whether a layer passes the mask of its input on, or reads it."""
        return bool(getattr(obj, "supports_masking", True)) or self.takes_mask(obj)

    @abstractmethod
    def takes_training(self, obj: Any) -> bool:
        """Whether a layer has a ``training`` argument."""

    @abstractmethod
    def optimizer_classes(self) -> tuple[Any, ...]:
        """The base classes of the framework's optimizers."""

    def tensors_of(self, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Every tensor in nested arguments, with the keyword's name as its label."""
        for value in args:
            yield from self._flat("", value)
        for key, value in kwargs.items():
            yield from self._flat(key, value)

    def _flat(self, label: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
        if self.is_tensor(value):
            yield label, value
        elif depth < 6:
            if isinstance(value, (list, tuple)):
                for item in value:
                    yield from self._flat(label, item, depth + 1)
            elif isinstance(value, dict):
                for key, item in value.items():
                    yield from self._flat(str(key), item, depth + 1)

    # -- facts -------------------------------------------------------------------------------------

    def config(self, obj: Any) -> dict[str, Any]:
        """The constructor's arguments without default values, as plain values."""
        plain = shown_config(obj)
        if type(obj).__name__ == "TimeDistributed" and self.is_layer(getattr(obj, "layer", None)):
            # What the wrapped layer does to each step decides the last axis and the activation.
            plain.update({key: value for key, value in self.config(obj.layer).items() if key in ("units", "filters", "activation")})
        return plain

    def weights(self, obj: Any) -> tuple[Weight, ...]:
        """The weights of the object, including those of its sublayers."""
        return self._as_weights(_held(obj), obj)

    def own_weights(self, obj: Any) -> tuple[Weight, ...]:
        """The weights of the object, without those of its sublayers."""
        return self._as_weights(self.own_variables(obj), obj)

    def own_variables(self, obj: Any) -> list[Any]:
        """The variables of the object, without those of its sublayers."""
        inner = getattr(obj, "_flatten_layers", lambda **_: ())(include_self=False, recursive=False)
        others = {id(variable) for layer in inner for variable in _held(layer)}
        return [one for one in _held(obj) if id(one) not in others]

    def _as_weights(self, variables: Iterable[Any], holder: Any) -> tuple[Weight, ...]:
        found, ask, trained = [], LAID.get(), bool(getattr(holder, "trainable", True))
        for variable in variables:
            shape = getattr(variable, "shape", None)
            name = self.weight_name(variable)
            dtype = getattr(variable, "dtype", "")
            dims = None if shape is None or getattr(shape, "rank", 0) is None else tuple(shape)
            laid = ask(variable) if ask is not None else {}
            found.append(Weight(name, dims, str(getattr(dtype, "name", dtype)), trained and bool(getattr(variable, "trainable", True)), **laid))
        return tuple(found)

    def weight_name(self, variable: Any) -> str:
        """The name of a variable within its layer."""
        return str(getattr(variable, "name", "") or "").rsplit("/", 1)[-1].removesuffix(":0")

    def is_variable(self, obj: Any) -> bool:
        """Whether this is a variable that is not a tensor of the backend by itself."""
        return False

    def variables(self, model: Any, *, frozen: bool = False) -> list[Any]:
        """The model's variables, or those that are not trained."""
        return self._held(model, "non_trainable_variables" if frozen else "variables")

    def trained(self, model: Any) -> list[Any]:
        """The variables that the model trains."""
        return self._held(model, "trainable_variables")

    def starts_at_zero(self, variable: Any) -> bool:
        """Whether each value of a variable is zero when the training starts; not where that is unknown."""
        return False

    def stepped(self, model: Any) -> list[Any] | None:
        """The variables whose values a compiled training step takes and gives back."""
        return None

    def renewing(self, variables: Sequence[Any]) -> AbstractContextManager[dict[int, int]]:
        """The places of variables that get another value in a scope of a step's own, each with the key of the value that it began with."""
        return contextlib.nullcontext({})

    def _held(self, model: Any, attribute: str) -> list[Any]:
        try:
            return list(getattr(model, attribute, None) or [])
        except ValueError:
            return []

    def overrides(self, model: Any, method: str) -> bool:
        """Whether the user's class overrides a method of the framework."""
        owner = next((base for base in type(model).__mro__ if method in base.__dict__), None)
        return owner is not None and not (owner.__module__ or "").startswith(f"{self.package}.")

    # -- global state ------------------------------------------------------------------------------

    @abstractmethod
    def globals(self) -> dict[str, Any]:
        """Copies of the global state: name counters and seeds."""

    @abstractmethod
    def restore_globals(self, saved: dict[str, Any]) -> None:
        """Restores the global state."""

    @abstractmethod
    def scope(self) -> AbstractContextManager[None]:
        """Active during a trace: no variable is written, and no warning reaches the user."""

    def scratch(self) -> bool:
        """Whether the framework is running a call a second time on a separate scratch graph."""
        return False

    @abstractmethod
    def install_more(self) -> None:
        """Wraps methods that only this framework has."""

    # -- models and their declared graphs ----------------------------------------------------------

    def begin(self, model: Any) -> None:
        """Undoes what an earlier ``build`` that raised left of the model, before it is called."""
        return

    @abstractmethod
    def doors(self, model: Any, left: bool = False) -> list[Door] | None:
        """The inputs that a model declares, in the order in which the framework flattens them; ``None`` if it declares none. ``left``: also the
        input that a ``build`` which raised left."""

    @abstractmethod
    def feeds(self, model: Any, declared: list[Door], x: Any) -> Feeds:
        """Which leaf of ``x``, nested as the data is, each declared input gets."""

    @abstractmethod
    def flatten(self, tree: Any) -> list[Any]:
        """The leaves in the framework's own order."""

    @abstractmethod
    def map_structure(self, change: Any, tree: Any) -> Any:
        """The nest with each leaf changed, as the framework walks it."""

    @abstractmethod
    def origin(self, tensor: Any) -> tuple[Any, list[Any]] | None:
        """The operation that created a symbolic tensor, and that operation's inputs."""

    @abstractmethod
    def graph_network(self, model: Any) -> Any:
        """The functional graph inside a model."""

    @abstractmethod
    def graph_nodes(self, network: Any) -> Iterator[GraphNode]:
        """The calls of a functional graph, in the order of execution."""

    def beside(self, network: Any) -> list[Any]:
        """The layers that are called only on tensors of a functional graph, or on what such calls give, and that are not in the graph."""
        return []

    @abstractmethod
    def graph_ends(self, network: Any) -> tuple[list[Any], Any]:
        """The functional graph's input tensors, flat, and its outputs nested as a call returns them."""

    @abstractmethod
    def given_arguments(self, operation: Any, result: Any) -> tuple[Any, Any]:
        """The arguments of the call that gave ``result``: those by position and those by name."""

    def node_arguments(self, operation: Any, results: list[Any], made: dict[int, Any]) -> Iterator[Any]:
        """The same arguments of the call that gave ``results``, with tensors exchanged for ``made`` ones (by identity)."""
        return (self.map_structure(lambda value: made.get(id(value), value), one) for one in self.given_arguments(operation, results[0]))

    # -- making things anew ------------------------------------------------------------------------

    @abstractmethod
    def new_input(self, spec: Spec, name: str) -> Any:
        """A symbolic input of this spec."""

    @abstractmethod
    def input_layer(self, spec: Spec, name: str) -> Any:
        """An ``InputLayer`` of this spec."""

    @abstractmethod
    def input_layer_like(self, layer: Any) -> Any:
        """A fresh ``InputLayer`` that declares what ``layer`` declares."""

    @abstractmethod
    def functional_class(self, model: Any) -> Any:
        """The class that a functional model is rebuilt by."""

    @abstractmethod
    def input_structure(self, model: Any, inputs: list[Any]) -> Any:
        """``inputs``, which are flat, or the nesting of symbolic tensors that ``model`` declares."""

    @abstractmethod
    def compile_given(self, model: Any) -> tuple[Any, Any]:
        """The loss and the metrics that ``compile`` was given, as they are."""

    @abstractmethod
    def compile_arguments(self, model: Any) -> dict[str, Any]:
        """The arguments of ``compile``, with a new optimizer and new metrics from their configurations."""

    # -- running a model ---------------------------------------------------------------------------

    @abstractmethod
    def call_model(self, model: Any, x: Any, training: bool) -> Any:
        """Calls the model as its training step does."""

    def build_step(self, model: Any, x: Any, y: Any, weight: Any) -> None:
        """Builds the model and its optimizer for a batch of these specs, as ``fit`` does before its first step."""
        raise TypeError(f"A training step of {self.package} on {self.backend.name} is not a function of its state.")

    def train_step(self, model: Any, batch: Any) -> int | None:
        """Runs the model's own ``train_step`` with its state and a batch, on a backend where a step is a function of that.

        Returns the number of parts of the state that it gives back, or ``None`` where it gives no pair of logs and state.
        """
        raise TypeError(f"A training step of {self.package} on {self.backend.name} is not a function of its state.")

    def update(self, model: Any) -> None:
        """Runs the optimizer's step as ``fit`` does behind the loss, on a backend where it is a function of its state."""
        raise TypeError(f"A training step of {self.package} on {self.backend.name} is not a function of its state.")

    def built_for(self, model: Any) -> tuple[int, bool] | None:
        """For how many variables the model's optimizer was built, where the model trains others now, and whether they are all the
        model's; else ``None``."""
        return None

    def keeps_variable(self, result: Any) -> bool:
        """Whether a variable is among what a metric returns, on a backend where a step returns its logs as tensors."""
        return not self.backend.replicated and any(map(self.is_variable, self.flatten(result)))

    def left_by_fit(self, model: Any) -> str:
        """What a call that raised left of a live model: a ``"step"`` that cannot run, a model without the values of its ``"weights"``, ``"layers"`` that
        take one shape and are not built for it; else ``""``."""
        if any(map(self.backend.is_lost, self.variables(model))):
            return "weights"
        step = getattr(model, "train_function", None)
        return "step" if step is not None and self.backend.is_spoiled(step, self._all_built(model)) else ""

    @abstractmethod
    def _all_built(self, model: Any) -> bool:
        """Whether neither the optimizer nor a compiled metric has variables to create."""

    @abstractmethod
    def compiled(self, model: Any) -> bool:
        """Whether ``compile`` was called."""

    @abstractmethod
    def has_loss(self, model: Any) -> bool:
        """Whether ``compile`` was given a loss."""

    def listed_losses(self, model: Any) -> int | None:
        """How many losses ``compile`` was given in a list."""
        return None

    def loss_weights(self, model: Any) -> Any:
        """The loss weights of ``compile``, where they may meet other losses than the program means."""
        return None

    def loss_tracker(self, model: Any) -> Any:
        """The metric of the mean loss, where it is one of the model's own ``metrics``."""
        return None

    @abstractmethod
    def compile_loss(self, loss: Any, model: Any) -> Any:
        """A loss as ``compile`` would take it, as a callable of labels, predictions and weights."""

    @abstractmethod
    def compute_loss(self, model: Any, x: Any, y: Any, y_pred: Any, weight: Any) -> Any:
        """The model's own loss, as its training step computes it."""

    def _fresh(self, metrics: Any) -> Any:
        if isinstance(metrics, dict):
            return {key: self._fresh(value) for key, value in metrics.items()}
        if isinstance(metrics, (list, tuple)):
            return [self._fresh(value) for value in metrics]
        return type(metrics).from_config(metrics.get_config()) if isinstance(metrics, self.Metric) else metrics

    @abstractmethod
    def metric_objects(self, model: Any, y: Any, y_pred: Any) -> list[Any]:
        """The compiled metrics, built for these tensors."""

    def update_metrics(self, model: Any, x: Any, y: Any, y_pred: Any, weight: Any) -> None:
        """Updates every compiled metric, or calls the user's own ``compute_metrics``."""
        if self.overrides(model, "compute_metrics"):
            model.compute_metrics(x, y, y_pred, weight)
        else:
            getattr(model, self.metrics_held).update_state(y, y_pred, weight)

    def without_result(self, model: Any) -> bool:
        """Whether one of the metrics that ``fit`` reads after an epoch has never been updated, and so raises when it is read."""
        return False

    # -- losses ------------------------------------------------------------------------------------

    def loss_name(self, loss: Any) -> str:
        """The loss function's name where one is wrapped, the class's name otherwise."""
        fn = getattr(loss, "fn", None)
        return str(getattr(fn, "__name__", "") or type(fn).__name__) if fn is not None else type(loss).__name__

    def comparing_metrics(self, model: Any) -> list[Any]:
        """The framework's own metrics of a model that compare labels with predictions."""
        held = [one for one in getattr(model, "metrics", None) or () if hasattr(type(one), "update_state")]
        return [one for one in held if self.builtin_metric(one) and "y_true" in inspect.signature(type(one).update_state).parameters]

    def metric_name(self, metric: Any) -> str:
        """The metric function's name where one is wrapped, the class's name otherwise."""
        fn = getattr(metric, "_fn", None)
        name = str(getattr(fn, "__name__", "") or type(metric).__name__)
        # A class of the framework's own may wrap a lambda.
        return type(metric).__name__ if name == "<lambda>" and self.builtin_metric(metric) else name

    def metric_config(self, metric: Any) -> dict[str, Any]:
        """The arguments of a metric's function that are numbers, such as a threshold."""
        given = getattr(metric, "_fn_kwargs", None) or {}
        return {key: value for key, value in given.items() if isinstance(value, (int, float))}

    def loss_config(self, loss: Any) -> dict[str, Any]:
        """The part of a loss's configuration to show."""
        config: dict[str, Any] = {"class": type(loss).__name__, "builtin": self.builtin_loss(loss)}
        config.update({key: value for key, value in (getattr(loss, "_fn_kwargs", None) or {}).items() if isinstance(value, (str, int, float, bool))})
        if hasattr(loss, "reduction"):
            config["reduction"] = str(loss.reduction).lower()
        return config

    def builtin_metric(self, metric: Any) -> bool:
        """Whether what a metric computes is the framework's own; one that wraps a function is not where the function is the user's."""
        fn = getattr(metric, "_fn", None)
        module = (getattr(fn, "__module__", "") if fn is not None else type(metric).__module__) or ""
        return module.startswith(f"{self.package}.")

    def builtin_loss(self, loss: Any) -> bool:
        """Whether a loss is part of the framework."""
        fn = getattr(loss, "fn", None)
        module = (getattr(fn, "__module__", "") if fn is not None else type(loss).__module__) or ""
        return module.startswith(f"{self.package}.")


def _held(obj: Any) -> list[Any]:
    try:
        return list(getattr(obj, "weights", ()) or ())
    except ValueError:
        return []
