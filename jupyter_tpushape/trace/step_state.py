"""Running a step function of the user's own that takes its state as arguments, as JAX has it: ``step(state, batch)``.

The batch is what the last parameters take. What the first ones take is the state: it is in the variables of the step's module that have
their names, as in the loop that calls it, or bound already. Its tensors are placeholders, so nothing is computed.
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from ..flow import Spec
from ..flow.paths import flatten, map_leaves
from .framework import Framework
from .patience import ENDS, limited
from .ran import Leaf, Run, leaves
from .reach import BadStep, Reached, plain, reach
from .recorder import Recorder, recording, unmasked
from .restore import left_as_found


def run_on_state(adapter: Framework, function: Any, sample: Any, *, shape: Callable[[Any], Any], alone: bool, recorder: Recorder) -> tuple[Run, Reached]:
    """Traces ``function`` on its state and on ``sample`` with shapes given by ``shape(leaf)``.

    Args:
        alone: whether a batch is one value even where it is a tuple of one.

    Raises:
        BadStep: where it is not to be seen what the function takes for its state, or its parameters do not fit the data.
    """
    reached = reach(function)
    parts = [leaves(value, shape, role) for value, role in ((sample.x, "x"), (sample.y, "y"), (sample.weight, "weight"))]
    (x, _), (y, _), (weight, _) = parts
    element = (x, y, weight) if weight is not None else (x, y) if y is not None else (x,) if alone else x
    held, places = _binding(function, element)
    run = Run(recorder, adapter, function, parts[0][1], parts[1][1], parts[2][1], step=True)
    for leaf in (*run.x, *run.y, *run.weight):
        leaf.spec = Spec(leaf.spec.shape, adapter.backend.dtype(leaf.spec.dtype), leaf.spec.kind)

    models = [one for one in reached.layers if adapter.is_model(one)]
    state = list({id(one): one for model in models for one in adapter.variables(model, frozen=True)}.values())

    def body(graph: Any) -> None:
        run.graph = recorder.graph = graph
        graph.ends = []

        def feed(leaf: Leaf) -> Any:
            tensor = graph.placeholder(leaf.spec, leaf.name)
            recorder.produce(adapter.key(tensor), leaf.source, tensor)
            return tensor

        batch = map_leaves(feed, element)
        try:
            with limited("The training step"), adapter.renewing(state) as renewed:
                result = _opened(function)(*_stood_in(adapter, graph, held), *((batch,) if places == 1 else batch))
        except ENDS as error:
            adapter.backend.explain(recorder, adapter, error)
            run.error, run.where = unmasked(error), "call"
            if recorder.failed is not None and recorder.failed.kind in ("loss", "metric"):
                run.where = recorder.failed.kind
            return
        run.called = run.reached_loss = run.has_loss = True
        found = [(path, one) for path, one in flatten(result, "output") if adapter.backend.is_traced(one)]
        run.outputs = [(path, recorder.port(adapter, one)) for path, one in found]
        returned = {adapter.key(one) for _, one in found}
        # A step that returns no state, such as one that only differentiates, drops none.
        recorder.dropped = tuple(str(state[i].path) for i, old in sorted(renewed.items()) if old in returned)

    with left_as_found([adapter], reached.keras), recording(recorder), adapter.scope():
        try:
            adapter.backend.trace(recorder, adapter, body, [])
        finally:
            reached.restore()
    return run, reached


def _opened(function: Any) -> Any:
    """The function without what compiles it, whose inside a trace does not see; what was bound stays bound."""
    if isinstance(function, functools.partial):
        return functools.partial(_opened(function.func), *function.args, **function.keywords)
    return getattr(function, "__wrapped__", function)


def _stood_in(adapter: Framework, graph: Any, values: list[Any]) -> list[Any]:

    def stand_in(value: Any) -> Any:
        value = value.value if adapter.is_variable(value) else value
        array = hasattr(value, "shape") and hasattr(value, "dtype")
        dtype = str(value.dtype) if array else ""
        return graph.placeholder(Spec(tuple(value.shape), dtype), "") if array and not dtype.startswith("key") else value

    return [adapter.backend.mapped(stand_in, value) for value in values]


def _binding(function: Any, element: Any) -> tuple[list[Any], int]:
    """What the first parameters take, and how many take the batch: one for all of it, or one for each part.

    Raises:
        BadStep: where a first parameter has no value, or there are fewer parameters than parts.
    """
    parameters = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is one.empty
    ]
    names = [one.name for one in parameters]
    module = getattr(plain(function), "__globals__", {})
    parts = len(element) if isinstance(element, tuple) else 1
    # One parameter for the whole batch, unless those in front of it are arrays, such as the x and y of a loop over parts of them.
    for places in dict.fromkeys((1,) if names and _takes_apart(function, names[-1]) else (1, parts)):
        state = names[: len(names) - places]
        between = state[len(names) - parts :] if len(names) >= parts > places else []
        if len(names) >= places and all(name in module for name in state) and not any(hasattr(module[name], "shape") for name in between):
            return [module[name] for name in state], places
    name = getattr(plain(function), "__name__", "the training step")
    missing = [one for one in names[:-1] if one not in module] or names
    raise BadStep(
        f"{name} takes {', '.join(names)}, and no variable named {missing[0]} exists next to it. Bind the state: trace(functools.partial({name}, state), data)."
    )


def _takes_apart(function: Any, name: str) -> bool:
    code = getattr(plain(function), "__code__", None)
    steps = list(dis.get_instructions(code)) if code is not None else []
    return any(one.opname.startswith("LOAD") and one.argval == name and two.opname in _UNPACKING for one, two in itertools.pairwise(steps))


_UNPACKING = ("UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "CALL_FUNCTION_EX")
