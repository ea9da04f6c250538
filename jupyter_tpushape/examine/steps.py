"""One look at a training step of the user's own: the replica's program that ``strategy.run`` would run, as a flow with its evidence."""

from __future__ import annotations

from typing import Any

from ..flow import Location
from ..graph.opened import opened
from ..graph.probe import probe
from ..graph.program import program as replica_program
from ..graph.scaling import scales
from ..internal import contained
from ..trace.assemble import Assembler, failure
from ..trace.framework import Framework
from ..trace.frameworks import adapter_for, loaded
from ..trace.locations import is_user_file, location
from ..trace.patience import ENDS, limited
from ..trace.raised import error_line
from ..trace.reach import BadStep, Reached, is_graph_function, plain, reach
from ..trace.recorder import Recorder
from .breaks import along, anew, beyond, data_failed, given_to, redrawn, scaled, single, tracked, with_growth
from .compared_line import compared
from .evidence import Evidence
from .fronts import front, global_batch, place_of
from .heard import HeardReduction, hear
from .inner_doors import open_door
from .program import BadProgram, Examined, Program, shape_of
from .step_facts import StepState


def strategy_of_step(step: Any) -> Any:
    """The ``tf.distribute`` strategy that a step names, or ``None``; the default one does not count."""
    found = [one for one in reach(step).strategies if not type(one).__name__.startswith("_Default")]
    return found[0] if len(found) == 1 else None


def examine_step(program: Program) -> Examined:
    """Looks at a step once; what the step raises ends up in the evidence.

    Raises:
        BadProgram: where the step cannot be called with this data.
    """
    from .sampling import is_builder, take_sample

    step, data = program.model, program.data
    recorder, reached = Recorder(), reach(step)
    adapter = _adapter(reached)
    evidence = Evidence(flow=Assembler(adapter.name).flow, target=program.target, framework=adapter.name, backend=adapter.backend.name)
    if data is None:
        raise BadProgram(f"A training step needs its data: use trace({_name(step)}, data), where data yields the step's batches.")
    seen = Examined(evidence, program, recorder, adapter, None, data)
    if is_builder(data):
        try:
            with limited("The function that creates the data"):
                seen.data = data()
        except ENDS as raised:
            seen.error, seen.data = raised, None
            data_failed(seen, raised)
            return seen
    take_sample(seen, adapter.name)
    if not adapter.backend.replicated:
        _run_on_state(seen, adapter, step)
        return seen
    _run(seen, adapter, reached, step, _strategy(program))
    return seen


def trace_train_step(seen: Examined) -> bool:
    """Traces the ``train_step`` that a model's own class defines, which is what ``fit`` runs."""
    assert seen.adapter is not None
    step = seen.model.train_step
    try:
        # The model was made before any planned slice: its metrics and variables are of no strategy's scope but the live one's.
        _run(seen, seen.adapter, reach(step), step, seen.program.strategy)
    except BadProgram:
        return False
    return True


def _name(step: Any) -> str:
    return str(getattr(plain(step), "__name__", "step"))


def _defined(step: Any) -> Location | None:
    code = getattr(plain(step), "__code__", None)
    return location((code.co_filename, code.co_firstlineno)) if code is not None and is_user_file(code.co_filename) else None


def _adapter(reached: Reached) -> Framework:
    for obj in reached.keras:
        found = adapter_for(obj)
        if found is not None:
            return found
    found = next(iter(loaded()), None)
    if found is None:
        raise BadProgram("The training step uses no Keras model: import keras or tf_keras first, or pass the model itself.")
    return found


def _run(seen: Examined, adapter: Framework, reached: Reached, step: Any, strategy: Any) -> None:
    from ..trace.step import run_step

    evidence, program = seen.evidence, seen.program
    replicas = program.target.replicas if program.target is not None else 1

    def again(shape: Any, recorder: Recorder) -> Any:
        return run_step(
            adapter, step, seen.sample, shape=shape, strategy=strategy, replicas=replicas,
            alone=_single(seen.data) if seen.model is None else seen.sample.alone, recorder=recorder, fitted=seen.model,
        )  # fmt: skip

    try:
        traced, facts, reached = again(shape_of(seen), seen.recorder)
    except BadStep as error:
        raise BadProgram(str(error)) from None
    seen.run, seen.error = traced, traced.error
    evidence.failure, evidence.where = traced.error, traced.where
    own = traced.error is not None and (
        hear(traced.error, HeardReduction) is not None
        or facts.next_inside is not None
        or facts.nested is not None
        or (facts.misapplied is not None and facts.misapplied.function)
    )
    if own:
        evidence.where = "step"  # explained by a rule of its own
    _assembled(seen, adapter, traced, step)
    if traced.error is not None:
        with_growth(seen, lambda shape, recorder: again(shape, recorder)[0])
    split = evidence.split
    batch = split.rows(global_batch(seen))[0] if split is not None else global_batch(seen)
    found, unsaid = scales(facts, batch, replicas) if traced.called else ([], [])
    seen.limits += unsaid
    if facts.looped:
        seen.limits.append("A loop over a tensor was traced for one iteration only")
    evidence.facts.update(has_loss=True, reached_loss=traced.reached_loss)
    evidence.facts.update(tracked=tracked(seen.recorder), scaled=scaled(seen), single=single(seen), along=along(seen))
    evidence.facts["step"] = _state(seen, facts, reached, tuple(found), step)
    if traced.called:
        with contained(seen.limits, "which axes carry the batch"):
            evidence.facts["probe"] = probe(seen, lambda shape, recorder: again(shape, recorder)[0])
    if traced.called and seen.model is not None:
        # A loop of the program's own hands over each batch with its sizes; fit does not.
        with contained(seen.limits, "the trace with unknown sizes"):
            evidence.facts["opened"] = opened(seen, lambda shape, recorder: again(shape, recorder)[0])
    with contained(seen.limits, "the program of a replica"):
        evidence.facts["program"] = replica_program(seen)
    evidence.facts["anew"] = anew(seen.recorder)


