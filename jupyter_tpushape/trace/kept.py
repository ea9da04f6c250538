"""What no later step of a compiled program sees anew: tensors on its objects, numbers that the host draws, an optimizer's own variables."""

from __future__ import annotations

import contextlib
import dis
import inspect
import pickle
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any, Literal

import numpy as np

from .framework import Framework
from .locations import Place, is_user_file, of_the_user, user_frame
from .recorder import Recorder, active
from .restore import Memento

_MADE_IN = frozenset({"__init__", "build", "__setstate__", "__new__"})


@dataclass(frozen=True)
class Kept:
    """An attribute of a layer or model that held a value and was given a tensor of the trace. ``random``: it is a random key. ``leaked``: Keras traces
    the layer or metric before the first step, so that the attribute holds a tensor of that trace already. ``inner``: the attribute is a variable, and
    the tensor is one of a branch or loop, which no other code can read. ``outside``: it is a variable that no step gets or returns. ``holder``: what the object is, of which losses have no variables."""

    owner: str
    attribute: str
    random: bool
    leaked: bool
    place: Place | None
    inner: bool = False
    holder: Literal["layer", "metric", "loss"] = "layer"
    outside: bool = False


def kept(adapter: Framework, before: Memento, recorder: Recorder, model: Any = None) -> list[Kept]:
    """The attributes that lines of the program's own changed so."""
    found = _outside(adapter, recorder, model)
    for variable, owner, line in recorder.escaped.values():
        name = str(variable.name)
        found.append(Kept(owner or name, name, str(variable.dtype) == "uint32", True, line, inner=True))
    backend = adapter.backend
    for obj, name, value, now in before.exchanged():
        counts = _counts(value)
        ends = isinstance(obj, (adapter.Metric, adapter.Loss))
        holder: Any = "layer" if not ends else "metric" if isinstance(obj, adapter.Metric) else "loss"
        if counts and _counts(now):
            # A number of Python's own that is counted while the step is compiled, and never again.
            if (place := _assigned(type(obj), name, read=True, used=True)) is not None:
                found.append(Kept(str(getattr(obj, "name", type(obj).__name__)), name, False, False, place, holder=holder))
            continue
        if not backend.is_traced(now) or not (counts or backend.is_tensor(value) or hasattr(value, "__array__")):
            continue
        # Keras traces a layer when it is made, and a loss or metric before the first step: then only the code tells a state from a result
        # that is kept for a look.
        leaked = ends or backend.is_traced(value)
        place = _assigned(type(obj), name, read=leaked or counts)
        if place is not None:
            spec = backend.spec(now)
            random = spec.dtype.startswith("key<") or (spec.dtype == "uint32" and spec.shape == (2,))
            found.append(Kept(str(getattr(obj, "name", type(obj).__name__)), name, random, leaked, place, holder=holder))
    return found


def _outside(adapter: Framework, recorder: Recorder, model: Any) -> list[Kept]:
    """Variables that the program updates, which no part of a step's state holds: those of a loss, or of an object that Keras does not track."""
    state = adapter.stepped(model) if recorder.written else None
    # What is created in the step itself is no state that a later one asks for.
    held = None if state is None else {id(one) for one in (*state, *recorder.variables)}
    return [
        Kept(str(variable.name), str(variable.name), str(variable.dtype) == "uint32", False, place, outside=True)
        for key, (variable, place) in recorder.written.items()
        if held is not None and key not in held and key not in recorder.escaped
    ]


