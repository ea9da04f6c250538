"""What the tracer needs to know of a framework. One subclass each for Keras 3 and tf_keras."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..flow import Spec, Weight
from .config import shown_config
from .doors import Door, Feeds
from .recorder import Recorder, active, remember_line


class GraphNode(NamedTuple):
    """One call in a functional graph. ``first`` is the call's first argument, nested as it was written."""

    operation: Any
    inputs: list[Any]
    outputs: list[Any]
    is_input: bool
    first: Any


class Adapter:
    """Keras as both versions share it: a layer class, a loss class, and models made of them."""

    name = ""
    package = ""

    Layer: Any
    Loss: Any
    Metric: Any
    Model: Any
    Sequential: Any
    Functional: Any
    InputLayer: Any

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []

    # -- what things are ---------------------------------------------------------------------------

    def is_layer(self, obj: Any) -> bool:
        return isinstance(obj, self.Layer)

    def is_model(self, obj: Any) -> bool:
        return isinstance(obj, self.Model)

    def is_tensor(self, obj: Any) -> bool:
        raise TypeError

    def builtin(self, obj: Any) -> bool:
        """Whether the class is the framework's own (its insides are not the user's business)."""
        module = type(obj).__module__ or ""
        return module.startswith((f"{self.package}.", "tensorflow_hub."))

    def opaque(self, obj: Any) -> bool:
        return self.builtin(obj) and not self.is_model(obj)

    def kind(self, obj: Any) -> str:
        return "layer"

    def op_name(self, obj: Any) -> str:
        return type(obj).__name__

    def takes_mask(self, obj: Any) -> bool:
        return False

    def mask(self, tensor: Any) -> Any:
        return getattr(tensor, "_keras_mask", None)

    def key(self, tensor: Any) -> int:
        return id(tensor)

    def spec(self, tensor: Any) -> Spec:
        raise TypeError

    # -- facts -------------------------------------------------------------------------------------

    def config(self, obj: Any) -> dict[str, Any]:
        """The constructor's arguments that are not at their default, as plain values."""
        plain = shown_config(obj)
        if type(obj).__name__ == "TimeDistributed" and self.is_layer(getattr(obj, "layer", None)):
            # What the wrapped layer does to each step decides the last axis and the activation.
            plain.update({key: value for key, value in self.config(obj.layer).items() if key in ("units", "filters", "activation")})
        return plain

    def weights(self, obj: Any) -> tuple[Weight, ...]:
        """The weights that the object itself holds, its sub-layers' included."""
        found = []
        for variable in getattr(obj, "weights", ()) or ():
            shape = getattr(variable, "shape", None)
            name = str(getattr(variable, "name", "") or "").rsplit("/", 1)[-1].removesuffix(":0")
            dtype = getattr(variable, "dtype", "")
            dims = None if shape is None or getattr(shape, "rank", 0) is None else tuple(shape)
            found.append(Weight(name, dims, str(getattr(dtype, "name", dtype)), bool(getattr(variable, "trainable", True))))
        return tuple(found)

    # -- what only a framework knows ---------------------------------------------------------------

    def globals(self) -> dict[str, Any]:
        """Global state: name counters and seeds, as copies."""
        raise TypeError

    def restore_globals(self, saved: dict[str, Any]) -> None:
        """Gives global state back."""
        raise TypeError

    def doors(self, model: Any) -> list[Door] | None:
        """The inputs that a model declares, ``None`` where it declares none."""
        raise TypeError

    def feeds(self, model: Any, declared: list[Door], x: Any) -> Feeds:
        """Which leaf of ``x``, nested as the data is, each declared input gets."""
        raise TypeError

    def flatten(self, tree: Any) -> list[Any]:
        """The leaves in the framework's own order."""
        raise TypeError

    def map_structure(self, change: Any, tree: Any) -> Any:
        """The nest with each leaf changed, as the framework walks it."""
        raise TypeError

    def graph_network(self, model: Any) -> Any:
        """The functional graph inside a model, or ``None``."""
        raise TypeError

    def graph_nodes(self, network: Any) -> Iterator[GraphNode]:
        """The calls of a functional graph, in the order of execution."""
        raise TypeError

    def input_structure(self, model: Any, inputs: list[Any]) -> Any:
        """The declared inputs as the model nests them, or as given where it has no nest."""
        raise TypeError

    def graph_ends(self, network: Any) -> tuple[list[Any], Any]:
        """The functional graph's input tensors, flat, and its outputs nested as a call returns them."""
        raise TypeError

    def compiled(self, model: Any) -> bool:
        """Whether ``compile`` was called."""
        raise TypeError

    def overrides(self, model: Any, method: str) -> bool:
        """Whether the user's class replaces a method of the framework's."""
        raise TypeError

    def origin(self, tensor: Any) -> tuple[Any, list[Any]] | None:
        """The operation that made a symbolic tensor, and that operation's own inputs."""
        raise TypeError

    def optimizer_classes(self) -> tuple[Any, ...]:
        """The base classes of the framework's optimizers."""
        raise TypeError

    # -- hooks -------------------------------------------------------------------------------------

    def install(self) -> None:
        """Wraps the base classes' doors once; idle, a wrapper costs a thread-local look-up."""
        if self._originals:
            return
        self._patch(self.Layer, "__call__", self._around_call)
        self._patch(self.Layer, "__init__", self._around_init)
        self._patch(self.Loss, "__call__", self._around_loss)
        self._patch(self.InputLayer, "__init__", self._around_input)
        self._patch(self.Functional, "__init__", self._around_functional)
        self._patch(self.Sequential, "__init__", self._around_sequential)
        self._patch(self.Sequential, "add", self._around_add)
        self._patch(self.Model, "compile", self._around_compile)
        self.install_more()

    def install_more(self) -> None:
        """Hooks that only one framework has."""

    def uninstall(self) -> None:
        """Takes every hook away again."""
        for owner, attribute, original in reversed(self._originals):
            setattr(owner, attribute, original)
        self._originals.clear()

    def _patch(self, owner: Any, attribute: str, around: Callable[[Any], Any]) -> None:
        # The method may stand in a base class: Keras 3 keeps compile in its trainer.
        owner = next((base for base in owner.__mro__ if attribute in base.__dict__), None)
        if owner is None:
            return
        original = owner.__dict__[attribute]
        wrapper = around(original)
        functools.update_wrapper(wrapper, original)
        # Keras reads argument names with getfullargspec, which does not follow __wrapped__.
        wrapper.__signature__ = inspect.signature(original)
        self._originals.append((owner, attribute, original))
        setattr(owner, attribute, wrapper)

    def _around_init(self, original: Any) -> Any:
        def __init__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is None:
                remember_line(layer)
            elif not recorder.muted:
                recorder.construct(layer)
                if recorder.edits is not None:
                    args, kwargs = recorder.edits.construct(self, recorder, layer, args, kwargs)
            return original(layer, *args, **kwargs)

        return __init__

    def _around_input(self, original: Any) -> Any:
        def __init__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is not None and recorder.edits is not None and not recorder.muted:
                args, kwargs = recorder.edits.declare(args, kwargs)
            return original(layer, *args, **kwargs)

        return __init__

    def _around_functional(self, original: Any) -> Any:
        def __init__(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is not None and recorder.edits is not None:
                inputs = recorder.edits.inputs(inputs)
            return original(model, inputs, *args, **kwargs)

        return __init__

    def _around_call(self, original: Any) -> Any:
        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is None:
                try:
                    return original(layer, *args, **kwargs)
                except Exception as error:
                    if listening():
                        remember(self, layer, args, kwargs, error)
                    raise
            if recorder.muted or recorder.inside_opaque or self.scratch():
                try:
                    return original(layer, *args, **kwargs)
                except BaseException:
                    if recorder.stack and not recorder.stack[-1].inner:
                        recorder.stack[-1].inner = type(layer).__name__
                    raise
            if recorder.graph is not None and self.symbolic(args):
                return self._shadow(recorder, original, layer, args, kwargs)
            if recorder.edits is not None and recorder.graph is None:
                if recorder.edits.hosts(layer) and args and self.is_symbolic(args[0]):
                    return recorder.edits.host(self, recorder, args[0], original(layer, *args, **kwargs))
                new, args, kwargs = recorder.edits.call(self, recorder, layer, args, kwargs)
                if new is not layer:
                    # Through its own door, which prepares it: a recurrent layer for the state it is given.
                    return recorder.edits.after_call(self, recorder, new, new(*args, **kwargs))
            outputs = self.record(recorder, original, layer, args, kwargs)
            if recorder.edits is not None and recorder.graph is None:
                outputs = recorder.edits.after_call(self, recorder, layer, outputs)
            return outputs

        return __call__

    def record(self, recorder: Recorder, original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        tensors = list(self.tensors_of(args, kwargs))
        name = str(getattr(layer, "name", "") or type(layer).__name__)
        call = recorder.enter(self, self.kind(layer), layer, self.op_name(layer), name, self.opaque(layer), tensors)
        try:
            outputs = original(layer, *args, **kwargs)
        except BaseException as error:
            recorder.fail(call, error)
            raise
        recorder.leave(self, call, [tensor for _, tensor in self.tensors_of((outputs,), {})])
        return outputs

    def _shadow(self, recorder: Recorder, original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        """A model that builds itself inside the trace calls its layers once more: only a failure counts."""
        try:
            return original(layer, *args, **kwargs)
        except BaseException as error:
            if recorder.failed is None:
                tensors = list(self.tensors_of(args, kwargs))
                call = recorder.enter(self, self.kind(layer), layer, self.op_name(layer), str(getattr(layer, "name", "")), True, tensors)
                recorder.fail(call, error)
            raise

    def symbolic(self, args: Any) -> bool:
        """Whether the first tensor is a placeholder of the framework's own."""
        return any(self.is_symbolic(tensor) for _, tensor in self.tensors_of(args[:1], {}))

    def is_symbolic(self, obj: Any) -> bool:
        raise TypeError

    def _around_loss(self, original: Any) -> Any:
        def __call__(loss: Any, y_true: Any, y_pred: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is None or recorder.muted or recorder.inside_opaque:
                return original(loss, y_true, y_pred, sample_weight, **kwargs)
            tensors = [("labels", y_true), ("predictions", y_pred), ("weights", sample_weight)]
            flat = [(label, tensor) for label, value in tensors for _, tensor in self.tensors_of((value,), {})]
            call = recorder.enter(
                self, "loss", loss, self.loss_name(loss), str(getattr(loss, "name", "") or "loss"), self._builtin_loss(loss), flat
            )
            call.config = self.loss_config(loss)
            try:
                value = original(loss, y_true, y_pred, sample_weight, **kwargs)
            except BaseException as error:
                recorder.fail(call, error)
                raise
            recorder.leave(self, call, [tensor for _, tensor in self.tensors_of((value,), {})])
            return value

        return __call__

    def _around_sequential(self, original: Any) -> Any:
        def __init__(model: Any, layers: Any = None, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is not None and not recorder.muted and isinstance(layers, (list, tuple)):
                recorder.sequences.append((model, list(layers)))
            return original(model, layers, *args, **kwargs)

        return __init__

    def _around_add(self, original: Any) -> Any:
        def add(model: Any, layer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is None or recorder.muted:
                return original(model, layer, *args, **kwargs)
            if not any(model is known for known in recorder.containers):
                recorder.containers.append(model)
            if recorder.edits is not None:
                if recorder.edits.hosts(layer):
                    return None
                for extra in recorder.edits.before_add(self, recorder, model, layer):
                    original(model, extra, *args, **kwargs)
                layer = recorder.edits.replaced(self, recorder, layer)
            result = original(model, layer, *args, **kwargs)
            if recorder.edits is not None:
                for extra in recorder.edits.after_add(self, recorder, model, layer):
                    original(model, extra, *args, **kwargs)
            return result

        return add

    def _around_compile(self, original: Any) -> Any:
        def compile(model: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A001
            recorder = active()
            if recorder is not None and not recorder.muted:
                if recorder.edits is not None:
                    args, kwargs = recorder.edits.compile(self, recorder, model, args, kwargs)
                recorder.compiled.append((model, dict(kwargs)))
            return original(model, *args, **kwargs)

        return compile

    def scratch(self) -> bool:
        """Whether the framework is running a call a second time on a scratch graph of its own."""
        return False

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

    # -- losses ------------------------------------------------------------------------------------

    def loss_name(self, loss: Any) -> str:
        """The loss function's name where one is wrapped, the class's name otherwise."""
        fn = getattr(loss, "fn", None)
        return str(getattr(fn, "__name__", "") or type(fn).__name__) if fn is not None else type(loss).__name__

    def metric_name(self, metric: Any) -> str:
        """The metric function's name where one is wrapped, the class's name otherwise."""
        fn = getattr(metric, "_fn", None)
        return str(getattr(fn, "__name__", "") or type(metric).__name__)

    def loss_config(self, loss: Any) -> dict[str, Any]:
        config: dict[str, Any] = {"class": type(loss).__name__, "builtin": self._builtin_loss(loss)}
        config.update(
            {key: value for key, value in (getattr(loss, "_fn_kwargs", None) or {}).items() if isinstance(value, (str, int, float, bool))}
        )
        reduction = getattr(loss, "reduction", None)
        if isinstance(reduction, str):
            config["reduction"] = reduction
        return config

    def _builtin_loss(self, loss: Any) -> bool:
        fn = getattr(loss, "fn", None)
        module = (getattr(fn, "__module__", "") if fn is not None else type(loss).__module__) or ""
        return module.startswith(f"{self.package}.")


_LISTENERS: set[str] = set()


def listen(who: str, on: bool = True) -> None:
    """Whether failing calls are kept for somebody who may ask (the notebook extension)."""
    (_LISTENERS.add if on else _LISTENERS.discard)(who)


def listening() -> bool:
    return bool(_LISTENERS)


def remember(*arguments: Any) -> None:
    from .aftermath import remember as keep

    keep(*arguments)
