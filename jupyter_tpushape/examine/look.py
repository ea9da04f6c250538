"""One look at a program: build it, sample its data, trace it, assemble the flow and gather the evidence.

Looking twice (a fix that is tried, a second batch size) is calling :func:`examine` again; it keeps nothing.
"""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import replace
from typing import Any

from ..flow import CannotRebuild, Spec
from ..flow.paths import flatten
from ..graph.opened import opened
from ..graph.probe import probe
from ..graph.program import program as replica_program
from ..internal import contained
from ..replicas import is_distribution, of_distribution
from ..sources import DataRaises
from ..trace.aftermath import FITTING
from ..trace.assemble import Assembler, door_names
from ..trace.build import build, kept_counters
from ..trace.config import asked_once
from ..trace.framework import Framework
from ..trace.frameworks import adapter_for, loaded
from ..trace.hindsight import look_back, look_back_at_compile
from ..trace.locations import Place, defined, location
from ..trace.patience import ENDS, TimeUp, limited, patience
from ..trace.raised import error_line, raised_at, raised_by, unwritten
from ..trace.reach import is_step
from ..trace.recorder import Recorder
from ..trace.remainder import not_reached
from ..trace.restore import uncollected
from ..trace.run import run
from ..trace.signature import by_place, of_call, overridden, refused_call, unmade
from .beside import models_beside
from .breaks import anew, assemble_broken, data_failed, declare, entry_failed, given_to, tracked, with_growth
from .broken_lines import (
    crossed_names,
    first_row,
    initial_shape,
    last_call,
    listed_again,
    on_one_sample,
    paired,
    returned_alone,
    scan_axis,
    scanned,
    scanned_inside,
    states_taken,
    taped_lines,
    traced_argument,
    uncalled,
    unpacked,
)
from .compiled import compiled
from .evidence import Evidence
from .fronts import front, place_of
from .heard import hear
from .heard_contracts import HeardByPlace
from .heard_jax import HeardOpenScan
from .inner_doors import open_door
from .placement import place, weights_laid
from .program import BadProgram, Examined, Program, shape_of
from .recorded import recorded
from .replaced import inputs_apart, replaced_input
from .returns import claims, returns_nothing, silent
from .row_order import orders_apart
from .row_steps import arrays_of
from .sampling import from_declared, is_builder, runs_own_step, stage_error, take_sample
from .step_parts import step_parts
from .taken_apart import along_batch, exchanged
from .window_axes import exchanged_axes, reshaped_pictures
from .wrapped import Watch