def _run_on_state(seen: Examined, adapter: Framework, step: Any) -> None:
    from ..trace.step_state import run_on_state

    evidence = seen.evidence
    evidence.backend = adapter.backend.name

    def again(shape: Any, recorder: Recorder) -> Any:
        return run_on_state(adapter, step, seen.sample, shape=shape, alone=_single(seen.data), recorder=recorder)[0]

    try:
        traced = seen.run = again(shape_of(seen), seen.recorder)
    except BadStep as error:
        raise BadProgram(str(error)) from None
    seen.error, evidence.failure, evidence.where = traced.error, traced.error, traced.where
    _assembled(seen, adapter, traced, step)
    if traced.error is not None:
        with_growth(seen, again)
    evidence.facts.update(has_loss=True, reached_loss=traced.reached_loss)
    evidence.facts["step"] = StepState(name=_name(step), where=_defined(step), trains=True)
    evidence.facts["along"], evidence.facts["redrawn"] = along(seen), redrawn(seen.recorder)
    evidence.facts["dropped"] = seen.recorder.dropped
    evidence.facts["scaled"], evidence.facts["beyond"] = scaled(seen), beyond(seen)
    if traced.called:
        with contained(seen.limits, "which axes carry the batch"):
            evidence.facts["probe"] = probe(seen, again)
    evidence.facts["anew"] = anew(seen.recorder)


def _assembled(seen: Examined, adapter: Framework, traced: Any, step: Any) -> None:
    evidence = seen.evidence
    assembler = Assembler(adapter.name, place_of(seen))
    feeder = front(seen, assembler)
    assembler.inputs(traced.x, None, feeder)
    assembler.labels(traced.y + traced.weight, feeder)
    assembler.calls(adapter, seen.recorder)
    if traced.called:
        assembler.outputs(traced, [])
    if traced.error is not None and not assembler.flow.failed():
        node = assembler.node(None, name=_name(step), kind="op", op="python", status="failed", location=error_line(traced.error))
        node.failure = failure(traced.error, "call")
        compared(assembler, adapter, seen.recorder, node, traced.error)
    evidence.outputs = [(path, port.spec) for path, port in traced.outputs]
    evidence.flow, evidence.paths = assembler.flow, assembler.paths
    evidence.arguments = assembler.arguments
    if traced.error is not None:
        evidence.given = given_to(seen.recorder, assembler)
        evidence.facts["door"] = open_door(adapter, seen.recorder, assembler, None)
    seen.call_ids, seen.edge_ids = assembler.ids, assembler.edge_of


def _strategy(program: Program) -> Any:
    from .. import replicas

    if program.target is None:
        return None
    if program.strategy is not None:
        return program.strategy
    return replicas.tpu_strategy(program.target.name) if program.target.name in replicas.SLICES else None


def _single(data: Any) -> bool:
    spec = getattr(data, "element_spec", data)
    return isinstance(spec, tuple) and len(spec) == 1


def _state(seen: Examined, facts: Any, reached: Reached, found: tuple[Any, ...], step: Any) -> StepState:
    from ..replicas.scope import made_outside, plain, strategy_name, variables_of

    assert seen.run is not None
    given = seen.program.strategy if seen.program.strategy is not None else facts.strategy
    name = strategy_name(given)
    copied = bool(name) and not plain(given)
    used = [call.obj for call in seen.recorder.calls if call.obj is not None]
    models = [layer for layer in reached.layers if any(layer is one for one in used)]
    outside = [path for layer in models for path in made_outside(variables_of(layer), given)] if copied else []
    every = [path for layer in models for path in (str(getattr(one, "path", one.name)) for one in variables_of(layer))]
    optimizers = {id(update.optimizer): update.optimizer for update in facts.updates}
    captured = {id(handle) for handle, _ in seen.run.graph.captures} if seen.run.graph is not None else set()
    bare = [one for one in reached.variables if not hasattr(one, "values") and id(getattr(one, "handle", None)) in captured]
    return StepState(
        name=_name(step), where=_defined(step), strategy=name, runs=facts.runs, trains=bool(facts.gradients), graph_function=is_graph_function(step),
        eager_inside=facts.eager_inside, lambda_name=facts.lambda_name, next_inside=facts.next_inside,
        variable_argument=facts.variable_argument, nested=facts.nested, static_only=facts.static_only, buckets=facts.buckets,
        variables_made=tuple(dict.fromkeys(where for _, where in facts.made if where is not None)),
        outside=tuple(dict.fromkeys(outside)), variables=len(set(every)),
        optimizers_outside=tuple(type(one).__name__ for one in optimizers.values() if copied and not _its(one, given)),
        bare_outside=tuple(str(one.name).removesuffix(":0") for one in bare) if copied else (),
        refused=str(seen.error) if seen.error is not None else "", scales=found, without_result=facts.without_result, misapplied=facts.misapplied,
    )  # fmt: skip


def _its(optimizer: Any, strategy: Any) -> bool:
    from ..replicas.scope import optimizer_strategy, strategy_name

    return strategy_name(optimizer_strategy(optimizer)) == strategy_name(strategy)
