"""Running a step function symbolically for one replica: its layers, losses, gradients and updates become calls of the recorder."""

from __future__ import annotations

import contextlib
import dis
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from ..flow.paths import flatten, map_leaves, tupled
from .anew import made_anew
from .applied import StepFacts
from .locations import location, user_frame
from .patience import ENDS, limited
from .ran import Leaf, Run, leaves
from .reach import BadStep, Reached, is_graph_function, names_of, plain, reach
from .recorder import Recorder, recording
from .restore import left_as_found
from .strategies import Batches, Doors
from .tensorflow import graph_for
from .tracked import metered, tracked


def run_step(
    adapter: Any, function: Any, sample: Any, *, shape: Callable[[Any], Any], strategy: Any, replicas: int, alone: bool, recorder: Recorder, fitted: Any
) -> tuple[Run, StepFacts, Reached]:
    """Traces ``function`` on ``sample`` with per-replica shapes given by ``shape(leaf)``.

    Nothing is computed; variables, optimizers, metrics and the user's own objects are as before.

    Args:
        strategy: the one whose replica is traced, or ``None``. replicas: its replicas.
        alone: whether a batch is one value even where it is a tuple of one.
        fitted: the model whose metrics ``fit`` reads after the step, or ``None``.

    Raises:
        BadStep: where the function's parameters do not fit the data.
    """
    recorder.own_step = True
    reached = reach(function)
    parts = [leaves(value, shape, role) for value, role in ((sample.x, "x"), (sample.y, "y"), (sample.weight, "weight"))]
    (x, _), (y, _), (weight, _) = parts
    element = (x, y, weight) if weight is not None else (x, y) if y is not None else (x,) if alone else x
    bind, iterates = _binding(function, element)
    # What fit hands to a model's step is a batch, also where the step loops over its parts.
    iterates = iterates and fitted is None
    element = element if fitted is None else tupled(element)  # as tf.data hands it to fit
    roots, adapters = reached.keras, _adapters(adapter, reached)
    # A model keeps its metrics as attributes, which its step reads.
    metrics = list({id(one): one for one in (*reached.metrics, *adapter.comparing_metrics(fitted))}.values())
    outer = "run" in reached.names and bool(reached.strategies)
    # Autograph only where the step branches on a tensor: without it, lines are the user's own.
    for converted in (False, True):
        run = Run(recorder, adapter, function, parts[0][1], parts[1][1], parts[2][1])
        doors = Doors(recorder, adapter, strategy, replicas, converted)
        doors.facts.lambda_name = getattr(plain(function), "__name__", "") == "<lambda>"
        with (
            left_as_found(adapters, roots), _given_back(reached), recording(recorder), adapter.scope(), graph_for(recorder, adapter) as graph,
            metered(adapter, metrics, recorder), doors, _making(recorder, doors.facts),
            tracked(adapter, fitted, recorder),
        ):  # fmt: skip
            run.graph = recorder.graph = graph
            _attempt(run, doors, function, bind, iterates, element, outer)
            doors.facts.without_result = run.called and fitted is not None and adapter.without_result(fitted)
        if not isinstance(run.error, tf.errors.OperatorNotAllowedInGraphError):
            break
        recorder.drop_calls()
    run.has_loss = bool(doors.facts.gradients)
    run.reached_loss = run.called and run.has_loss
    return run, doors.facts, reached


def _attempt(run: Run, doors: Doors, function: Any, bind: Callable[[Any], tuple[Any, ...]], iterates: bool, element: Any, outer: bool) -> None:
    recorder, adapter = run.recorder, run.adapter

    def feed(leaf: Leaf) -> Any:
        tensor = run.graph.placeholder(leaf.spec, leaf.name)
        recorder.produce(id(tensor), leaf.source, tensor)
        return tensor

    batch = map_leaves(feed, element)
    batch = doors.per_replica(batch) if outer else batch
    given = bind(Batches(lambda: batch, doors) if iterates else batch)
    try:
        with limited("The training step"), contextlib.nullcontext() if outer else doors.replica():
            result = tf.nest.map_structure(doors.first, doors.call(function, *given))
    except ENDS as error:
        run.error, run.where = error, "call"
        if recorder.failed is not None and recorder.failed.kind in ("loss", "metric"):
            run.where = recorder.failed.kind
        return
    run.called = True
    # In a scope of its own, so that it finds the variables as the first call found them.
    with adapter.scope(), contextlib.nullcontext() if outer else doors.replica():
        recorder.anew = made_anew(recorder, lambda: doors.call(function, *given))
    _forget_kept(function, doors.facts)
    run.outputs = [(path, recorder.port(adapter, tensor)) for path, tensor in flatten(result, "output") if tf.is_tensor(tensor)]


def _adapters(adapter: Any, reached: Reached) -> list[Any]:
    from .frameworks import adapter_for

    found = [adapter]
    for obj in reached.keras:
        other = adapter_for(obj)
        if other is not None and other not in found:
            found.append(other)
    return found


def _binding(function: Any, element: Any) -> tuple[Callable[[Any], tuple[Any, ...]], bool]:
    """How a batch becomes the function's arguments, and whether it takes them from an iterator.

    Raises:
        BadStep: where the numbers do not fit.
    """
    held = function.python_function if is_graph_function(function) else function
    parameters = [one for one in inspect.signature(held).parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one.name for one in parameters if one.default is one.empty]
    if len(needed) == 1:
        return lambda batch: (batch,), _iterates(function, needed[0])
    parts = len(element) if isinstance(element, tuple) else 1
    if isinstance(element, tuple) and len(needed) <= parts <= len(parameters):
        return tuple, False
    name = getattr(plain(function), "__name__", "the training step")
    raise BadStep(
        f"{name} takes {', '.join(needed)}, but a batch of the data has {parts} part{'s' * (parts != 1)}: take the whole batch, as in "
        f"`def {name if name.isidentifier() else 'step'}(batch)`, or provide data with {len(needed)} parts."
    )


def _iterates(function: Any, name: str) -> bool:
    if names_of(function) & {"next", "get_next"}:
        return True
    code = getattr(plain(function), "__code__", None)
    steps = list(dis.get_instructions(code)) if code is not None else []
    return any(one.opname.startswith("LOAD") and one.argval == name and two.opname == "GET_ITER" for one, two in itertools.pairwise(steps))


def _forget_kept(function: Any, facts: StepFacts) -> None:
    """A variable that the step made once and keeps is no fault: only those are left that nothing can reach afterwards."""
    if facts.made:
        kept = {id(one) for variable in reach(function).variables for one in (variable, *getattr(variable, "values", ()))}
        facts.made = [(made, where) for made, where in facts.made if id(made) not in kept]


@contextlib.contextmanager
def _given_back(reached: Reached) -> Iterator[None]:
    try:
        yield
    finally:
        reached.restore()


@contextlib.contextmanager
def _making(recorder: Recorder, facts: StepFacts) -> Iterator[None]:

    def creator(next_creator: Any, **kwargs: Any) -> Any:
        made = next_creator(**kwargs)
        if not recorder.stack:
            facts.made.append((made, location(user_frame(depth=2))))
        return made

    with tf.variable_creator_scope(creator):
        yield