def examine(program: Program) -> Examined:
    """Looks at a program once. Exceptions of the user's code end up in the evidence."""
    with kept_counters() as counters, weights_laid(program.strategy), asked_once():
        seen = _look(program)
        if seen.runs_unranked():
            seen = _look(program.with_(ranked=True))
        place(seen)
        seen.counters = counters
        facts = seen.evidence.facts
        error, adapter = seen.error or seen.evidence.failure, seen.adapter or next(iter(loaded()), None)
        if isinstance(error, BaseException) and adapter is not None:
            failed = seen.recorder.failed if seen.recorder is not None else None
            made = failed.called if failed is not None and isinstance(failed.called, Place) else None
            seen.evidence.raised = raised_at(error, adapter) or (raised_by(made) if made is not None else None)
            facts["scanned"] = scanned(error) or scanned_inside(failed)
            facts["initial"] = initial_shape(seen.recorder)
            facts["scan_axis"] = scan_axis(error) if hear(error, HeardOpenScan) is not None else 0
            handed = traced_argument(adapter, error)
            facts["handed"] = (*handed[:4], location(handed[4])) if handed is not None else None
            facts["mapped"] = on_one_sample(adapter, failed)
            facts["unpacked"], facts["states"] = unpacked(adapter, error), states_taken(error)
            again = listed_again(error)
            facts["listed_again"] = (*again[:3], location(again[3])) if again is not None else None
            alone = returned_alone(failed.obj if failed is not None else None, error)
            facts["returned_alone"] = (*alone[:2], location(alone[2])) if alone is not None else None
            facts["of_call"], facts["unwritten"] = of_call(error, adapter), unwritten(error)
            facts["refused"] = refused_call(error, adapter) or inputs_apart(seen, adapter)
            facts["paired"], facts["beside"] = paired(error), models_beside(seen, adapter)
            facts["taken_apart"] = exchanged(error)
            facts["step_takes"] = step_parts(adapter, error)
            facts["unmade"] = unmade(error)
            facts["returns_nothing"] = returns_nothing(seen, adapter, error)
            facts["along_batch"] = along_batch(error, adapter)
            lacking = overridden(error)
            facts["overridden"] = (lacking.function, lacking.lacks, location(lacking.place)) if lacking is not None else None
            facts["by_place"] = by_place(error, adapter) if hear(error, HeardByPlace) is not None else None
        elif adapter is not None and adapter.is_model(seen.model) and adapter.overrides(seen.model, "train_step"):
            facts["returns_nothing"] = silent(f"{type(seen.model).__name__}.train_step", type(seen.model).train_step)
        facts["input_replaced"] = replaced_input(seen) if seen.evidence.declared else None
        # A changed text runs under a name of its own, and lines are counted in it.
        facts["aliases"] = program.aliases
        return seen


def on_own_mesh(seen: Examined) -> Examined:
    """The look again, on the mesh that the program itself sets up."""
    program, own = seen.program, getattr(seen.recorder, "distribution", None)
    if own is None or program.edits is not None or not (program.strategy is None or is_distribution(program.strategy)):
        return seen
    asked = program.target is not None and not program.assumed and not program.target.live
    try:
        target = of_distribution(own, program.target.name if asked and program.target is not None else None)
    except ValueError:
        return seen
    again = examine(program.with_(target=target, strategy=own, data=seen.data, sample=seen.sample))
    # A fix changes the function that makes the data.
    again.program = again.program.with_(data=program.data)
    return again


def _look(program: Program) -> Examined:
    if is_step(program.model):
        from .steps import examine_step

        return examine_step(program)
    recorder = Recorder()
    recorder.edits, recorder.assume = program.edits, program.assume
    recorder.devices = _devices(program)
    model, data, error, where = program.model, program.data, None, ""
    adapter = adapter_for(model)
    if adapter is None and not callable(model):
        raise BadProgram(
            f"Expected a Keras model, a layer, or a function that builds one, but got {_kind(model)}: use trace(model, data), or trace(build, data) with a function build()."
        )
    if adapter is None:
        model, error = build(program.model, recorder, hollow=True)
        if isinstance(error, CannotRebuild):
            raise error
        if error is None:
            recorder.drop_calls()
        where = "build" if error is not None else ""
        adapter = adapter_for(model) if error is None else _guess(recorder)
        if error is None and adapter is not None and program.edits is not None:
            model = program.edits.finish(adapter, recorder, model)
        if error is None and adapter is None:
            if inspect.iscoroutine(model):
                model.close()  # or Python would warn that nobody waits for it
            raise BadProgram(f"The builder returned {_kind(model)} instead of a Keras model: end it with `return model`.")
    elif adapter.is_model(model):
        # A line is worth less than the trace: odd objects among the user's names do not stop it.
        with contextlib.suppress(Exception):
            look_back(model)
            recorder.compile_places[id(model)] = look_back_at_compile(model)
    left = ""
    with contextlib.suppress(Exception):  # an odd object of the user's is traced all the same
        left = adapter.left_by_fit(model) if adapter is not None and error is None and adapter.is_model(model) else ""
    data_error: BaseException | None = None
    watch = Watch()
    if is_builder(data):
        try:
            with limited("The function that creates the data"), watch.on():
                data = data()
        except ENDS as raised:
            data_error, data = raised, None
    if program.edits is not None and data_error is None:
        data = program.edits.data(data)
    framework = adapter.name if adapter is not None else "keras"
    evidence = Evidence(flow=Assembler(framework).flow, target=program.target, framework=framework, backend=_backend(adapter))
    evidence.facts["batch_size"], evidence.facts["left"] = program.batch_size, left
    seen = Examined(evidence, program, recorder, adapter, model, data, error=error)
    if data_error is not None:
        data_failed(seen, data_error)
        return seen
    try:
        # Waiting for a first batch has a limit of its own, which is up before this one.
        with limited("Reading the data", 3 * patience()), watch.on():
            take_sample(seen, framework)
    except TimeUp as late:
        data_failed(seen, late)
        return seen
    except DataRaises as raised:
        data_failed(seen, raised.error)
        return seen
    evidence.facts["wrapped"] = watch.found
    if any(problem.code == "cardinality" for problem in getattr(seen.sample, "problems", ()) or ()):
        evidence.facts["arrays"] = arrays_of(seen)
    else:
        evidence.facts["orders"] = orders_apart(seen)
        evidence.facts["swapped_axes"] = exchanged_axes(seen)
        evidence.facts["turned_pictures"] = reshaped_pictures(seen)
    if (raised_in_stage := stage_error(seen)) is not None:
        data_failed(seen, raised_in_stage)
        return seen
    if error is not None:
        evidence.where, evidence.failure = where, error
        assemble_broken(seen, error)
    elif not _own_step(seen):
        with uncollected():
            _trace(seen)
    return seen


