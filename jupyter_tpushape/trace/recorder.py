"""One recorder for every framework: what each layer was called with, when, inside what, and how it ended.

Keras drops inner frames from its tracebacks, so the inputs of a failing call are gone by the time the
user sees the error. They are kept here, at the call. The recorder knows tensors only as things with a
``shape`` and a ``dtype``; what a layer, a loss or an operation *is* comes from the adapters' hooks.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ..flow import KeyPath, Spec
from ..internal import last_entry
from .assume import Assume
from .locations import Place, is_user_file, user_frame
from .patience import late

_ACTIVE = threading.local()


@dataclass(eq=False, slots=True)
class Port:
    """One tensor at a call's door: its spec, the call or source that produced it, and its label.

    ``like``: what produced the tensor with whose shape this one was created, such as random numbers.
    """

    spec: Spec
    producer: Any = None
    label: str = ""
    key: int = 0
    like: Any = None


@dataclass(eq=False, slots=True)
class Call:
    """One call of a layer, loss or operation."""

    index: int
    kind: str
    name: str
    op: str
    obj: Any = None
    parent: Call | None = None
    opaque: bool = True
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    failure: BaseException | None = None
    inner: str = ""
    called: tuple[str, int] | None = None
    config: dict[str, Any] = field(default_factory=dict)
    children: int = 0
    done: bool = False
    framework: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    # What the call was given as ``training``.
    training: Any = None
    # The arguments of a layer of the user's own, as they were handed over.
    given: tuple[Any, Any] | None = None
    # Of a layer that was built by this very call: afterwards it is unbuilt again.
    weights: tuple[Any, ...] | None = None
    fresh: bool = False
    drops_mask: bool = False


@dataclass(eq=False, slots=True)
class Made:
    """One construction of a layer: its place in the order of constructions and the user's line."""

    ordinal: int
    where: tuple[str, int] | None
    cls: str


@dataclass(eq=False)
class Source:
    """Where tensors enter: a placeholder of the data."""

    name: str
    role: str = "x"
    path: KeyPath = ()


