"""A JAX trace that knows who made which equation: the recorder hears of each as it is made."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from ..flow import Spec
from .along_jax import along, axis_of
from .backend import Graph
from .frames_jax import HELPERS, arguments_of, callee_of, equation, made_by, named, operands_of, raised_in
from .gradients_jax import COUNTED, beyond, counted, positions
from .hidden_jax import Hidden
from .inside_jax import draws, inside, opens
from .locations import HERE, Place, is_user_file, user_frame
from .noise import Noise
from .recorder import Call, Port, Recorder, caused, line_running, unmasked
from .values_jax import GIVEN

if TYPE_CHECKING:
    from .framework import Framework

# Equations that hand their operand on: the data goes straight through.
_TRANSPARENT = frozenset({"copy", "stop_gradient", "optimization_barrier", "sharding_constraint", "name", "device_put"})


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
        self.keys, self.noise, self.hidden = Keys(), Noise(), Hidden()
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
        self.keys.clear()
        self.noise.clear()
        self.hidden.clear()
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
            # A variable that the body of a loop reads first belongs to the program around it, too.
            with _OUTSIDE(self._trace):
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
        tensors = [base(value) for value in operands if isinstance(value, jax.core.Tracer)]
        results = [value for value in (made if isinstance(made, (list, tuple)) else [made]) if isinstance(value, jax.core.Tracer)]
        name = str(primitive.name)
        if results and all(id(one) in self.fixed or _is_constant(one) for one in tensors):
            self.fixed.update((id(base(one)), base(one)) for one in results)
            renewed = any(id(one) in self.renewed for one in tensors)
            if renewed:
                self.renewed.update((id(base(one)), base(one)) for one in results)
            if draws(name, params):
                recorder.drawn.append((tuple(results[0].shape), user_frame(), renewed))
        if (redrawn := self.keys.note(name, params, tensors, [base(one) for one in results], _caller(sys._getframe(2)))) is not None:
            recorder.redrawn = recorder.redrawn or redrawn
        scaled = self.noise.note(name, params, tensors, [base(one) for one in results], self.fixed)
        if len(results) == 1 and results[0].size <= COUNTED and all(self._known(one) is not None for one in tensors):
            values = counted(name, [self._known(one) for one in operands if not isinstance(one, dict)], params)
            if values is not None:
                self.counted[id(base(results[0]))] = (base(results[0]), values)
        if name in _TRANSPARENT and len(tensors) == 1:
            producer = recorder.producers.get(id(tensors[0]))
            if producer is not None:
                for result in results:
                    recorder.produce(id(result), producer, result)
            return
        producers = recorder.producers
        ports = [Port(self.framework.spec(one), producers[id(one)], "", id(one)) for one in tensors if id(one) in producers]
        hidden = not ports and not all(id(one) in self.fixed for one in tensors)
        callee, function = callee_of(sys._getframe(2)) if results and (ports or hidden) else (None, "")
        if name == "custom_jvp_call" and not function:
            function = str(getattr(operands[0], "__name__", ""))  # what has a derivative of its own, such as relu, goes by its name
        if not ports and callee is not None and function in _GRADIENTS:
            # Layers hide what a gradient is made of: it is made of what it is taken by.
            by = [base(one) for one in callee.f_locals.get("args", ()) if isinstance(one, jax.core.Tracer)]
            ports = [Port(self.framework.spec(one), producers[id(one)], "", id(one)) for one in by if id(one) in producers and one.shape == results[0].shape]
            function = "gradient"
        if not ports or not results:
            return
        parent = recorder.stack[-1] if recorder.stack else None
        call = self._call
        fresh = call is None or callee is None or callee is not self._frame or call.parent is not parent
        if call is None or fresh:
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
        if fresh and call.op == "Softmax" and (hides := self.hidden.read(tensors)) is not None:
            recorder.hidden.append((call, *hides))
        given = [base(one) if isinstance(one, jax.core.Tracer) else one for one in operands if not isinstance(one, dict)]
        self.hidden.note(name, params, given, base(results[0]), self._known, call)
        if call.op in ("Mul", "RealDiv") and not results[0].ndim:
            numbers = [(place, self._known(one)) for place, one in enumerate(given)]
            recorder.single += [(call, place, float(np.asarray(value).reshape(()))) for place, value in numbers if value is not None and np.size(value) == 1]
        if scaled is not None:
            recorder.scaled.append((call, id(scaled[0]), *scaled[1:]))
        if name == "dynamic_slice" and (out := beyond(name, operands[0], [self._known(one) for one in operands[1:]], params)) is not None:
            recorder.beyond.append((call, id(base(operands[0])), *out))
        places = [self._origin(base(one), call) for one in operands if not isinstance(one, dict)]
        recorder.along += [(call, places[i], axis, ordered) for i, axis, ordered in along(name, params, len(places)) if i < len(places)]
        if fresh and function == "associative_scan" and (axis := axis_of(callee)) is not None:
            recorder.along += [(call, id(one), axis % one.ndim, True) for one in tensors if one.ndim]
        if call.op in _WITH_POSITIONS and (at := [a for one in given if (a := positions(self._known(one), results[0].ndim)) is not None]):
            call.values["positions"] = at[0]
        if fresh and function == "ctc_loss" and callee is not None:
            held = self._known(callee.f_locals.get("output_length"))
            if np.size(held) and held is not None and np.ptp(held) == 0:
                call.values["steps"] = int(np.max(held))
        if name == "gather" and len(ports) == 1 and call.op == "Slice":
            call.values["looked_up"] = True
        if name == "while":
            self.loop = self.loop or call
        if opens(name):
            inside(recorder, self.framework, call, name, params)

    def _known(self, value: Any) -> Any:
        if isinstance(value, jax.core.Tracer):
            value = base(value)
            if id(value) in self.counted:
                return self.counted[id(value)][1]
            return value.get_const() if not value.ndim and _is_constant(value) else None
        return None if isinstance(value, dict) else value

    def _origin(self, tensor: Any, call: Call) -> int:
        port = next((one for one in call.inputs if one.spec.shape == getattr(tensor, "shape", None)), None)
        return port.key if self.recorder.producers.get(id(tensor)) is call and port is not None else id(tensor)

    def note_failure(self, error: BaseException) -> None:
        """The operation that raised, where one did between layers: the function that the innermost line of the program called."""
        recorder, error = self.recorder, unmasked(error)
        if recorder.failed is not None and caused(error, recorder.failed.failure):
            return
        callee, function, line = raised_in(error.__traceback__)
        if callee is None or self._hidden or recorder.muted:
            return
        if function.strip("_") in _CHECKS or function == "__init__" or (_is_door(callee) and not (line is not None and _is_loss_function(callee))):
            return  # a layer or model that checks what it is given is no operation
        name = named(function)
        around = recorder.stack[-1] if recorder.stack else None
        # A line of the program's own that a built-in layer calls, such as a cell's, is the program's business.
        if around is not None and around.opaque and (line is None or line == tuple(around.called or ())):
            recorder.stack[-1].inner = recorder.stack[-1].inner or name
            return
        given = list(self._operands(self._read(arguments_of(callee))))
        # Python asks the right operand where the left one, an array of NumPy, leaves it to that.
        tensors = given[::-1] if function in _REFLECTED else given
        if all(isinstance(one, np.ndarray) for one in tensors) or callee.f_code.co_filename.startswith(HERE):
            return
        call = self._new(None, recorder.stack[-1] if recorder.stack else None)
        call.op = call.name = name
        # What depends on no data, such as random numbers or a weight, is an operand as well.
        call.inputs = [recorder.port(self.framework, one) for one in tensors]
        call.values = operands_of(callee)
        call.called = line or call.called or made_by(callee) or line_running()
        call.failure = error
        recorder.failed = call

    def _operands(self, values: Any) -> Iterator[Any]:
        for one in values:
            if isinstance(one, (list, tuple)):
                yield from self._operands(one)
            elif isinstance(one, np.ndarray) and one.ndim:
                yield one
            else:
                yield from (tensor for _, tensor in self.framework.tensors_of(([one],), {}))

    def _read(self, values: Any) -> Any:
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


_GRAPHS: dict[int, TraceGraph] = {}
_OUTSIDE = getattr(sys.modules.get("jax._src.core"), "set_current_trace", contextlib.nullcontext)
_REFLECTED = frozenset({"radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmatmul", "rpow", "rmod"})
_GRADIENTS = ("grad_f", "value_and_grad_f")
# What combines two tensors value by value, and may have positions as one of them.
_WITH_POSITIONS = ("Mul", "AddV2", "Sub")
_CHECKS = ("call", "assert_input_compatibility", "maybe_build")
_DOORS = tuple(f"keras.src.{part}." for part in ("models", "layers", "losses", "metrics", "trainers"))


def _caller(frame: FrameType | None) -> FrameType | None:
    callee, _ = callee_of(frame)
    return callee.f_back if callee is not None else None


def _is_door(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_DOORS)


def _is_loss_function(frame: FrameType) -> bool:
    """Whether a line of the program's called a function of losses on tensors of its own, and no object that Keras was given."""
    return str(frame.f_globals.get("__name__", "")) == "keras.src.losses.losses" and "self" not in frame.f_locals