def _devices(program: Program) -> tuple[str, ...]:
    """The devices that a builder is meant for: those of the distribution's mesh, or of the slice that is planned for."""
    if is_distribution(program.strategy):
        return tuple(str(device) for device in program.strategy.device_mesh.devices.flatten())
    planned = program.target is not None and not program.target.live and program.target.generation
    return tuple(f"tpu:{index}" for index in range(program.target.replicas)) if planned and program.target is not None else ()


def _own_step(seen: Examined) -> bool:
    """Whether ``fit`` would run a ``train_step`` of the model's own class, one replica at a time; then that is what was traced."""
    adapter, model = seen.adapter, seen.model
    if adapter is None or seen.sample is None or not adapter.backend.replicated or not runs_own_step(seen):
        return False
    from .steps import trace_train_step

    declare(seen.evidence, adapter.doors(model), seen.recorder)
    if not trace_train_step(seen):
        return False
    seen.evidence.facts = {**_model_facts(seen), **seen.evidence.facts}
    return True


def _backend(adapter: Framework | None) -> str:
    return adapter.backend.name if adapter is not None else ""


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__name__}" if type(value).__module__ != "builtins" else type(value).__name__


def _guess(recorder: Recorder) -> Framework | None:
    for call in reversed(recorder.calls):
        for adapter in loaded():
            if adapter.name == call.framework:
                return adapter
    for obj in recorder.alive:
        found = adapter_for(obj)
        if found is not None:
            return found
    return next(iter(loaded()), None)


