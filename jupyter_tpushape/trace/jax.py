"""JAX as a backend: tracers, and a trace that knows who made which equation.

A program runs once under ``jax.make_jaxpr``. The trace's own door for primitives (``process_primitive`` and its likes) tells the recorder of each
equation as it is made, so the line, the layer around it and the tensors by identity are at hand. Equations that one call of a
library's function makes (``keras.ops.subtract``, ``jnp.mean``, an operator) are one operation: what the user wrote.
A function with a program of its own (``jit``, ``cond``, ``while_loop``, ``scan``) is one operation; of the last three it holds what the user
wrote inside (``inside_jax.py``).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from ..flow import Spec
from .backend import Backend, Graph, Values
from .frames_jax import HELPERS, arguments_of, callee_of, equation, made_by, named, operands_of, raised_in
from .gradients_jax import COUNTED, counted, differentiates
from .inside_jax import draws, inside, opens
from .locations import HERE, user_frame
from .recorder import Call, Port, Recorder, caused, line_running, unmasked
from .values_jax import GIVEN, ProgramValues

if TYPE_CHECKING:
    from .framework import Framework

# A setting that changes nothing while it matches no file, and that JAX's caches of traces know: under another value, functions run again.
_MARK = "jax_hlo_source_file_canonicalization_regex"
_MARKS = itertools.count()
# Equations that hand their operand on: the data goes straight through.
_TRANSPARENT = frozenset({"copy", "stop_gradient", "optimization_barrier", "sharding_constraint", "name", "device_put"})


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
        return isinstance(value, jax.Array) or _is_sparse(value)

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
        graph, trace = getattr(self._here, "graph", None), getattr(_base(value), "_trace", None)
        own = getattr(graph, "_trace", None)
        return self.is_traced(value) and own is not None and own is not getattr(trace, "main", None) and own is not trace

    def spec(self, tensor: Any) -> Spec:
        """The spec of an array. While Keras infers shapes an axis may be a symbol of JAX's, which is one that is unknown."""
        return Spec(
            tuple(n if isinstance(n, int) else None for n in tensor.shape),
            _named(tensor.dtype),
            "sparse" if _is_sparse(tensor) else "dense",
        )

    def key(self, tensor: Any) -> int:
        """The identity of the tracer underneath, whatever gradients and maps have wrapped it."""
        return id(_base(tensor))

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
        found = graph.counted.get(id(_base(tensor))) if graph is not None else None
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
                graph.fixed[id(_base(made))] = graph.renewed[id(_base(made))] = _base(made)
            graph.variables[key] = (made, variable)
            graph.asked.append((made, variable))
        return graph.variables[key][0]

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
        trained = [bool(one.trainable) for one in variables]
        if graph.loop is not None and graph.results is not None and any(trained) and not differentiates(graph.program, trained):
            recorder.endless = graph.loop
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

    def layouts(self, framework: Framework, model: Any, x: Any, distribution: Any) -> list[tuple[Any, tuple[str, ...] | None]]:
        """Asks Shardy, which follows layouts through a program."""
        from .mesh_jax import layouts

        return layouts(framework, model, x, distribution)

    def explain(self, recorder: Recorder, framework: Framework, error: BaseException) -> None:
        """Reads the operation that raised off the traceback: a shape that does not fit raises before any equation is made."""
        graph = getattr(self._here, "graph", None)
        if graph is not None:
            graph.note_failure(error)


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