class Recorder:
    """Collects calls while it is active (see :func:`recording`). Not thread-safe: one thread, one recorder."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.stack: list[Call] = []
        self.made: dict[int, Made] = {}
        self.constructed = 0
        self.producers: dict[int, Any] = {}
        self.alive: list[Any] = []
        self.muted = 0
        self.failed: Call | None = None
        self.containers: list[Any] = []
        self.inputs: list[tuple[Source, Any, Spec]] = []
        self.sequences: list[tuple[Any, list[Any]]] = []
        self.compiled: list[tuple[Any, dict[str, Any]]] = []
        # The user's lines that called a layer, in order, and those that called ``compile``, by the object's id; a builder's, too.
        self.call_places: dict[int, list[tuple[str, int]]] = {}
        self.compile_places: dict[int, tuple[str, int] | None] = {}
        self.walk: Any = None
        self.edits: Any = None
        self.assume: Assume | None = None
        self.graph: Any = None
        self.fresh = False
        # Whether variables that are made now need no values: what is built is traced and never trained.
        self.hollow = False
        # The devices of the slice that is planned for, by name.
        self.devices: tuple[str, ...] = ()
        # Whether a training step of the user's own is traced, which goes on after its losses.
        self.own_step = False
        # What the user's own lines made while a program was traced, and where; what it makes in every call.
        self.inside: list[tuple[Any, Any]] = []
        self.anew: Any = None
        self.kept: list[Any] = []
        # Variables that were given a tensor of a branch or loop: the variable, the layer's name, the line.
        self.escaped: dict[int, tuple[Any, str, Place | None]] = {}
        # Variables that lines of the program's own gave a new value: the variable, the line.
        self.written: dict[int, tuple[Any, Place]] = {}
        # Of tensors without a producer, by id, the one that they were created in the shape of.
        self.shaped: dict[int, Port] = {}
        # Losses that layers added by themselves: the layer's call, the layer, the loss' spec, the line, its key.
        self.added: list[tuple[Call | None, Any, Spec, Any, int]] = []
        # Those losses' keys.
        self.lost: set[int] = set()
        # The inputs and outputs of a functional model that could not be made of them.
        self.ends: tuple[Any, Any] | None = None
        # What the metric of the mean loss was given as values and as weights, both of several samples, and the line.
        self.tracked: tuple[Any, Any, Place | None] | None = None
        # Calls of a model that builds itself inside the trace: the call around each, the layer, what it was given, what it gave, and what the
        # layer around it was given. ``opened``: what those are given that have not returned.
        self.shadows: list[tuple[Call | None, Any, Any, Any, Any, Any]] = []
        self.opened: list[tuple[Any, Any]] = []
        # The line that gave an optimizer the weights as their own gradients.
        self.exchanged: Any = None
        # What it was given in place of its variables, the gradients and the weights, where these are in another order.
        self.order: tuple[str, ...] = ()
        # The line that uses a tensor of a loop's body or a branch outside of it.
        self.leaked: Place | None = None
        # How many calls there were before that: what follows is computed from no values that a step has.
        self.leaked_at = 0
        # Metrics whose result is a variable.
        self.returned: list[Any] = []
        # An optimizer's attribute, the number of weights that it is given and of those that it was built for, the part that holds them, and the line.
        self.partly: tuple[str, int, int, str, Any] | None = None
        # One gradient where an optimizer takes one for each weight: its shape, the number of weights, and the line.
        self.derived: tuple[tuple[int, ...], int, Any] | None = None
        # An optimizer that gets variables which are not in the state of a step: the attribute that holds it, and the line.
        self.beside: tuple[str, Place | None] | None = None
        # The metrics by their variables' ids while a model's call runs, and those that it asked for a value, with the line.
        self.metered: dict[int, str] = {}
        self.measured: list[tuple[str, Place | None]] = []
        # Which group of its state a training step gave back with other shapes; -1 where all weights are as they were.
        self.misplaced: int | None = None
        # The non-trainable variables of which the model returned new values, where a training step gave back all of those that it got.
        self.dropped: tuple[str, ...] = ()
        # What a training step logs under the names of metrics, all of whose variables it gave back as they were.
        self.unread: tuple[str, ...] = ()
        # The keras.distribution that a builder sets, and the variables that it had made before any was set.
        self.distribution: Any = None
        # The one whose scope it enters.
        self.scoped: Any = None
        self.building = False
        self.unplaced: dict[int, Any] = {}
        # The variables of Keras 3, by id, that the program itself read.
        self.read: set[int] = set()
        # The variables, by id, of which a value was asked.
        self.asked: set[int] = set()
        # Variables whose initializer returned another shape than it was asked for.
        self.initial: list[Any] = []
        # The loop of which JAX has no gradient, where the loss depends on trained weights through it.
        self.endless: Call | None = None
        # Weights that no gradient of the loss reaches: the variable, the operation that keeps it out and its line, and how: a factor of zeros, or a sum of one.
        self.untrained: list[tuple[Any, str, Place | None, str]] = []
        # Whether the loss depends on no weight that is trained, where only the whole program tells.
        self.weightless = False
        # Numbers that go wrong without an error, by the lines of the program that make them.
        self.traps: list[Any] = []
        # Whether functions that JAX has traced before are traced again.
        self.afresh = False
        # Random numbers that depend on nothing that a step changes: their shape and the line.
        self.drawn: list[tuple[Any, Place | None, bool]] = []
        # Random numbers that were drawn before from the same key: their shape and both lines.
        self.redrawn: tuple[tuple[int, ...], Place, Place] | None = None
        # Noise without an axis for the samples and what scales it: the call, its other factor, the shape and the line of the draw.
        # Slices that reach beyond a tensor: the operation, the tensor's key, the axis and the first place.
        self.beyond: list[tuple[Call, int, int, int]] = []
        # Softmaxes of masked scores: the call, the comparison that masks them, which one it is, and whether it hides where it is true.
        self.hidden: list[tuple[Call, Call, str, bool]] = []
        self.scaled: list[tuple[Call, int, tuple[int, ...], Any, bool]] = []
        # The calls (by id) behind which the program stops or replaces the gradient.
        self.stopped: set[int] = set()
        # Single numbers that operations are given, and their places.
        self.single: list[tuple[Call, int, float]] = []
        # The line that draws random numbers on the host while the program is traced.
        self.host_drawn: Place | None = None
        # Axes that operations run along: the call, the tensor's key, the axis, and whether it goes through the axis in order.
        self.along: list[tuple[Call, int, int, bool]] = []
        # Tensors, by key, that stand for something trained: the first value of a weight, the output of layers that were not called.
        self.weights: set[int] = set()
        # Variables that were created while the program was traced.
        self.variables: list[Any] = []

    @contextlib.contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Nothing inside is recorded."""
        self.muted += 1
        try:
            yield
        finally:
            self.muted -= 1

    def drop_calls(self) -> None:
        """Forgets the calls and keeps who made what: what a builder called is not what the data runs through."""
        self.calls.clear()
        self.stack.clear()
        self.producers.clear()
        self.shaped.clear()
        self.failed = None

    # -- constructions -----------------------------------------------------------------------------

    def construct(self, obj: Any) -> None:
        """Notes the user's line that makes ``obj``; called once a layer, by its base constructor."""
        self.made[id(obj)] = Made(self.constructed, user_frame(skip=obj, depth=3, outer=True), type(obj).__name__)
        self.constructed += 1
        self.alive.append(obj)

    # -- tensors -----------------------------------------------------------------------------------

    def produce(self, key: int, producer: Any, tensor: Any) -> None:
        self.producers[key] = producer
        self.alive.append(tensor)

    def port(self, adapter: Any, tensor: Any, label: str = "") -> Port:
        key = adapter.key(tensor)
        producer = self.producers.get(key)
        if producer is None and self.walk is not None:
            producer = self.walk(tensor, self.producers)
        return Port(adapter.spec(tensor), producer, label, key)

    # -- calls -------------------------------------------------------------------------------------

    def enter(self, adapter: Any, kind: str, obj: Any, op: str, name: str, opaque: bool, tensors: list[tuple[str, Any]]) -> Call:
        parent = self.stack[-1] if self.stack else None
        call = Call(len(self.calls), kind, name, op, obj, parent, opaque, framework=adapter.name)
        if parent is not None:
            parent.children += 1
        call.called = user_frame(depth=3, outer=True)
        call.fresh = not getattr(obj, "built", True)
        if kind == "layer" and call.called is not None:
            self.call_places.setdefault(id(obj), []).append(call.called)
        masked = any(label == "mask" for label, _ in tensors)
        for label, tensor in tensors:
            call.inputs.append(self.port(adapter, tensor, label))
            mask = adapter.mask(tensor) if not masked else None
            call.drops_mask |= kind == "layer" and mask is not None and not adapter.keeps_mask(obj)
            if mask is not None and adapter.takes_mask(obj):
                spec = adapter.spec(mask)
                call.inputs.append(Port(spec, call.inputs[-1].producer, "mask", adapter.key(mask)))
        self.calls.append(call)
        self.stack.append(call)
        return call

    def leave(self, adapter: Any, call: Call, outputs: list[Any]) -> None:
        self._pop(call)
        call.done = True
        if (call.fresh or self.fresh) and call.kind == "layer":
            call.weights = adapter.weights(call.obj) if call.opaque or not call.children else adapter.own_weights(call.obj)
        for tensor in outputs:
            key = adapter.key(tensor)
            call.outputs.append(Port(adapter.spec(tensor), call, "", key))
            # A composite's outputs stay its inner layers' work, unless nothing inside was recorded.
            # Beyond a metric there is only bookkeeping; beyond a loss, too, but in a step that the program writes itself.
            ends = call.kind == "metric" or (call.kind == "loss" and not self.own_step)
            if not ends and (call.opaque or call.kind == "loss" or key not in self.producers):
                self.produce(key, call, tensor)
                logits = adapter.backend.logits(tensor)
                if logits is not None and adapter.key(logits) not in self.producers:
                    self.produce(adapter.key(logits), call, logits)

    def fail(self, call: Call, error: BaseException) -> None:
        self._pop(call)
        error = unmasked(error)
        call.failure = error
        if self.failed is None or (self.failed.failure is not error and not caused(error, self.failed.failure)):
            self.failed = call

    def forgive(self) -> None:
        """Forgets an operation that raised where the program caught that and went on: Keras adds a bias in another way."""
        if self.failed is not None and self.failed.kind == "op":
            self.calls = [call for call in self.calls if call is not self.failed]
            self.failed = None

    def _pop(self, call: Call) -> None:
        while self.stack and self.stack.pop() is not call:
            pass

    @property
    def inside_opaque(self) -> bool:
        """Whether a built-in layer is running: its inner calls are its own business."""
        return bool(self.stack) and self.stack[-1].opaque