dtype_name = functools.cache(str)  # NumPy makes the name of a dtype anew each time


@functools.cache
def _listening(kind: Any) -> Any:

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


def base(value: Any) -> Any:
    """The tracer of the program underneath those of gradients and maps."""
    for _ in range(16):
        inner = getattr(value, "primal", None)
        if not isinstance(inner, jax.core.Tracer):
            inner = getattr(value, "val", None)
        if not isinstance(inner, jax.core.Tracer):
            break
        value = inner
    return value


def _is_constant(tracer: Any) -> bool:
    ask = getattr(tracer, "get_const", None)
    return ask is not None and ask() is not None


def is_sparse(value: Any) -> bool:
    module = sys.modules.get("jax.experimental.sparse")
    return module is not None and isinstance(value, module.JAXSparse)


# Equations that give a key another form.
_FORMS = frozenset({"random_wrap", "random_unwrap", "convert_element_type", "copy"})


class Keys:
    """What was drawn from each key. It holds what it knows by identity, until a trace ends."""

    def __init__(self) -> None:
        self._roots: dict[int, Any] = {}
        self._drawn: dict[tuple[Any, ...], tuple[Place, Any]] = {}
        self._held: list[Any] = []

    def note(self, name: str, params: dict[str, Any], operands: list[Any], results: list[Any], caller: FrameType | None) -> Any:
        """The shape, and the lines of both draws, where this equation draws what one before it drew.

        Args:
            operands, results: tensors. caller: the program's function that runs; the same draw in another function may well be meant.
        """
        if not operands or not results:
            return None
        root = self._roots.get(id(operands[0]), operands[0])
        if name in _FORMS:
            self._roots[id(results[0])] = root
            self._held.append(results[0])
            return None
        if caller is None or not is_user_file(caller.f_code.co_filename) or not draws(name, params):
            return None
        key = (id(root), id(caller), str(params.get("name") or name), tuple(results[0].shape), str(results[0].dtype))
        place = Place(caller.f_code.co_filename, caller.f_lineno)
        self._held += [root, caller]
        if key in self._drawn and self._drawn[key][1] == caller.f_lasti:
            return None  # one call that makes several equations
        before, _ = self._drawn.setdefault(key, (place, caller.f_lasti))
        return (tuple(results[0].shape), before, place) if self._drawn[key][1] != caller.f_lasti else None

    def clear(self) -> None:
        """Lets go of everything."""
        self._roots.clear()
        self._drawn.clear()
        self._held.clear()