class TraceGraph(Graph):
    """One run under ``make_jaxpr``."""

    def __init__(self, recorder: Recorder, framework: Framework) -> None:
        self.recorder, self.framework = recorder, framework
        self.variables: dict[int, tuple[Any, Any]] = {}
        # Of each tensor that depends on nothing but sizes and numbers of the program: itself, and its values.
        self.counted: dict[int, tuple[Any, Any]] = {}
        # Tensors that depend on neither data nor variables, by id.
        self.fixed: dict[int, Any] = {}
        # Those of them that depend on a variable which the program created while it ran.
        self.renewed: dict[int, Any] = {}
        self.results: Any = None
        # The placeholders, in order.
        self.given: list[Any] = []
        # Placeholders that stand for variables which nobody had named before.
        self.asked: list[tuple[Any, Any]] = []
        # The first loop that JAX derives only forward, as far as the program's own lines run one.
        self.loop: Call | None = None
        self.program: Any = None
        self._frame: FrameType | None = None
        self._call: Call | None = None
        self._hidden = 0

    # -- open and closed ---------------------------------------------------------------------------

    def open(self) -> None:
        """Listens to the trace that runs now."""
        trace = jax.lax.full((), 0)._trace
        # Before 0.4.36 a trace is made anew at every use, and its main says of which class.
        self._trace = getattr(trace, "main", None) or trace
        setattr(self._trace, "__class__" if self._trace is trace else "trace_type", _listening(type(trace)))  # type: ignore[arg-type]
        _GRAPHS[id(self._trace)] = self

    def close(self) -> None:
        """Lets go of everything but the program."""
        if hasattr(self, "_trace"):
            _GRAPHS.pop(id(self._trace), None)
            del self._trace
        self._frame = None
        self.variables.clear()
        self.counted.clear()
        self.fixed.clear()
        self.renewed.clear()

    def placeholder(self, spec: Spec, name: str) -> Any:
        """A tracer of this spec, which no computation is known of."""
        if spec.shape is None or None in spec.shape:
            raise ValueError(f"{name or 'The data'} has an axis of unknown size, {spec.shape}, but JAX needs to know every size.")
        if spec.kind == "sparse":
            from jax.experimental import sparse

            return sparse.empty(spec.shape, dtype=spec.dtype)
        self._hidden += 1
        try:
            made = checkpoint_name(jax.lax.full(spec.shape, 0, spec.dtype), GIVEN)
            self.given.append(made)
        finally:
            self._hidden -= 1
        return made

    # -- what runs ---------------------------------------------------------------------------------

    def listens(self) -> bool:
        """Whether equations count that are made now: those inside a built-in layer are its own business."""
        return not (self._hidden or self.recorder.muted or self.recorder.inside_opaque)

    def note(self, primitive: Any, operands: Any, made: Any, params: dict[str, Any]) -> None:
        """One equation: part of the operation that the user called, or an operation by itself."""
        recorder = self.recorder
        tensors = [_base(value) for value in operands if isinstance(value, jax.core.Tracer)]
        results = [value for value in (made if isinstance(made, (list, tuple)) else [made]) if isinstance(value, jax.core.Tracer)]
        name = str(primitive.name)
        if results and all(id(one) in self.fixed or _is_constant(one) for one in tensors):
            self.fixed.update((id(_base(one)), _base(one)) for one in results)
            renewed = any(id(one) in self.renewed for one in tensors)
            if renewed:
                self.renewed.update((id(_base(one)), _base(one)) for one in results)
            if draws(name, params):
                recorder.drawn.append((tuple(results[0].shape), user_frame(), renewed))
        if len(results) == 1 and results[0].size <= COUNTED and all(id(one) in self.counted for one in tensors):
            given = [
                self.counted[id(_base(one))][1] if isinstance(one, jax.core.Tracer) else one
                for one in operands
                if not isinstance(one, dict)
            ]
            values = counted(name, given, params)
            if values is not None:
                self.counted[id(_base(results[0]))] = (_base(results[0]), values)
        if name in _TRANSPARENT and len(tensors) == 1:
            producer = recorder.producers.get(id(tensors[0]))
            if producer is not None:
                for result in results:
                    recorder.produce(id(result), producer, result)
            return
        producers = recorder.producers
        ports = [Port(self.framework.spec(one), producers[id(one)], "", id(one)) for one in tensors if id(one) in producers]
        if not ports or not results:
            return
        callee, function = callee_of(sys._getframe(2))
        parent = recorder.stack[-1] if recorder.stack else None
        call = self._call
        if call is None or callee is None or callee is not self._frame or call.parent is not parent:
            call = self._new(callee, parent)
            self._frame, self._call = callee, call
            call.op = call.name = named(function or equation(name, params))
            call.values = operands_of(callee)
            call.called = call.called or made_by(callee)
            call.done = True
        elif not function and name not in HELPERS:
            call.op = call.name = named(equation(name, params))
        known = {port.key for port in call.inputs}
        call.inputs += [port for port in ports if port.producer is not call and port.key not in known]
        call.outputs = [Port(self.framework.spec(one), call, "", id(one)) for one in results]
        for result in results:
            recorder.produce(id(result), call, result)
        if name == "while":
            self.loop = self.loop or call
        if opens(name):
            inside(recorder, self.framework, call, name, params)

    def note_failure(self, error: BaseException) -> None:
        """The operation that raised, where one did between layers: the function that the innermost line of the program called."""
        recorder, error = self.recorder, unmasked(error)
        if recorder.failed is not None and caused(error, recorder.failed.failure):
            return
        callee, function, line = raised_in(error.__traceback__)
        if callee is None or self._hidden or recorder.muted:
            return
        if function.strip("_") in _CHECKS or str(callee.f_globals.get("__name__", "")).startswith(_DOORS):
            return  # a layer or model that checks what it is given is no operation
        name = named(function)
        around = recorder.stack[-1] if recorder.stack else None
        # A line of the program's own that a built-in layer calls, such as a cell's, is the program's business.
        if around is not None and around.opaque and (line is None or line == tuple(around.called or ())):
            recorder.stack[-1].inner = recorder.stack[-1].inner or name
            return
        tensors = [tensor for _, tensor in self.framework.tensors_of(self._read(arguments_of(callee)), {})]
        if not tensors or callee.f_code.co_filename.startswith(HERE):
            return
        call = self._new(None, recorder.stack[-1] if recorder.stack else None)
        call.op = call.name = name
        # What depends on no data, such as random numbers or a weight, is an operand as well.
        call.inputs = [recorder.port(self.framework, one) for one in tensors]
        call.values = operands_of(callee)
        call.called = line or call.called or made_by(callee) or line_running()
        call.failure = error
        recorder.failed = call

    def _read(self, values: Any) -> Any:
        """The arguments of a call with the values of variables in their places."""
        if isinstance(values, (list, tuple)):
            return [self._read(one) for one in values]
        return self.framework.backend.read(values) if self.framework.is_variable(values) else values

    def _new(self, callee: FrameType | None, parent: Call | None) -> Call:
        recorder = self.recorder
        call = Call(len(recorder.calls), "op", "", "", None, parent, True, framework=self.framework.name)
        call.called = user_frame(depth=4)
        if parent is not None:
            parent.children += 1
        recorder.calls.append(call)
        return call