def unmasked(error: BaseException) -> BaseException:
    """The exception itself, where a framework tried to say it in other words and its class takes no words.

    Keras makes a new exception of the same class with a longer message; what then raises inside that class hides what happened.
    So does what raises on the way out of a time limit.
    """
    limit = late(error)
    if limit is not None:
        return limit
    for _ in range(8):
        trace = last_entry(error)
        context = error.__context__
        if trace is None or context is None:
            break
        # "We could not infer the shape" is what a library makes of whatever was raised while it tried.
        if isinstance(error, NotImplementedError) and not is_user_file(trace.tb_frame.f_code.co_filename):
            error = context
            continue
        if trace.tb_frame.f_code.co_name != "__init__":
            break
        if not isinstance(trace.tb_frame.f_locals.get("self"), BaseException):
            break
        error = context
    return error


def caused(error: BaseException, earlier: BaseException | None) -> bool:
    """Whether ``error`` is ``earlier`` re-raised in other words (Keras and autograph wrap errors)."""
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return False
        if seen is earlier:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def active() -> Recorder | None:
    """The recorder of this thread."""
    return getattr(_ACTIVE, "recorder", None)


@contextlib.contextmanager
def recording(recorder: Recorder | None) -> Iterator[Recorder | None]:
    """Makes ``recorder`` the active one of this thread."""
    before = active()
    _ACTIVE.recorder = recorder
    try:
        yield recorder
    finally:
        _ACTIVE.recorder = before


