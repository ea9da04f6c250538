"""A ``tf.distribute`` program followed into one replica: what ``strategy.run`` runs, with that replica's tensors.

The doors of TensorFlow that stand between a training loop and its replica's program are held open while a step is traced:
``strategy.run`` calls the function for the first replica, reductions give back what they were given, a gradient is one node,
and an optimizer's update is one node that updates nothing. All of it is undone afterwards.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.distribute.values import DistributedVariable, PerReplica
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

from ..flow import Location, Spec
from .applied import Gradient, How, Misapplied, Reduce, StepFacts, Update, Updates
from .locations import location, user_frame
from .reach import is_own, plain
from .recorder import Call, Port, Recorder
from .tensorflow import spec_of

NEXT_INSIDE = "next(iterator) should be called from outside of replica_fn. Getting PerReplica from inside of replica_fn is not supported."

NESTED = "Method requires being in cross-replica context, use get_replica_context().merge_call()"


class Batches:
    """Stands for a distributed dataset and for its iterator: always the same batch."""

    def __init__(self, element: Callable[[], Any], doors: Doors) -> None:
        self._element, self._doors = element, doors

    def __iter__(self) -> Iterator[Any]:
        yield self._take()

    def __next__(self) -> Any:
        return self._take()

    get_next = __next__

    def _take(self) -> Any:
        if self._doors.inside:
            self._doors.facts.next_inside = _here()
            raise ValueError(NEXT_INSIDE)
        return self._element()


def _here() -> Location | None:
    return location(user_frame(depth=3))


class Doors:
    """The interceptions of one trace; ``with doors:`` holds them open for this thread."""

    def __init__(self, recorder: Recorder, adapter: Any, strategy: Any, replicas: int, converted: bool = False) -> None:
        self.recorder, self.adapter = recorder, adapter
        self.strategy, self.replicas = strategy, replicas
        self.facts = StepFacts()
        self.updates = Updates()
        # What each tape records: from which call of the trace to which.
        self._taped: list[list[Any]] = []
        self.converted = converted
        self.inside = 0
        self._thread = threading.get_ident()
        self._saved: list[tuple[Any, str, Any]] = []

    # -- open and closed ---------------------------------------------------------------------------

    def __enter__(self) -> Doors:  # noqa: PYI034  (Self is newer than Python 3.10)
        try:
            for cls in _classes(distribute_lib.StrategyBase, "run"):
                self._replace(cls, "run", self._run)
            for cls in _classes(distribute_lib.StrategyBase, "reduce"):
                self._replace(cls, "reduce", self._reduce)
            if self.strategy is None:
                self._replace(distribute_lib._DefaultDistributionExtended, "_num_replicas_in_sync", self._count)
            # Copies that are packed into one handle have no gradient outside of a TPU's own context.
            self._replace(DistributedVariable, "_get_replica", self._copy)
            self._replace(DistributedVariable, "_packed_variable", self._unpacked)
            for name in ("assign", "assign_add", "assign_sub"):
                for cls in _classes(DistributedVariable, name):
                    self._replace(cls, name, self._write)
            self._replace(tf.GradientTape, "gradient", self._gradient)
            self._replace(tf.GradientTape, "__enter__", self._recorded)
            self._replace(tf.GradientTape, "__exit__", self._recorded)
            self._replace(Function, "__call__", self._function)
            self._replace(tf.Tensor, "__iter__", self._turn)
            for base in self.adapter.optimizer_classes():
                for name in ("apply", "apply_gradients"):
                    for cls in _classes(base, name):
                        self._replace(cls, name, self._apply)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._saved:
            owner, name, original = self._saved.pop()
            setattr(owner, name, original)

    def _replace(self, owner: Any, name: str, make: Callable[[Any, Any], Any]) -> None:
        original = owner.__dict__[name]
        self._saved.append((owner, name, original))
        setattr(owner, name, make(original, owner))

    def _ours(self) -> bool:
        if threading.get_ident() != self._thread or self.recorder.muted:
            return False
        graph = tf.compat.v1.get_default_graph()
        while graph is not None and graph is not self.recorder.graph:
            graph = getattr(graph, "outer_graph", None)  # the body of a loop or of a branch
        return graph is not None

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the Python function behind a ``tf.function``, so that its operations land in the graph of the trace."""
        function = function.python_function if isinstance(function, Function) else function
        if self.converted:
            function = tf.__internal__.autograph.tf_convert(function, ag_ctx.ControlStatusCtx(status=ag_ctx.Status.ENABLED))
        return function(*args, **kwargs)

    # -- tf.distribute -----------------------------------------------------------------------------

    def _count(self, original: Any, _: Any) -> Any:
        """As many replicas as there will be: Keras divides its losses by them, and a program may do so too."""
        return property(lambda extended: self.replicas if self.inside and self._ours() else original.fget(extended))

    def _run(self, original: Any, _: Any) -> Any:
        def run(strategy: Any, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
            if not self._ours():
                return original(strategy, fn, args, kwargs, options)
            facts = self.facts
            if self.inside:
                facts.nested = location(user_frame(depth=2))
                raise RuntimeError(NESTED)
            facts.runs += 1
            if getattr(options, "experimental_enable_dynamic_batch_size", True) is False:
                facts.static_only = location(user_frame(depth=2))
            facts.buckets = facts.buckets or bool(getattr(options, "experimental_bucketizing_dynamic_shape", False))
            facts.strategy = strategy
            facts.eager_inside = facts.eager_inside or not isinstance(fn, Function)
            if _varargs(fn) and any(isinstance(item, (tf.Variable, DistributedVariable)) for item in args or ()):
                facts.variable_argument = location(user_frame(depth=2))
            mine = tf.nest.map_structure(self.first, (tuple(args or ()), dict(kwargs or {})))
            with self.replica():
                result = self.call(fn, *mine[0], **mine[1])
            return tf.nest.map_structure(self._each, result)

        return run

    def first(self, value: Any) -> Any:
        """The first replica's of a value."""
        return value.values[0] if isinstance(value, PerReplica) else value

    def _each(self, value: Any) -> Any:
        return PerReplica((value,) * self.replicas) if self.replicas > 1 and tf.is_tensor(value) else value

    def per_replica(self, value: Any) -> Any:
        """A batch as a distributed dataset gives it."""
        return tf.nest.map_structure(self._each, value)

    @contextlib.contextmanager
    def replica(self) -> Iterator[None]:
        """The context of the first replica, where there is a strategy."""
        self.inside += 1
        try:
            if self.strategy is None:
                yield
                return
            with self.strategy.scope():
                context = distribute_lib.ReplicaContext(self.strategy, 0)
                context.all_reduce = self._all_reduce
                with context:
                    yield
        finally:
            self.inside -= 1

    def _all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        del options
        out = tf.nest.map_structure(lambda tensor: None if tensor is None else self._reduced(str(reduce_op), tensor), value)
        self.facts.reduced.extend((str(reduce_op).upper().rsplit(".", 1)[-1], tensor) for tensor in tf.nest.flatten(out) if tensor is not None)
        return out

    def _reduced(self, op: str, tensor: Any) -> Any:
        call = self._call("op", "all_reduce", "all_reduce", [tensor])
        call.config["op"] = op.upper().rsplit(".", 1)[-1]
        with self.recorder.unrecorded():
            out = tf.identity(tensor)
        self._made(call, [out])
        return out

    def _reduce(self, original: Any, _: Any) -> Any:
        def reduce(strategy: Any, reduce_op: Any, value: Any, axis: Any = None) -> Any:
            if not self._ours():
                return original(strategy, reduce_op, value, axis)
            op = str(reduce_op).upper().rsplit(".", 1)[-1]
            held = tf.nest.map_structure(self.first, value)
            where = location(user_frame(depth=2))
            outputs = []
            for tensor in tf.nest.flatten(held):
                call = self._call("op", "strategy.reduce", "reduce", [tensor])
                call.config["op"] = op
                if axis is None and tf.is_tensor(tensor):
                    self.facts.reduces.append(Reduce(op, tensor, where))
                with self.recorder.unrecorded():
                    whole = tf.convert_to_tensor(tensor)
                    over = tf.reduce_sum if op == "SUM" else tf.reduce_mean
                    made = tf.identity(whole) if axis is None else over(whole, axis)
                self._made(call, [made])
                outputs.append(made)
            return tf.nest.pack_sequence_as(held, outputs)

        return reduce

    def _copy(self, original: Any, _: Any) -> Any:
        return lambda variable, index: variable._values[index] if self._ours() else original(variable, index)

    def _unpacked(self, original: Any, _: Any) -> Any:
        return property(lambda variable: None if self._ours() else original.fget(variable))

    def _write(self, original: Any, _: Any) -> Any:
        def assign(variable: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            return tf.convert_to_tensor(value, variable.dtype) if self._ours() else original(variable, value, *args, **kwargs)

        return assign

    # -- tf.function, loops ------------------------------------------------------------------------

    def _function(self, original: Any, _: Any) -> Any:
        def __call__(function: Any, *args: Any, **kwargs: Any) -> Any:
            code = getattr(plain(function), "__code__", None)
            if not self._ours() or self.recorder.inside_opaque or code is None or not is_own(code):
                return original(function, *args, **kwargs)
            return self.call(function, *args, **kwargs)

        return __call__

    def _turn(self, original: Any, _: Any) -> Any:
        def __iter__(tensor: Any) -> Any:
            if not self._ours() or tensor.shape.rank != 1 or not tensor.dtype.is_integer:
                return original(tensor)
            self.facts.looped = True
            return iter([tensor[0]])

        return __iter__

    # -- gradients and updates ---------------------------------------------------------------------

    def _recorded(self, original: Any, _: Any) -> Any:
        def turn(tape: Any, *args: Any) -> Any:
            if self._ours():
                here = len(self.recorder.calls)
                if original.__name__ == "__enter__":
                    self._taped.append([tape, here, sys.maxsize])
                for one in [one for one in self._taped if one[0] is tape][-1:] if original.__name__ == "__exit__" else ():
                    one[2] = here
            return original(tape, *args)

        return turn

    def _outside(self, tape: Any, targets: list[Any], sources: list[Any]) -> How | None:
        """What a tape has not seen: the loss, or every call of a layer that has one of the variables."""
        makers: list[Any] = [self.recorder.producers.get(id(target)) for target in targets]

        def seen(call: Call) -> bool:
            return any(start <= call.index < end for one, start, end in self._taped if one is tape)

        if not makers or None in makers or not any(one[0] is tape for one in self._taped):
            return None
        if not any(map(seen, makers)):
            return "loss"
        wanted = {id(one) for one in sources}
        layers = [call for call in self.recorder.calls if call.kind == "layer"]
        owners = [call for call in layers if any(id(one) in wanted for one in self.adapter.own_variables(call.obj))]
        return "model" if owners and not any(map(seen, owners)) else None

    def _gradient(self, original: Any, _: Any) -> Any:
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._ours() or self.recorder.inside_opaque:
                return original(tape, target, sources, *args, **kwargs)
            where = location(user_frame(depth=2))
            targets = [tensor for tensor in tf.nest.flatten(target) if tf.is_tensor(tensor)]
            call = self._call("op", "gradient", "GradientTape.gradient", targets)
            flat = tf.nest.flatten(sources)
            # A variable that this very trace made has no handle to follow: it stands for itself.
            real = [source for source in flat if not _unmade(source)]
            try:
                with self.recorder.unrecorded():
                    got = iter(original(tape, target, [_read_from(source) for source in real], *args, **kwargs))
                    results = [
                        next(got) if not _unmade(source) else tf.compat.v1.placeholder(tf.as_dtype(source.dtype), tuple(source.shape)) for source in flat
                    ]
            except Exception as error:
                call.failure, self.recorder.failed = error, self.recorder.failed or call
                raise
            call.config["variables"] = len(flat)
            lost = all(one is None or _unmade(source) for one, source in zip(results, flat, strict=True))
            if lost and (outside := self._outside(tape, targets, flat)) is not None:
                results = [None] * len(flat)
                self.facts.misapplied = Misapplied(outside, "", "", location=where)
            self._made(call, [one for one in results if one is not None])
            self.facts.gradients.append(Gradient(targets[0] if targets else None, results, sum(one is None for one in results), where))
            return tf.nest.pack_sequence_as(sources, results)

        return gradient

    def _apply(self, original: Any, _: Any) -> Any:
        def apply(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            named = next((name for name in ("grads_and_vars", "grads") if name in kwargs), "")
            if not self._ours() or not (args or named):
                return original(optimizer, *args, **kwargs)
            given = list(args[0] if args else kwargs[named])
            gradients = self.updates.gradients(given)
            if gradients and all(gradient is None for gradient in gradients):
                if self.facts.misapplied is not None:
                    self.facts.misapplied = replace(self.facts.misapplied, optimizer=type(optimizer).__name__, function=original.__name__)
                raise ValueError("No gradients provided for any variable.")
            refused = self.updates.refused(optimizer, original.__name__, given, args[1:], kwargs)
            summed = kwargs.get("experimental_aggregate_gradients", True) and not kwargs.get("skip_gradients_aggregation", False)
            call = self._call(
                "op", str(getattr(optimizer, "name", "") or "update"), f"{type(optimizer).__name__}.apply_gradients",
                [getattr(gradient, "values", gradient) for gradient in gradients if gradient is not None],
            )  # fmt: skip
            call.config["variables"] = len(gradients)
            if refused is not None:
                self.facts.misapplied = replace(refused, location=location(user_frame(depth=2)))
                call.failure = ValueError(f"{refused.optimizer}.{refused.function} does not accept this update.")
                self.recorder.failed = self.recorder.failed or call
                raise call.failure
            call.done = True
            self.facts.updates.append(Update(optimizer, gradients, bool(summed), location(user_frame(depth=2))))
            return getattr(optimizer, "iterations", None)

        return apply

    # -- nodes -------------------------------------------------------------------------------------

    def _call(self, kind: str, name: str, op: str, tensors: list[Any], most: int = 6) -> Call:
        recorder = self.recorder
        parent = recorder.stack[-1] if recorder.stack else None
        call = Call(len(recorder.calls), kind, name, op, None, parent, True, framework=self.adapter.name)
        call.called = user_frame(depth=3)
        call.inputs = [recorder.port(self.adapter, tensor) for tensor in tensors if tf.is_tensor(tensor)][:most]
        recorder.calls.append(call)
        return call

    def _made(self, call: Call, tensors: list[Any]) -> None:
        call.done = True
        for tensor in tensors:
            held = getattr(tensor, "values", tensor)  # of sparse gradients the rows
            spec = spec_of(held) if hasattr(held, "shape") else Spec(None, "")
            call.outputs.append(Port(spec, call, "", id(held)))
            self.recorder.produce(id(held), call, held)


def _varargs(function: Any) -> bool:
    code = getattr(plain(function), "__code__", None)
    return code is not None and bool(code.co_flags & 0x04)


def _read_from(variable: Any) -> Any:
    raw = getattr(variable, "_value", None)
    raw = variable if raw is None else raw
    return raw._values[0] if isinstance(raw, DistributedVariable) else raw


def _unmade(variable: Any) -> bool:
    return hasattr(variable, "_value") and hasattr(variable, "_initializer") and variable._value is None


def _classes(base: Any, name: str) -> Iterator[Any]:
    pending, seen = [base, *base.__mro__], set()
    while pending:
        cls = pending.pop()
        if cls in seen or cls is object:
            continue
        seen.add(cls)
        if name in cls.__dict__:
            yield cls
        if issubclass(cls, base):
            pending.extend(type.__subclasses__(cls))
