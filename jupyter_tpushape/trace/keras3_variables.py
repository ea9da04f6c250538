"""The variables of Keras 3 while a program is only traced: how they are made without values, and what is read and written instead."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
from keras.src.backend import Variable
from keras.src.backend.common import global_state
from keras.src.backend.common.symbolic_scope import in_symbolic_scope

from ..flow import Shape
from ..replicas.mesh import live_distribution
from .backend import Backend
from .hooks import Hooks
from .locations import defined, of_the_user, user_frame
from .recorder import Recorder, active


class TracedVariables:
    """What :class:`Keras3` does so that a trace initializes and writes none of its variables."""

    backend: Backend
    hooks: Hooks

    # -- made by a builder --------------------------------------------------------------------------

    def install_hollow(self) -> None:
        """Variables of a builder that is only traced get no values, where these are slow to make."""
        if self.backend.slow_values:
            self.hooks.patch(Variable, "_initialize_with_initializer", self._around_initial)
            self.hooks.patch(Variable, "_deferred_initialize", self._around_deferred)
            if hasattr(Variable, "_initialize_layout"):
                self.hooks.patch(Variable, "_initialize_layout", self._around_layout)
            self.hooks.patch(keras.src.backend.distribution_lib, "list_devices", self._around_devices)
            self.hooks.patch(keras.distribution.ModelParallel, "scope", self._around_scope)
            self.hooks.patch(keras.distribution.LayoutMap, "__getitem__", self._around_lookup)

    def _around_initial(self, original: Any) -> Any:
        def _initialize_with_initializer(variable: Any, initializer: Any) -> Any:
            recorder = active()
            if recorder is not None and recorder.building and live_distribution() is None:
                recorder.unplaced[id(variable)] = variable
            if recorder is None or not recorder.hollow:
                return original(variable, initializer)
            initializer = shaped(recorder, variable, initializer, keras.src.backend.compute_output_spec)
            # As Keras itself leaves a variable that is made in a stateless scope.
            variable._value, variable._initializer = None, initializer
            return None

        return _initialize_with_initializer

    def _around_layout(self, original: Any) -> Any:
        def _initialize_layout(variable: Any) -> Any:
            # The devices of a layout may be those of a slice that is only planned.
            recorder = active()
            return original(variable) if recorder is None or not recorder.hollow else None

        return _initialize_layout

    def _around_scope(self, original: Any) -> Any:
        def scope(distribution: Any) -> Any:
            recorder = active()
            if recorder is not None and recorder.building:
                recorder.scoped = distribution
            return original(distribution)

        return scope

    def _around_lookup(self, original: Any) -> Any:
        def __getitem__(layouts: Any, path: str) -> Any:
            recorder = active()
            if recorder is None or not recorder.hollow:
                return original(layouts, path)
            try:
                return original(layouts, path)
            except re.error:  # a key that is no regular expression: a rule says so once the paths of all variables are known
                return None

        return __getitem__

    def _around_devices(self, original: Any) -> Any:
        def list_devices(device_type: str | None = None) -> Any:
            recorder = active()
            planned = recorder.devices if recorder is not None and recorder.hollow else ()
            if not planned or (device_type or "tpu").lower() != "tpu":
                return original(device_type)
            try:
                found = original(device_type)
            except RuntimeError:  # there is no such device on this machine
                return list(planned)
            # A builder on a machine with one CPU means those of the slice.
            return list(planned) if len(found) == 1 and found[0].startswith("cpu") else found

        return list_devices

    def _around_deferred(self, original: Any) -> Any:
        def _deferred_initialize(variable: Any) -> Any:
            recorder = active()
            # Keras forgets the initializer once it has been asked for a value.
            return original(variable) if recorder is None or not recorder.hollow else None

        return _deferred_initialize

    # -- in a symbolic run --------------------------------------------------------------------------

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """No variable is written, none is initialised, and no warning reaches the user."""
        uninitialised = global_state.get_global_attribute("uninitialized_variables")
        known = list(uninitialised or [])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with keras.StatelessScope(initialize_variables=False) as stateless:
                stateless.get_current_value = self._values(stateless.get_current_value)
                stateless.add_update = self._updates(stateless.add_update)
                with self._whole_tracebacks():
                    yield
        after, recorder = global_state.get_global_attribute("uninitialized_variables"), active()
        if after is not None:
            if recorder is not None:
                recorder.variables += after[len(known) :]
            global_state.set_global_attribute("uninitialized_variables", known)

    @contextlib.contextmanager
    def _whole_tracebacks(self) -> Iterator[None]:
        """Keras leaves its own frames in, where the operation that broke is known by them alone."""
        state, name = vars(global_state.GLOBAL_STATE_TRACKER), "traceback_filtering"
        before = {name: state[name]} if name in state else {}
        if self.backend.reads_tracebacks:
            state[name] = False
        try:
            yield
        finally:
            if self.backend.reads_tracebacks:
                state.pop(name, None)
                state.update(before)

    def _values(self, written: Any) -> Any:
        """What a variable holds in a stateless scope: what was written, else its own; regularizers ask the scope and nothing else."""

        def current(variable: Any) -> Any:
            recorder = active()
            if recorder is not None and id(variable) in recorder.metered:
                recorder.measured.append((recorder.metered[id(variable)], user_frame()))
            value = written(variable)
            if value is not None:
                return value
            if recorder is not None and self.backend.slow_values and id(variable) not in recorder.asked:
                recorder.asked.add(id(variable))
                # One that a builder made has the shape that its initializer returned then.
                made = global_state.get_global_attribute("uninitialized_variables") or ()
                initializer = getattr(variable, "_initializer", None)
                if of_the_user(initializer) and any(one is variable for one in made):
                    variable._initializer = shaped(recorder, variable, initializer, keras.src.backend.compute_output_spec)
            value = self.backend.read(variable)
            # While Keras infers shapes, the first value of a weight is a constant to a function that is traced then.
            if recorder is None or in_symbolic_scope():
                return value
            recorder.read.add(id(variable))
            if variable._value is None and variable.trainable:
                recorder.weights.add(self.backend.key(value))
            return value

        return current

    def _updates(self, original: Any) -> Any:

        def add_update(update: Any) -> None:
            recorder = active()
            variable, value = update
            if recorder is not None and self.backend.is_inner(value):
                recorder.escaped[id(variable)] = variable, recorder.stack[-1].name if recorder.stack else "", user_frame()
            elif recorder is not None:
                recorder.escaped.pop(id(variable), None)
            if recorder is not None and recorder.graph is not None and not recorder.muted and (place := user_frame()) is not None:
                recorder.written.setdefault(id(variable), (variable, place))
            original(update)

        return add_update


@dataclass(eq=False, frozen=True)
class Initial:
    """A variable whose initializer returned the shape ``got`` where it was asked for ``want``: the layer that was running, the initializer's line."""

    variable: Any
    layer: Any
    want: Shape
    got: Shape
    line: tuple[str, int] | None


def shaped(recorder: Recorder, variable: Any, initializer: Any, infer: Callable[[Callable[[], Any]], Any]) -> Any:
    """Gives a variable the shape that an initializer of the user's own returns, whose code may raise: ``infer`` runs it without values.

    Returns the initializer as it is to be kept: asked again, it gets the shape that it was asked for first.
    """
    if not of_the_user(initializer) and not _holds_array(initializer):
        return initializer
    made = infer(lambda: initializer(variable._shape, dtype=variable._dtype))
    want, variable._shape = tuple(variable._shape), tuple(getattr(made, "shape", variable._shape))
    if variable._shape != want:
        layer = recorder.stack[-1].obj if recorder.stack else None
        recorder.initial.append(Initial(variable, layer, want, variable._shape, defined(initializer) or user_frame()))
        return lambda _, dtype=None: initializer(want, dtype=dtype)
    return initializer


def _holds_array(initializer: Any) -> bool:
    """Whether an initializer of Keras was given values of the user's for a whole weight, as ``Constant`` may be."""
    return bool(getattr(getattr(initializer, "value", None), "shape", ()))