# Lines that made layers while only the idle recorder was there, kept as long as the layer lives.
_LINES: weakref.WeakKeyDictionary[Any, tuple[str, int]] = weakref.WeakKeyDictionary()


def remember_line(obj: Any) -> None:
    """Idle recording: only the line that makes a layer."""
    where = user_frame(skip=obj, depth=3)
    if where is not None:
        set_line(obj, where)


def line_running() -> Place | None:
    """The line that made the operation of a built model that runs now, where none of the user's own lines runs."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_varnames[:1] == ("self",) and (where := line_of(frame.f_locals.get("self"))) is not None:
            return where if isinstance(where, Place) else None
        frame = frame.f_back
    return None


def set_line(obj: Any, where: tuple[str, int]) -> None:
    """Keeps the line that made a layer, as long as the layer lives."""
    with contextlib.suppress(TypeError):
        _LINES[obj] = where


# Lines that compiled models while only the idle recorder was there.
_COMPILED: weakref.WeakKeyDictionary[Any, tuple[str, int]] = weakref.WeakKeyDictionary()


def set_compiled(model: Any, where: tuple[str, int] | None) -> None:
    """Keeps the line that compiled a model, as long as the model lives."""
    with contextlib.suppress(TypeError):
        if where is not None:
            _COMPILED[model] = where


def compiled_at(model: Any) -> tuple[str, int] | None:
    """The line that compiled ``model``, where it was seen being compiled."""
    try:
        return _COMPILED.get(model)
    except TypeError:
        return None


def line_of(obj: Any) -> tuple[str, int] | None:
    """The line that made ``obj``, where it was seen being made."""
    try:
        return _LINES.get(obj)
    except TypeError:
        return None
