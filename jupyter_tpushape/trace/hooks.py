"""Wrapped methods of a framework: each reports its calls to the recorder of its thread, and costs one lookup without one."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .anew import note
from .locations import user_frame
from .recorder import Call, Port, Recorder, active, remember_line, set_compiled
from .turns import DOORS, keep_inner, waiting

if TYPE_CHECKING:
    from .framework import Framework


class Hooks:
    """The wrapped doors of one framework, and the way back."""

    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        self._originals: list[tuple[Any, str, Any, Any]] = []
        # Wrappers that others have wrapped since, by owner and method: they stay, and are taken up again.
        self._beneath: dict[tuple[Any, str], tuple[Any, Any]] = {}

    def install(self) -> None:
        """Wraps the base classes' doors once; idle, a wrapper costs a thread-local look-up."""
        if self._originals:
            return
        self.patch(self.framework.Layer, "__call__", self._around_call)
        self.patch(self.framework.Layer, "__init__", self._around_init)
        self.patch(self.framework.Loss, "__call__", self._around_loss)
        self.patch(self.framework.InputLayer, "__init__", self._around_input)
        self.patch(self.framework.Functional, "__init__", self._around_functional)
        self.patch(self.framework.Sequential, "__init__", self._around_sequential)
        self.patch(self.framework.Sequential, "add", self._around_add)
        self.patch(self.framework.Model, "compile", self._around_compile)
        for door in DOORS:
            self.patch(self.framework.Model, door, waiting)
        self.patch(self.framework.Layer, "add_loss", self._around_add_loss)
        self.patch(self.framework.Metric, "__init__", self._around_making)
        made = [one for one in (self.framework.Seeds,) if one is not None]
        for kind in (*made, *self.framework.optimizer_classes()):
            self.patch(kind, "__init__", self._around_making)
        self.framework.install_more()

    def uninstall(self) -> None:
        """Takes every hook away again. One that somebody else has wrapped meanwhile stays beneath theirs, and passes everything on."""
        for owner, attribute, original, wrapper in reversed(self._originals):
            if owner.__dict__.get(attribute) is wrapper:
                setattr(owner, attribute, original)
            else:
                self._beneath[owner, attribute] = original, wrapper
        self._originals.clear()

    def patch(self, owner: Any, attribute: str, around: Callable[[Any], Any]) -> None:
        """Exchanges a method, or a module's function, for ``around(method)``, which keeps its name and signature."""
        # The method may stand in a base class: Keras 3 keeps compile in its trainer.
        owner = next((base for base in getattr(owner, "__mro__", (owner,)) if attribute in base.__dict__), None)
        if owner is None or owner is object:
            return
        if (owner, attribute) in self._beneath:
            self._originals.append((owner, attribute, *self._beneath.pop((owner, attribute))))
            return
        original = owner.__dict__[attribute]
        wrapper = around(original)
        functools.update_wrapper(wrapper, original)
        # Keras reads argument names with getfullargspec, which does not follow __wrapped__.
        wrapper.__signature__ = inspect.signature(original)
        self._originals.append((owner, attribute, original, wrapper))
        setattr(owner, attribute, wrapper)

    def _around_init(self, original: Any) -> Any:
        def __init__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is not None:
                note(recorder, layer)
            if recorder is None:
                if self._originals:
                    remember_line(layer)
            elif not recorder.muted:
                recorder.construct(layer)
                if recorder.edits is not None:
                    args, kwargs = recorder.edits.construct(self.framework, recorder, layer, args, kwargs)
            return original(layer, *args, **kwargs)

        return __init__

    def _around_making(self, original: Any) -> Any:
        def __init__(obj: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is not None:
                note(recorder, obj)
            return original(obj, *args, **kwargs)

        return __init__

    def _around_add_loss(self, original: Any) -> Any:
        def add_loss(layer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is not None and recorder.graph is not None and not recorder.muted:
                call = recorder.stack[-1] if recorder.stack else None
                for _, tensor in self.framework.tensors_of(args[:1], kwargs):
                    recorder.lost.add(self.framework.key(tensor))
                    recorder.added.append((call, layer, self.framework.spec(tensor), user_frame(), self.framework.key(tensor)))
            return original(layer, *args, **kwargs)

        return add_loss

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
            try:
                return original(model, inputs, *args, **kwargs)
            except Exception:
                if recorder is not None:
                    recorder.ends = (inputs, args[0] if args else kwargs.get("outputs"))
                raise

        return __init__

    def _around_call(self, original: Any) -> Any:
        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is None:
                try:
                    return original(layer, *args, **kwargs)
                except Exception as error:
                    if listening():
                        remember(self.framework, layer, args, kwargs, error)
                    raise
            if recorder.muted or recorder.inside_opaque or self.framework.scratch():
                try:
                    return original(layer, *args, **kwargs)
                except BaseException:
                    if recorder.stack and not recorder.stack[-1].inner:
                        recorder.stack[-1].inner = type(layer).__name__
                    raise
            if recorder.graph is not None and self.symbolic(args):
                return self._shadow(recorder, original, layer, args, kwargs)
            if recorder.edits is not None and recorder.graph is None:
                if recorder.edits.hosts(layer) and args and self.framework.is_symbolic(args[0]):
                    return recorder.edits.host(self.framework, recorder, args[0], original(layer, *args, **kwargs))
                new, args, kwargs = recorder.edits.call(self.framework, recorder, layer, args, kwargs)
                if new is not layer:
                    # Through its own door, which prepares it: a recurrent layer for the state it is given.
                    return recorder.edits.after_call(recorder, new, new(*args, **kwargs))
            outputs = self.record(recorder, original, layer, args, kwargs)
            if recorder.edits is not None and recorder.graph is None:
                outputs = recorder.edits.after_call(recorder, layer, outputs)
            return outputs

        return __call__

    def record(self, recorder: Recorder, original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        """Calls a layer, and tells the recorder what went in and came out."""
        call = self._enter(recorder, layer, args, kwargs, self.framework.opaque(layer))
        try:
            outputs = self._going_on(recorder, original, layer, args, kwargs)
        except BaseException as error:
            self.framework.backend.explain(recorder, self.framework, error)
            call.given = (args, kwargs)
            if call.fresh and call.kind == "layer":
                with contextlib.suppress(Exception):  # what it had made before it broke
                    call.weights = self.framework.weights(layer)
            recorder.fail(call, error)
            raise
        recorder.leave(self.framework, call, [tensor for _, tensor in self.framework.tensors_of((outputs,), {})])
        if recorder.graph is None and call.kind == "layer" and not call.opaque and not call.children:
            call.given = (args, kwargs)  # its inside may be asked for
        return outputs

    def _going_on(self, recorder: Recorder, original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        try:
            return original(layer, *args, **kwargs)
        except Exception:
            assume = recorder.assume
            if assume is None or recorder.graph is not None or assume.name != getattr(layer, "name", ""):
                raise
            recorder.assume = None
            args, kwargs = assume.bridged(self.framework, args, kwargs)
            return original(layer, *args, **kwargs)

    def _shadow(self, recorder: Recorder, original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        """A model that builds itself inside the trace calls its layers once more: these count only where one of them fails."""
        before, around = len(recorder.shadows), recorder.opened[-1] if recorder.opened else None
        recorder.opened.append((args, kwargs))
        try:
            outputs = original(layer, *args, **kwargs)
        except BaseException as error:
            if recorder.failed is None:
                entry = self._replay(recorder)
                self._stand_in(recorder, args, kwargs, around, entry)
                call = self._enter(recorder, layer, args, kwargs, opaque=True)
                recorder.fail(call, error)
                # What is inside is looked into once the trace has ended.
                call.given, call.opaque = (args, kwargs), self.framework.opaque(layer)
            raise
        finally:
            recorder.opened.pop()
        # What ran inside of it is one call with it.
        parent = recorder.stack[-1] if recorder.stack else None
        recorder.shadows[before:] = [(parent, layer, args, kwargs, outputs, around)]
        return outputs

    def _replay(self, recorder: Recorder) -> list[Port]:
        """Tells the recorder of the calls that led to the one that fails, in the model that builds itself."""
        parent = recorder.stack[-1] if recorder.stack else None
        entry = [port for port in parent.inputs if port.producer is not None] if parent is not None else []
        done = [one for one in recorder.shadows if one[0] is parent]
        recorder.shadows.clear()
        for _, layer, args, kwargs, outputs, around in done:
            self._stand_in(recorder, args, kwargs, around, entry)
            call = self._enter(recorder, layer, args, kwargs, opaque=True)
            recorder.leave(self.framework, call, [tensor for _, tensor in self.framework.tensors_of((outputs,), {})])
        return entry

    def _stand_in(self, recorder: Recorder, args: Any, kwargs: Any, around: Any, entry: list[Port]) -> None:
        given = entry
        if around is not None:
            ports = [recorder.port(self.framework, tensor) for _, tensor in self.framework.tensors_of(*around)]
            given = [port for port in ports if port.producer is not None]
        for _, tensor in self.framework.tensors_of(args, kwargs):
            port = recorder.port(self.framework, tensor)
            if not isinstance(port.producer, Call) and len(given) == 1 and given[0].spec == port.spec:
                recorder.produce(port.key, given[0].producer, tensor)

    def _enter(self, recorder: Recorder, layer: Any, args: Any, kwargs: Any, opaque: bool) -> Call:
        framework = self.framework
        name = str(getattr(layer, "name", "") or type(layer).__name__)
        tensors = list(framework.tensors_of(args, kwargs))
        call = recorder.enter(framework, framework.kind(layer), layer, framework.op_name(layer), name, opaque, tensors)
        if opaque and isinstance(getattr(layer, "input_dim", None), int) and recorder.graph is not None:
            call.values = _ids(framework, tensors)
        if recorder.graph is not None:
            call.training = kwargs.get("training")
            if opaque:
                call.values |= triangle(framework, dict(tensors).get("attention_mask")) | _resting(framework, call)
                if kwargs.get("use_causal_mask"):
                    call.values["causal"] = True
                if kwargs.get("attention_mask") is not None or len(args) > 3:
                    call.values["masked"] = True
        return call

    def symbolic(self, args: Any) -> bool:
        """Whether the first tensor is a placeholder of the framework's own."""
        return any(self.framework.is_symbolic(tensor) for _, tensor in self.framework.tensors_of(args[:1], {}))

    def _around_loss(self, original: Any) -> Any:
        def __call__(loss: Any, y_true: Any, y_pred: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
            recorder = active()
            if recorder is None or recorder.muted or recorder.inside_opaque:
                return original(loss, y_true, y_pred, sample_weight, **kwargs)
            tensors = [("labels", y_true), ("predictions", y_pred), ("weights", sample_weight)]
            framework = self.framework
            flat = [(label, tensor) for label, value in tensors for _, tensor in framework.tensors_of((value,), {})]
            name = str(getattr(loss, "name", "") or "loss")
            call = recorder.enter(framework, "loss", loss, framework.loss_name(loss), name, framework.builtin_loss(loss), flat)
            call.config = framework.loss_config(loss)
            try:
                value = original(loss, y_true, y_pred, sample_weight, **kwargs)
            except BaseException as error:
                self.framework.backend.explain(recorder, self.framework, error)
                recorder.fail(call, error)
                raise
            recorder.leave(self.framework, call, [tensor for _, tensor in self.framework.tensors_of((value,), {})])
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
                for extra in recorder.edits.before_add(self.framework, recorder, layer):
                    original(model, extra, *args, **kwargs)
                layer = recorder.edits.replaced(self.framework, recorder, layer)
            result = original(model, layer, *args, **kwargs)
            if recorder.edits is not None:
                for extra in recorder.edits.after_add(self.framework, recorder, layer):
                    original(model, extra, *args, **kwargs)
            return result

        return add

    def _around_compile(self, original: Any) -> Any:
        def compile(model: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A001
            recorder = active()
            if recorder is not None and not recorder.muted:
                if recorder.edits is not None:
                    args, kwargs = recorder.edits.compile(self.framework, recorder, model, args, kwargs)
                recorder.compiled.append((model, dict(kwargs)))
                recorder.compile_places[id(model)] = user_frame(depth=2, outer=True)
            elif recorder is None and self._originals:
                set_compiled(model, user_frame(depth=2))
            return original(model, *args, **kwargs)

        return compile


_LISTENERS: dict[str, Callable[..., None]] = {}


def listen(who: str, keep: Callable[..., None] | None) -> None:
    """``keep`` is told of every call that fails, for somebody who may ask (the notebook extension)."""
    if keep is None:
        _LISTENERS.pop(who, None)
    else:
        _LISTENERS[who] = keep
    keep_inner(bool(_LISTENERS))


def listening() -> bool:
    """Whether somebody may ask for the call that failed."""
    return bool(_LISTENERS)


def remember(*arguments: Any) -> None:
    """Tells those who listen of a call that failed."""
    for keep in list(_LISTENERS.values()):
        keep(*arguments)


def _ids(framework: Framework, tensors: list[tuple[str, Any]]) -> dict[str, Any]:
    values = framework.backend.known(tensors[0][1]) if len(tensors) == 1 else None
    if values is None or not getattr(values, "size", 0) or values.dtype.kind not in "iu":
        return {}
    return {"ids": [int(values.min()), int(values.max())]}


# Larger masks are not worked out.
_MOST_OF_A_MASK = 1 << 22


def triangle(framework: Framework, mask: Any, hidden: float = 0.0) -> dict[str, Any]:
    """Which side of its diagonal a square attention mask shows: where it is above a number. ``ahead``: all before it, and the step behind it."""
    sizes = framework.spec(mask).shape if mask is not None else None
    if not sizes or None in sizes or sizes[-1:] != sizes[-2:-1] or math.prod(size or 0 for size in sizes) > _MOST_OF_A_MASK:
        return {}
    values = framework.backend.known(mask)
    if values is None or values.shape[-1] < 2:
        return {}
    shown = values.reshape(-1, *values.shape[-2:])[0] > hidden
    rows, columns = np.indices(shown.shape)
    before, after = shown[rows > columns], shown[rows < columns]
    if before.all() and shown.diagonal().all() and shown.diagonal(1).all() and not after.all():
        return {"ahead": True}
    if before.any() or not after.all():
        return {}
    return {"shows": "after and itself" if shown.diagonal().all() else "after"}


# What a layer has, built or not, that works otherwise in training: the momentum of its statistics, or a share or strength of noise.
_IN_TRAINING = ("momentum", "rate", "stddev")


def _resting(framework: Framework, call: Call) -> dict[str, Any]:
    """Whether a layer that works otherwise in training is called as for a prediction: nobody around it has said that this is training."""
    changes = any(getattr(call.obj, name, None) is not None for name in _IN_TRAINING)
    trains = changes and getattr(call.obj, "trainable", False) and framework.builtin(call.obj)
    around: Call | None = call
    while around is not None and trains:
        if around.training is not None:
            return {}
        around = around.parent
    return {"resting": True} if trains else {}
