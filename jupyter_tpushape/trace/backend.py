"""The interface to a backend, which computes a framework's tensors. One subclass each for TensorFlow and JAX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..flow import Spec
from .recorder import Recorder

if TYPE_CHECKING:
    from .framework import Framework


class Graph(ABC):
    """A symbolic run: code called inside it creates operations without values, and the recorder receives each of them.

    ``ends``: the tensors that the program is run for, its outputs and its loss.
    """

    ends: list[Any]

    @abstractmethod
    def placeholder(self, spec: Spec, name: str) -> Any:
        """A tensor of this spec that represents data."""


class Values(ABC):
    """A traced program whose tensors can be computed from drawn weights and given data; no variable of the user's is read or written.

    ``operations``: what the computed ends need, in order: the type, the keys of the inputs, the keys of the outputs.
    """

    operations: list[tuple[str, list[int], list[int]]]

    @abstractmethod
    def compute(self, fed: dict[int, Any], seed: int) -> dict[int, Any]:
        """Every tensor's values by its key, for data by the placeholders' keys and weights drawn with ``seed``; raises what cannot be computed.

        What is fed by the key of an output goes on from there in its place.
        """


def drawn(draw: Any, shape: Sequence[int], dtype: str, trained: bool) -> Any:
    """Values for a variable: of both signs where it is trained, else such as statistics and counters may have."""
    if not dtype.startswith(("float", "bfloat")):
        return np.zeros(shape, np.int64)
    # What is never trained and has one axis at most is statistics; a matrix is a frozen kernel.
    if not trained and len(shape) < 2:
        return draw.uniform(0.5, 1.5, size=shape)
    return draw.normal(size=shape) / max(1.0, float(np.prod(shape[:-1]))) ** 0.5


class Backend(ABC):
    """Tensors, and a graph that knows which call created which operation.

    A framework uses its backend for everything that depends on what a tensor *is*; nothing here knows about layers.
    """

    name = ""
    # Whether every replica runs the program on its own rows (``tf.distribute``), or one program runs on the whole batch over a mesh.
    replicated = True
    # Whether making a variable's value costs more than a trace does (each new shape is compiled), so that a builder's stay without.
    slow_values = False
    # Whether an axis may stay unknown while a program is traced.
    open_axes = True
    # Whether a tensor can hold text.
    text = True
    # Whether ``fit`` hands tuples to the program where the data has lists, as tf.data does.
    tuples = False
    # Whether the operation that broke is read off the traceback, so that no frame may be left out of it.
    reads_tracebacks = False

    @abstractmethod
    def is_tensor(self, value: Any) -> bool:
        """Whether this is a tensor or variable of the backend, symbolic or not."""

    def is_traced(self, value: Any) -> bool:
        """Whether this is a tensor of a traced program, which has no value."""
        return False

    def is_inner(self, value: Any) -> bool:
        """Whether this is a tensor of a branch or loop that the backend traces by itself, and so none that the program can keep."""
        return False

    def is_mapped(self, value: Any) -> bool:
        """Whether this is one sample of a tensor over which the backend maps a function."""
        return False

    @abstractmethod
    def spec(self, tensor: Any) -> Spec:
        """The spec of a tensor for which :meth:`is_tensor` is true."""

    def key(self, tensor: Any) -> int:
        """The identity of a tensor, even if a transformation (a gradient, a vectorized map) has wrapped it."""
        return id(tensor)

    def mask(self, tensor: Any) -> Any:
        """The Keras mask of a tensor."""
        return getattr(tensor, "_keras_mask", None)

    def logits(self, tensor: Any) -> Any:
        """The tensor before a softmax or sigmoid, which Keras's cross-entropies read in place of the result; ``None`` without one."""
        return getattr(tensor, "_keras_logits", None)

    def known(self, tensor: Any) -> Any:
        """The values of a tensor that the program computes only from constants and sizes, as an array."""
        return None

    def dtype(self, name: str) -> str:
        """The dtype of a tensor that is created from data of dtype ``name``."""
        return name

    def read(self, variable: Any) -> Any:
        """The value of a Keras variable inside a trace: its value, or one from its initializer if it has none yet."""
        value = variable._value
        return variable._initializer(variable._shape, dtype=variable._dtype) if value is None else value

    def mapped(self, change: Callable[[Any], Any], state: Any) -> Any:
        """What a training step takes for its state, with each leaf changed."""
        return change(state)

    @abstractmethod
    def trace(self, recorder: Recorder, framework: Framework, body: Callable[[Any], None], variables: Sequence[Any] = ()) -> Any:
        """Calls ``body(graph)`` inside a new graph, which is returned.

        New variables use no memory, eager state outside does not change, and operations outside built-in layers become calls of
        the recorder, with edges by tensor identity. An exception of ``body`` propagates. ``variables`` are those that it will read, as
        far as they are known.
        """

    @abstractmethod
    def explain(self, recorder: Recorder, framework: Framework, error: BaseException) -> None:
        """Records the operation that raised ``error``, if the graph did not record it while it ran."""

    @abstractmethod
    def values(self, recorder: Recorder, graph: Any, ends: Sequence[Any], variables: Sequence[Any]) -> Values:
        """The program of a graph that :meth:`trace` returned, as far as the tensors ``ends`` need it, ready to be computed."""

    def underivable(self, loss: Any) -> TypeError | None:
        """The error that ``fit`` raises where the backend gives no gradient of a loss of this shape or dtype."""
        return None

    def is_spoiled(self, step: Any, built: bool) -> bool:
        """Whether the first call of a compiled function raised, the only one that may create variables, and no later call can succeed.

        ``built``: whether a later call has no variables to create.
        """
        return False

    def is_lost(self, variable: Any) -> bool:
        """Whether a variable of a built model has no value, which a compiled step that raised has taken or never given."""
        return False

    def cut(self, recorder: Recorder, end: Any, frozen: Sequence[Any], trained: Sequence[Any] = ()) -> list[tuple[str, Any]] | None:
        """Where every way back from a loss to something trained stops: types of operations, each with the recorder's call that it is in.

        ``[]`` if there is no way at all, ``None`` if a gradient arrives or the backend cannot tell. ``frozen`` are variables that are not trained;
        ``trained``, where they are known, are the only ones that are.
        """
        return None

    def captured(self, graph: Any, variables: Sequence[Any]) -> list[bool]:
        """Whether a graph, or a function that it calls, reads each of these variables, which have values."""
        return [True] * len(variables)

    def idle(self, recorder: Recorder, graph: Any, ends: Sequence[Any]) -> Collection[int]:
        """The keys of tensors on which none of ``ends`` depends, and no variable that the program changes; as far as calls tell.

        Here: by the recorder's calls, for a backend whose operations are all among them. Losses and metrics use what they are given.
        """
        useful = {self.key(end) for end in ends if self.is_tensor(end)} | recorder.lost
        every: set[int] = set()
        changed: list[Any] = [found[0] for found in (*recorder.written.values(), *recorder.escaped.values())]
        if any("float" in str(variable.dtype) for variable in changed):
            return every  # what they were computed from is not known; the state of a seed is no float
        for call in reversed(recorder.calls):
            every.update(port.key for port in call.outputs)
            outside = call.parent is None and call.kind != "layer"
            if outside or call.kind in ("loss", "metric") or not call.done or any(port.key in useful for port in call.outputs):
                useful.update(port.key for port in call.inputs)
        return every - useful

    def layouts(self, framework: Framework, model: Any, x: Any, distribution: Any) -> list[tuple[Any, tuple[str, ...] | None]]:
        """The layouts of the tensors of a forward pass on a distribution's mesh: each call's object with the layout of each output, in order.

        ``x`` is a nest of specs of the global batch. ``None`` for an output, or an empty result, if the layout is unknown before
        compilation.
        """
        return []