def _counts(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _assigned(cls: type, name: str, read: bool, used: bool = False) -> Place | None:
    """The line of the user's own that assigns an attribute after an object was made; with ``read`` one that reads it first, and with ``used``
    one of a method that reads it on another line as well."""
    for base in cls.__mro__:
        for function in map(inspect.unwrap, filter(inspect.isfunction, vars(base).values())):
            if function.__name__ in _MADE_IN or not is_user_file(function.__code__.co_filename):
                continue
            line, known, stored, lines = function.__code__.co_firstlineno, not read, None, set[int]()
            for instruction in dis.get_instructions(function):
                starts = instruction.starts_line
                # From Python 3.13 on it only says whether a line starts here.
                line = getattr(instruction, "line_number", None) or (starts if type(starts) is int else None) or line
                if instruction.argval != name or not instruction.opname.endswith("_ATTR"):
                    continue
                if instruction.opname == "LOAD_ATTR":
                    known = True
                    lines.add(line)
                if instruction.opname == "STORE_ATTR" and known:
                    stored = stored or line
            if stored is not None and (not used or lines - {stored}):
                return Place(function.__code__.co_filename, stored)
    return None


_KINDS = (random.Random, np.random.RandomState, np.random.Generator)


class Generators:
    """The generators of random numbers that the user's code can draw from without its backend; none, where no line of it names any."""

    def __init__(self, objects: list[Any]) -> None:
        own = list(filter(of_the_user, objects))
        methods = [value for cls in {type(obj) for obj in own} for value in vars(cls).values() if hasattr(value, "__code__")]
        around = {id(one.__globals__): one.__globals__ for one in methods}.values()
        held = [value for names in (*map(vars, own), *around) for value in list(names.values())]
        self._own = list({id(one): one for one in held if isinstance(one, _KINDS)}.values())
        named = self._own or _named([*methods, *(one for one in held if isinstance(one, FunctionType) and is_user_file(one.__code__.co_filename))])
        self._global: list[Any] = [random, np.random] if named else []
        self._saved = [_state(one) for one in self._own]
        self.before = self.states()

    def states(self) -> list[bytes]:
        """The state of each, to compare."""
        return [pickle.dumps(_state(one)) for one in (*self._global, *self._own)]

    def drawn(self, again: Callable[[], Any]) -> Place | None:
        """The line that drew numbers in the call that has run, and draws others when ``again`` runs it; generators of the program's own are put back."""
        first = self.states()
        try:
            if first == self.before or sys.gettrace() is not None:
                return None
            watch = _Watch(self)
            with contextlib.suppress(Exception):
                sys.settrace(watch.entered)
                try:
                    again()
                finally:
                    sys.settrace(None)
            # A call that sets the seed itself computes with the same numbers on purpose.
            return watch.found if self.states() != first else None
        finally:
            for one, state in zip(self._own, self._saved, strict=True):
                _restore(one, state)


def _named(functions: list[Any], wanted: frozenset[str] = frozenset({"random"})) -> bool:
    pending = [one.__code__ for one in functions]
    while pending:
        code = pending.pop()
        if wanted & set(code.co_names):
            return True
        pending += [one for one in code.co_consts if isinstance(one, CodeType)]
    return False


_TRANSFORMS = frozenset({"checkpoint", "remat", "jit"})


def transforms(objects: list[Any]) -> bool:
    """Whether the user's code has functions of JAX's trace functions of its own, whose traces JAX keeps."""
    methods = [value for cls in {type(obj) for obj in objects if of_the_user(obj)} for value in vars(cls).values()]
    plain = [inspect.unwrap(one) for one in methods if callable(one)]
    plain = [one for one in plain if hasattr(one, "__code__")]
    held = {name for one in plain for name, value in one.__globals__.items() if hasattr(value, "lower") and hasattr(value, "trace")}
    return _named(plain, _TRANSFORMS | held) or any(hasattr(one, "lower") and hasattr(one, "trace") for one in methods)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.getstate() if hasattr(generator, "getstate") else generator.get_state()


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


class _Watch:
    """Compares the states at each of the user's lines, and leaves out what a library draws on its own."""

    def __init__(self, generators: Generators) -> None:
        self._generators, self._now = generators, generators.states()
        self._line: Place | None = None
        self.found: Place | None = None

    def _look(self, then: Place | None) -> None:
        now = self._generators.states()
        if now != self._now and self.found is None:
            self.found = self._line
        self._now, self._line = now, then

    def entered(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A function begins."""
        own, outer = is_user_file(frame.f_code.co_filename), _place(frame.f_back)
        if not own and (outer is None or frame.f_code.co_filename == random.__file__):
            return None
        self._look(_place(frame) or outer)
        frame.f_trace_lines = own
        return self._inside if own else self._beside

    def _inside(self, frame: FrameType, event: str, arg: Any) -> Any:
        self._look(_place(frame.f_back if event == "return" else frame))
        return self._inside

    def _beside(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "return":
            self._now, self._line = self._generators.states(), _place(frame.f_back)
        return self._beside


def _place(frame: FrameType | None) -> Place | None:
    own = frame is not None and is_user_file(frame.f_code.co_filename)
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None and own else None


# What stateless_apply takes.
_ORDER = ("optimizer_variables", "grads", "trainable_variables")


def _group(values: Any, trainable: set[int], updated: set[int]) -> str:
    """Which of them an argument is: a group of the state that a step was given, or else the gradients."""
    own = [id(one) for one in values] if isinstance(values, (list, tuple)) else []
    return "trainable_variables" if own and trainable.issuperset(own) else "optimizer_variables" if own and updated.issuperset(own) else "grads"


@contextlib.contextmanager
def asked(model: Any, kind: Any, state: Sequence[list[Any]], backend: Any) -> Iterator[None]:
    """Notes where an optimizer of a training step gets the weights as gradients, which have the same shapes, variables that are not in the state,
    or other weights than it was built for. ``state``: the values of each group of variables; the trainable ones are the first."""
    weights = state[0]
    trainable, stated = {id(one) for one in weights}, {id(one) for group in state for one in group}
    updated = {id(one) for one in state[2]} if len(state) > 2 else set()
    held = {name: one for name, one in vars(model).items() if isinstance(one, kind)}

    def watched(name: str, original: Any) -> Any:
        def stateless_apply(optimizer_variables: Any, grads: Any, trainable_variables: Any) -> Any:
            recorder = active()
            several = isinstance(grads, (list, tuple, dict))
            if recorder is not None and several and grads and all(id(one) in trainable for one in grads):
                recorder.exchanged = user_frame(depth=2)
            order = tuple(_group(one, trainable, updated) for one in (optimizer_variables, grads, trainable_variables))
            if recorder is not None and order != _ORDER and sorted(order) == sorted(_ORDER):
                recorder.exchanged, recorder.order = user_frame(depth=2), order
            # The optimizer takes an array for a list of its rows.
            if recorder is not None and not several and backend.is_tensor(grads) and recorder.derived is None:
                recorder.derived = (tuple(grads.shape), len(trainable_variables), user_frame(depth=2))
            built = list(getattr(held[name], "_trainable_variables", ())) if held[name].built else []
            if recorder is not None and len(built) != len(trainable_variables):
                recorder.partly = (name, len(trainable_variables), len(built), _part(model, weights, trainable_variables), user_frame(depth=2))
            # Asked for its value, a variable gives a tensor of the trace, which a real step has as a constant.
            own = {id(backend.read(one)) for one in held[name].variables} - stated
            if recorder is not None and optimizer_variables and all(id(one) in own or not backend.is_traced(one) for one in optimizer_variables):
                recorder.beside = recorder.beside or (name, user_frame(depth=2))
            return original(optimizer_variables, grads, trainable_variables)

        return stateless_apply

    for name, one in held.items():
        vars(one)["stateless_apply"] = watched(name, one.stateless_apply)
    try:
        yield
    finally:
        for one in held.values():
            vars(one).pop("stateless_apply", None)


def _part(model: Any, weights: list[Any], given: list[Any]) -> str:
    """The attribute of a model that holds all the variables whose values are given, and no others."""
    variables = {id(value): id(one) for value, one in zip(weights, model.trainable_variables, strict=True)}
    wanted = [variables.get(id(value)) for value in given]
    parts = {name: one for name, one in vars(model).items() if any(one is layer for layer in model._layers)}
    return next((name for name, part in parts.items() if wanted and [id(one) for one in part.trainable_variables] == wanted), "")


@contextlib.contextmanager
def renewing(scopes: Any, key: Callable[[Any], int], variables: Sequence[Any], held: Sequence[Any] | None = None) -> Iterator[dict[int, int]]:
    """The places of variables that get other values than those ``held`` in a scope of a training step's own, such as that of ``stateless_call``.

    The scopes' class is asked where one ends: a frame around the call itself would hide the line that called it. Each place comes with the key of the
    value that was replaced: without ``held``, that with which the scope begins.
    """
    renewed: dict[int, int] = {}
    begun: dict[int, list[Any]] = {}
    entered, original = scopes.__enter__, scopes.__exit__

    def enter(scope: Any) -> Any:
        begun[id(scope)] = [scope.get_current_value(one) for one in variables] if held is None else [*held]
        return entered(scope)

    def leave(scope: Any, *args: Any) -> Any:
        before = begun.pop(id(scope), [])
        for i, (old, new) in enumerate(zip(before, [scope.get_current_value(one) for one in variables], strict=False)):
            if old is not None and new is not None and key(new) != key(old):
                renewed[i] = key(old)
        return original(scope, *args)

    scopes.__enter__, scopes.__exit__ = enter, leave
    try:
        yield renewed
    finally:
        scopes.__enter__, scopes.__exit__ = entered, original