def _trace(seen: Examined) -> None:
    """A model that was built: run it on the sample, or draw what it declares where there is no data."""
    evidence, adapter, program = seen.evidence, seen.adapter, seen.program
    assert adapter is not None
    doors = adapter.doors(seen.model, left=seen.sample is None) if adapter.is_model(seen.model) else None
    if seen.sample is None:
        seen.sample = from_declared(adapter, seen.model, doors, program.batch_size)
        evidence.x = [(path, Spec(leaf.shape, leaf.dtype)) for path, leaf in flatten(seen.sample.x, "x")]
    step = not adapter.backend.replicated and runs_own_step(seen)
    traced = seen.run = run(
        adapter, seen.model, seen.sample, shape=shape_of(seen), training=program.training, loss=program.loss, recorder=seen.recorder, step=step
    )  # fmt: skip
    declare(evidence, doors, seen.recorder, traced.feeds)
    seen.error, evidence.failure, evidence.where = traced.error, traced.error, traced.where
    if traced.error is None:
        seen.recorder.forgive()
    assembler = Assembler(adapter.name, place_of(seen))
    feeder = front(seen, assembler)
    assembler.inputs(traced.x, traced.feeds, feeder)
    assembler.labels(traced.y + traced.weight, feeder)
    assembler.calls(adapter, seen.recorder, seen.model, door=evidence.declared is not None)
    output_names = list(getattr(seen.model, "output_names", None) or [])
    if traced.called:
        assembler.outputs(traced, output_names)
    evidence.outputs = [(path, port.spec) for path, port in traced.outputs]
    if traced.error is not None:
        if seen.recorder.failed is None or id(seen.recorder.failed) not in assembler.ids:
            entry_failed(assembler, traced, adapter, seen.recorder)
        not_reached(assembler, seen, output_names)
    evidence.flow, evidence.paths = assembler.flow, assembler.paths
    evidence.facts["places"] = assembler.places
    evidence.arguments, evidence.given = assembler.arguments, given_to(seen.recorder, assembler)
    seen.call_ids, seen.edge_ids = assembler.ids, assembler.edge_of
    if traced.error is not None:
        evidence.facts["door"] = open_door(adapter, seen.recorder, assembler, seen.model)
        _look_at_break(seen)
    elif adapter.is_model(seen.model) and (adapter.loss_weights(seen.model) is not None or (adapter.listed_losses(seen.model) or 0) > 1):
        evidence.facts["compile"] = compiled(adapter, seen.model, [path for path, _ in evidence.outputs])
    evidence.facts.update(_model_facts(seen))
    with contained(seen.limits, "which axes carry the batch"):
        evidence.facts["probe"] = probe(seen)
    with contained(seen.limits, "the trace with unknown sizes"):
        evidence.facts["opened"] = opened(seen)
    with contained(seen.limits, "the program of a replica"):
        evidence.facts["program"] = replica_program(seen)
    evidence.facts["anew"] = anew(seen.recorder)
    recorded(seen, traced)
    if adapter.is_model(seen.model) and adapter.backend.replicated:
        from ..replicas import scope_state

        evidence.facts["scope"] = scope_state(seen.model, program.strategy)


def _look_at_break(seen: Examined) -> None:
    """What a break asks to know: which axes of an operation's tensors carry the batch, and what compile was told."""
    evidence, adapter = seen.evidence, seen.adapter
    assert adapter is not None and seen.run is not None and seen.run.error is not None
    with_growth(seen)
    evidence.facts["added"] = [
        (seen.call_ids.get(id(call), "") if call is not None else "", str(getattr(layer, "name", "")), spec.shape, location(place))
        for call, layer, spec, place, _ in seen.recorder.added
    ]
    evidence.facts["claims"] = claims(seen)
    if evidence.where == "call" and (found := uncalled(adapter, seen.recorder, seen.run.error)) is not None:
        # The layer is made elsewhere: what raises is the line that hands it over.
        evidence.facts["uncalled"] = replace(found, line=None)
    evidence.facts["last"] = last_call(seen.recorder, evidence.flow, seen.call_ids, error_line(seen.run.error))
    if evidence.where in ("loss", "metric") and adapter.is_model(seen.model):
        evidence.facts["compile"] = compiled(adapter, seen.model, [path for path, _ in evidence.outputs])


