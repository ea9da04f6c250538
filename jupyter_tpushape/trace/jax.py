"""JAX as a backend: tracers, and a trace that knows who made which equation.

A program runs once under ``jax.make_jaxpr``. The trace's own door for primitives (``process_primitive`` and its likes) tells the recorder of each
equation as it is made, so the line, the layer around it and the tensors by identity are at hand. Equations that one call of a
library's function makes (``keras.ops.subtract``, ``jnp.mean``, an operator) are one operation: what the user wrote.
A function with a program of its own (``jit``, ``cond``, ``while_loop``, ``scan``) is one operation; of the last three it holds what the user
wrote inside (``inside_jax.py``).
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..flow import Spec
from .backend import Backend, Values
from .gradients_jax import COUNTED, differentiates, with_arguments
from .graph_jax import TraceGraph, base, dtype_name, is_sparse
from .recorder import Recorder
from .traps_jax import backward, traps
from .untrained_jax import never_trained
from .values_jax import ProgramValues, is_placed

if TYPE_CHECKING:
    from .framework import Framework

# A setting that changes nothing while it matches no file, and that JAX's caches of traces know: under another value, functions run again.
_MARK = "jax_hlo_source_file_canonicalization_regex"
_MARKS = itertools.count()


class Jax(Backend):
    """Programs of JAX: every axis is known, and one program runs on the whole batch, over a mesh where there is one."""

    name = "jax"
    replicated = False
    slow_values = True
    open_axes = False
    text = False
    reads_tracebacks = True

    def __init__(self) -> None:
        self._here = threading.local()

    def is_tensor(self, value: Any) -> bool:
        """Whether this is an array of JAX's, traced or not, or a sparse one."""
        return isinstance(value, jax.Array) or is_sparse(value)

    def is_traced(self, value: Any) -> bool:
        """Whether this is a tracer."""
        return isinstance(value, jax.core.Tracer)

    def is_mapped(self, value: Any) -> bool:
        """Whether vmap made this tracer, under those of gradients."""
        while isinstance(value, jax.core.Tracer) and not hasattr(value, "batch_dim"):
            value = getattr(value, "primal", None)
        return isinstance(value, jax.core.Tracer)

    def is_inner(self, value: Any) -> bool:
        """Whether another trace than the program's own made this tracer."""
        graph, trace = getattr(self._here, "graph", None), getattr(base(value), "_trace", None)
        own = getattr(graph, "_trace", None)
        return self.is_traced(value) and own is not None and own is not getattr(trace, "main", None) and own is not trace

    def spec(self, tensor: Any) -> Spec:
        """The spec of an array. While Keras infers shapes an axis may be a symbol of JAX's, which is one that is unknown."""
        return Spec(tuple(n if isinstance(n, int) else None for n in tensor.shape), dtype_name(tensor.dtype), "sparse" if is_sparse(tensor) else "dense")

    def key(self, tensor: Any) -> int:
        """The identity of the tracer underneath, whatever gradients and maps have wrapped it."""
        return id(base(tensor))

    def mask(self, tensor: Any) -> Any:
        """The Keras mask that a tensor carries; tracers take no attributes, so Keras keeps a table."""
        found = getattr(tensor, "_keras_mask", None)
        if found is None and (masking := sys.modules.get("keras.src.backend.common.masking")) is not None:
            ask = getattr(masking, "get_keras_mask", None)
            found = ask(tensor) if ask is not None else None
        return found

    def known(self, tensor: Any) -> Any:
        """The values of a tensor that the program counts out by itself, or that is there already."""
        if tensor.size > COUNTED:
            return None
        if not self.is_traced(tensor):
            return np.asarray(tensor) if isinstance(tensor, jax.Array) else None
        graph = getattr(self._here, "graph", None)
        found = graph.counted.get(id(base(tensor))) if graph is not None else None
        return found[1] if found is not None else None

    def dtype(self, name: str) -> str:
        """JAX has 32 bits unless it was told otherwise."""
        try:
            return str(jax.dtypes.canonicalize_dtype(name))
        except TypeError:
            return name

    def read(self, variable: Any) -> Any:
        """A tracer that stands for the variable: a program cannot look at a value, as in a compiled step."""
        graph: TraceGraph = self._here.graph
        key = id(variable)
        if key not in graph.variables:
            made = graph.placeholder(Spec(tuple(variable._shape), str(variable._dtype)), "")
            if any(one is variable or getattr(one, "state", None) is variable for one, _ in graph.recorder.inside):
                # What a line of a call creates starts from the same value each time, if every call creates it.
                graph.fixed[id(base(made))] = graph.renewed[id(base(made))] = base(made)
            graph.variables[key] = (made, variable)
            graph.asked.append((made, variable))
        return graph.variables[key][0]

    def mapped(self, change: Callable[[Any], Any], state: Any) -> Any:
        """By JAX's own trees, which hold the states of other libraries as well."""
        return jax.tree_util.tree_map(change, state)

    def trace(self, recorder: Recorder, framework: Framework, body: Callable[[Any], None], variables: Sequence[Any] = ()) -> Any:
        """Calls ``body`` under ``jax.make_jaxpr``, variables as arguments; the graph holds the program afterwards."""
        graph = TraceGraph(recorder, framework)
        before = getattr(self._here, "graph", None)
        filtering = jax.config.jax_traceback_filtering

        def program(*values: Any) -> Any:
            graph.open()
            graph.variables.update((id(variable), (value, variable)) for value, variable in zip(values, variables, strict=True))
            body(graph)
            return graph.results, getattr(graph, "ends", [])

        self._here.graph = graph
        # The frames between the user's line and the error hold what the failing operation was given.
        jax.config.update("jax_traceback_filtering", "off")
        again = contextlib.nullcontext() if not recorder.afresh or not hasattr(jax.config, _MARK) else _afresh()
        try:
            with again:
                graph.program = jax.make_jaxpr(program)(*(jax.ShapeDtypeStruct(one._shape, one._dtype) for one in variables))
        finally:
            jax.config.update("jax_traceback_filtering", filtering)
            self._here.graph = before
            graph.close()
        program, trained = _by_weights(graph, variables)
        if graph.loop is not None and graph.results is not None and any(trained) and not differentiates(program, trained):
            recorder.endless = graph.loop
        if graph.results is not None:
            recorder.untrained = never_trained(graph, variables, framework)
        recorder.traps = [*traps(graph, variables), *(backward(program, trained) if graph.results is not None else ())]
        return graph

    def values(self, recorder: Recorder, graph: Any, ends: Sequence[Any], variables: Sequence[Any]) -> Values:
        """The graph's program, compiled as one."""
        return ProgramValues(graph, variables)

    def underivable(self, loss: Any) -> TypeError | None:
        """Asks ``jax.grad``, which takes nothing but one number."""
        if self.is_tensor(loss):
            shape, dtype = loss.shape, loss.dtype
            try:
                jax.eval_shape(jax.grad(lambda one: jax.numpy.full(shape, one).astype(dtype)), jax.ShapeDtypeStruct((), "float32"))
            except TypeError as error:
                return error
        return None

    def is_lost(self, variable: Any) -> bool:
        """A variable of Keras whose value a step has taken, as ``fit`` hands them over, and not given back."""
        return getattr(variable, "_value", variable) is None and getattr(variable, "_initializer", variable) is None

    def layouts(self, framework: Framework, model: Any, x: Any, distribution: Any) -> list[tuple[Any, tuple[str, ...] | None]]:
        """Asks Shardy, which follows layouts through a program."""
        from .mesh_jax import layouts

        return layouts(framework, model, x, distribution)

    def explain(self, recorder: Recorder, framework: Framework, error: BaseException) -> None:
        """Reads the operation that raised off the traceback: a shape that does not fit raises before any equation is made."""
        graph = getattr(self._here, "graph", None)
        if graph is not None:
            graph.note_failure(error)


