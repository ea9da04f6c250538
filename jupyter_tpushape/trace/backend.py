"""What the tracer needs to know of a backend: what computes a framework's tensors. One subclass each for TensorFlow and JAX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..flow import Spec
from .recorder import Recorder

if TYPE_CHECKING:
    from .framework import Framework


class Graph(ABC):
    """A symbolic run: code that is called inside it makes operations without values, and the recorder hears of each."""

    @abstractmethod
    def placeholder(self, spec: Spec, name: str) -> Any:
        """A tensor of this spec that stands for data."""


class Backend(ABC):
    """Tensors, and a graph that knows who made which operation.

    A framework asks its backend for everything that depends on what a tensor *is*; nothing here knows of layers.
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
    # Whether the operation that broke is read off the traceback, so that no frame may be left out of it.
    reads_tracebacks = False

    @abstractmethod
    def is_tensor(self, value: Any) -> bool:
        """Whether this is a tensor or a variable of the backend's, symbolic or not."""

    def is_traced(self, value: Any) -> bool:
        """Whether this is a tensor of a program that is being traced, which has no value."""
        return False

    @abstractmethod
    def spec(self, tensor: Any) -> Spec:
        """The spec of a tensor for which :meth:`is_tensor` holds."""

    def key(self, tensor: Any) -> int:
        """What identifies a tensor on its way, also where a transformation (a gradient, a vectorized map) has wrapped it."""
        return id(tensor)

    def mask(self, tensor: Any) -> Any:
        """The Keras mask that a tensor carries, or ``None``."""
        return getattr(tensor, "_keras_mask", None)

    def known(self, tensor: Any) -> Any:
        """The values of a tensor that the program makes of nothing but constants and sizes, as an array; ``None`` for others."""
        return None

    def dtype(self, name: str) -> str:
        """The dtype that data of dtype ``name`` has once it is a tensor."""
        return name

    def read(self, variable: Any) -> Any:
        """What a Keras variable holds inside a trace: its value, or one by its initializer where it has none yet."""
        value = variable._value
        return variable._initializer(variable._shape, dtype=variable._dtype) if value is None else value

    @abstractmethod
    def trace(self, recorder: Recorder, framework: Framework, body: Callable[[Any], None], variables: Sequence[Any] = ()) -> Any:
        """Calls ``body(graph)`` inside a new graph, which is returned.

        New variables take no memory, eager state outside stays as it is, and operations outside built-in layers become calls of
        the recorder, edges by the tensors' identity. An exception of ``body`` goes through. ``variables`` are those that it will read, as
        far as they are known.
        """

    @abstractmethod
    def explain(self, recorder: Recorder, framework: Framework, error: BaseException) -> None:
        """Notes the operation that raised ``error``, where the graph did not note it while it ran."""

    def layouts(self, framework: Framework, model: Any, x: Any, distribution: Any) -> list[tuple[Any, tuple[str, ...] | None]]:
        """How the tensors of a forward pass lie on a distribution's mesh: each call's object with the layout of each output, in order.

        ``x`` is a nest of the whole batch's specs. ``None`` for an output, or nothing at all, where it is not known before the program is
        compiled.
        """
        return []