def assemble_recorded(program: Program, recorder: Recorder, error: BaseException | None) -> Examined:
    """What was recorded without a model to show for it: a watched block, or the call that broke."""
    adapter = _guess(recorder)
    name = adapter.name if adapter is not None else "keras"
    evidence = Evidence(flow=Assembler(name).flow, framework=name, backend=_backend(adapter))
    seen = Examined(evidence, program, recorder, adapter, error=error)
    if error is not None:
        evidence.where, evidence.failure = "build", error
        assemble_broken(seen, error)
        return seen
    assembler = Assembler(name)
    for (source, _, _), shown in zip(recorder.inputs, door_names([source.name for source, _, _ in recorder.inputs]), strict=True):
        assembler.node(source, name=shown, kind="input", op="Input")
    if adapter is not None:
        assembler.calls(adapter, recorder)
    evidence.flow = assembler.flow
    return seen


def _model_facts(seen: Examined) -> dict[str, Any]:
    adapter, model, traced = seen.adapter, seen.model, seen.run
    facts: dict[str, Any] = {}
    if adapter is None or traced is None or not adapter.is_model(model):
        return facts
    compiled = adapter.compiled(model)
    facts["compiled"], facts["model_class"] = compiled, type(model).__name__
    crossed = crossed_names(type(model))
    facts["crossed_names"] = (*crossed[:3], location(crossed[3])) if crossed is not None else None
    facts["listed"] = adapter.listed_losses(model) if compiled else None
    facts["compares"] = compiled and adapter.has_loss(model)
    facts["overrides"] = [name for name in ("train_step", "compute_loss", "call") if adapter.overrides(model, name)]
    if "compute_loss" in facts["overrides"]:
        facts["own_loss"] = location(defined(type(model).compute_loss))
    if "train_step" in facts["overrides"]:
        facts["own_step"] = location(defined(type(model).train_step))
        facts["taped"] = taped_lines(type(model).train_step)
        # A Sequential of tf_keras that is not built has no weights to ask for.
        weighted = [layer.name for layer in model.layers if layer.built and layer.trainable_weights]
        facts["parts"] = weighted if len(weighted) > 1 else []
        code = getattr(type(model).train_step, "__code__", None)
        facts["step_data"] = code.co_varnames[1] if code is not None and code.co_argcount == 2 else ""
        facts["step_parts"], facts["misplaced"] = traced.parts, seen.recorder.misplaced
        facts["dropped"], facts["unread"] = seen.recorder.dropped, seen.recorder.unread
        facts["tracked"] = tracked(seen.recorder)
        facts["exchanged"] = location(seen.recorder.exchanged) if seen.recorder.exchanged is not None else None
        facts["order"] = seen.recorder.order
        partly = seen.recorder.partly
        facts["partly"] = (*partly[:4], location(partly[4])) if partly is not None else None
        derived = seen.recorder.derived
        facts["derived"] = (*derived[:2], location(derived[2])) if derived is not None else None
        beside = seen.recorder.beside
        facts["beside"] = (beside[0], location(beside[1])) if beside is not None else None
        bare = seen.sample is not None and seen.sample.y is None and not getattr(seen.sample, "alone", True) and hasattr(seen.sample.x, "shape")
        facts["first_row"] = (first_row(type(model).train_step), seen.sample.x.shape) if bare else None
    if compiled:
        facts["run_eagerly"] = bool(getattr(model, "run_eagerly", False))
        facts["jit_compile"] = getattr(model, "jit_compile", None) or getattr(model, "_jit_compile", None)
        optimizer = getattr(model, "optimizer", None)
        facts["optimizer"] = type(optimizer).__name__ if optimizer is not None else ""
        method = getattr(seen.program.handed, "method", "")
        steps = getattr(optimizer, "iterations", None)
        only_read = method in FITTING - {"fit", "train_on_batch"} and steps is not None and int(steps) > 0
        facts["learned"] = [tuple(one.shape) for one in model.weights] if only_read else []
        facts["built_for"], facts["trained"] = adapter.built_for(model), len(adapter.trained(model))
    facts["reached_loss"] = traced.reached_loss
    facts["has_loss"] = traced.has_loss
    policy = getattr(model, "dtype_policy", None)
    facts["policy"] = str(getattr(policy, "name", ""))
    return facts