def _by_weights(graph: Any, variables: Sequence[Any]) -> tuple[Any, list[bool]]:
    """The program with all variables that it reads as arguments, and which of these are trained."""
    trained = [bool(one.trainable) for one in variables]
    asked = {id(made): variable for made, variable in graph.asked}
    if not asked:
        return graph.program, trained
    placed = [one for one in graph.program.jaxpr.eqns if is_placed(one)]
    read = [(one, asked[id(made)]) for made, one in zip(graph.given, placed, strict=False) if id(made) in asked]
    return with_arguments(graph.program, [one for one, _ in read]), [*trained, *(bool(variable.trainable) for _, variable in read)]


@contextlib.contextmanager
def _afresh() -> Iterator[None]:
    """Functions that JAX has traced run once more, and again after Keras has run them for their shapes, as a step's own trace does."""
    marked, module = getattr(jax.config, _MARK), sys.modules.get("keras.src.backend")
    original = getattr(module, "compute_output_spec", None)

    def renew() -> None:
        jax.config.update(_MARK, f"(?!)tpushape {next(_MARKS)}")

    def shapes(*args: Any, **kwargs: Any) -> Any:
        assert original is not None
        try:
            return original(*args, **kwargs)
        finally:
            renew()

    renew()
    if original is not None:
        setattr(module, "compute_output_spec", shapes)  # noqa: B010
    try:
        yield
    finally:
        if original is not None:
            setattr(module, "compute_output_spec", original)  # noqa: B010
        jax.config.update(_MARK, marked)