# -- the trace's own doors -------------------------------------------------------------------------

_GRAPHS: dict[int, TraceGraph] = {}
_CHECKS = ("call", "assert_input_compatibility")
_DOORS = tuple(f"keras.src.{part}." for part in ("models", "layers", "losses", "metrics", "trainers"))


@functools.cache
def _listening(kind: Any) -> Any:
    """A trace of this kind that tells its graph of each equation."""

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def process(self: Any, primitive: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(self, primitive, *args, **kwargs)
            graph = _GRAPHS.get(id(getattr(self, "main", None) or self))
            if graph is not None and graph.recorder.leaked is None and not graph._hidden:
                graph.recorder.leaked, graph.recorder.leaked_at = _leaked(self, args), len(graph.recorder.calls)
            if graph is not None and graph.listens():
                flat = [item for one in args for item in (one if isinstance(one, (list, tuple)) else (one,))]
                graph.note(primitive, flat, made, next((one for one in reversed(args) if isinstance(one, dict)), {}))
            return made

        return process

    doors = {name for base in kind.__mro__ for name in vars(base) if name.startswith("process_")}
    return type(kind.__name__, (kind,), {"__slots__": (), **{name: around(getattr(kind, name)) for name in doors}})


def _leaked(trace: Any, args: Any) -> Any:
    """The user's line that runs, where an operand belongs to a trace that is over: of a loop's body, a branch, or a jit."""
    kind = type(trace).__mro__[1]  # what listens is a class of its own
    flat = [item for one in args for item in (one if isinstance(one, (list, tuple)) else (one,))]
    owners = [getattr(one, "_trace", None) for one in flat if isinstance(one, jax.core.Tracer)]
    return user_frame() if any(isinstance(one, kind) and one is not trace for one in owners) else None


# -- tensors ---------------------------------------------------------------------------------------


def _base(value: Any) -> Any:
    """The tracer of the program underneath those of gradients and maps."""
    for _ in range(16):
        inner = getattr(value, "primal", None)
        if not isinstance(inner, jax.core.Tracer):
            inner = getattr(value, "val", None)
        if not isinstance(inner, jax.core.Tracer):
            break
        value = inner
    return value


_named = functools.cache(str)  # NumPy makes the name of a dtype anew each time


def _is_constant(tracer: Any) -> bool:
    """Whether a tracer stands for a value that the program has as it is."""
    ask = getattr(tracer, "get_const", None)
    return ask is not None and ask() is not None


def _is_sparse(value: Any) -> bool:
    module = sys.modules.get("jax.experimental.sparse")
    return module is not None and isinstance(value, module.JAXSparse)
