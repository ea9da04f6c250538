"""One look at a program: build it, sample its data, trace it, assemble the flow and gather the evidence.

Looking twice (a fix that is tried, a second batch size) is calling :func:`examine` again; it keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .flow import CannotRebuild, Location, Shape, Spec, Target
from .probe import probe
from .program import program as replica_program
from .rules.evidence import Evidence
from .trace.adapter import Adapter, adapter_for, loaded
from .trace.assemble import Assembler, clean_message, failure
from .trace.build import build
from .trace.locations import is_user_file, location
from .trace.recorder import Recorder
from .trace.remainder import not_reached
from .trace.run import Leaf, Run, leaves, run

Progress = Callable[[str], None]


class BadProgram(ValueError):
    """What was handed over cannot be traced; the message is one sentence that says what to hand over."""


@dataclass
class Program:
    """What to trace, and how. ``model`` and ``data`` may be callables that make them."""

    model: Any
    data: Any = None
    target: Target | None = None
    strategy: Any = None
    batch_size: int | None = None
    loss: Any = None
    training: bool = True
    batches: int = 3
    progress: Progress | None = None
    edits: Any = None
    # A sample taken before, where the data is the same: nothing is drawn a second time.
    sample: Any = None

    def with_(self, **changes: Any) -> Program:
        return replace(self, **changes)


@dataclass
class Examined:
    """One look: evidence for the rules, and the live objects for repair."""

    evidence: Evidence
    program: Program
    recorder: Recorder
    adapter: Adapter | None = None
    model: Any = None
    data: Any = None
    sample: Any = None
    run: Run | None = None
    error: BaseException | None = None
    limits: list[str] = field(default_factory=list)
    call_ids: dict[int, str] = field(default_factory=dict)
    edge_ids: dict[tuple[int, int], str] = field(default_factory=dict)


def examine(program: Program) -> Examined:
    """Looks at a program once. Exceptions of the user's code end up in the evidence."""
    recorder = Recorder()
    recorder.edits = program.edits
    model, data, error, where = program.model, program.data, None, ""
    adapter = adapter_for(model)
    if adapter is None and not callable(model):
        raise BadProgram(
            f"Expected a Keras model, a layer, or a function that builds one, and got {_kind(model)}: "
            "type trace(model, data), or trace(build, data) with a function build()."
        )
    if adapter is None:
        model, error = build(program.model, recorder)
        if isinstance(error, CannotRebuild):
            raise error
        if error is None:
            recorder.drop_calls()
        where = "build" if error is not None else ""
        adapter = adapter_for(model) if error is None else _guess(recorder)
        if error is None and adapter is not None and program.edits is not None:
            model = program.edits.finish(adapter, recorder, model)
        if error is None and adapter is None:
            raise BadProgram(f"The builder returned {_kind(model)} where a Keras model was expected: let it end with `return model`.")
    data_error: BaseException | None = None
    if _is_builder(data):
        try:
            data = data()
        except Exception as raised:
            data_error, data = raised, None
    if program.edits is not None and data_error is None:
        data = program.edits.data(data)
    framework = adapter.name if adapter is not None else "keras"
    evidence = Evidence(flow=Assembler(framework).flow, target=program.target, framework=framework)
    seen = Examined(evidence, program, recorder, adapter, model, data, error=error)
    if data_error is not None:
        _data_failed(seen, data_error)
        return seen
    _sample(seen, framework)
    if error is not None:
        evidence.where, evidence.failure = where, error
        _assemble_broken(seen, error)
    else:
        _trace(seen)
    return seen


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__name__}" if type(value).__module__ != "builtins" else type(value).__name__


def _is_builder(data: Any) -> bool:
    """A zero-argument callable that gives data, and not data that happens to be callable."""
    return callable(data) and not hasattr(data, "element_spec") and not hasattr(data, "__getitem__") and not hasattr(data, "__next__")


def _guess(recorder: Recorder) -> Adapter | None:
    for call in reversed(recorder.calls):
        for adapter in loaded():
            if adapter.name == call.framework:
                return adapter
    for obj in recorder.alive:
        found = adapter_for(obj)
        if found is not None:
            return found
    return next(iter(loaded()), None)


def _sample(seen: Examined, framework: str) -> None:
    """Samples the data and plans its split over the replicas."""
    from . import replicas, sources

    program, evidence = seen.program, seen.evidence
    if seen.data is None:
        return
    seen.sample = evidence.sample = program.sample or sources.sample(
        seen.data, framework=framework, batch_size=program.batch_size, batches=program.batches, progress=program.progress
    )
    if program.target is not None:
        evidence.split = replicas.plan(seen.sample, program.target, strategy=program.strategy, dataset=seen.data)
    sample = seen.sample
    for role in ("x", "y", "weight"):
        _, found = leaves(getattr(sample, role), shape_of(seen), role, role)
        setattr(evidence, role, [(leaf.path, leaf.spec) for leaf in found])


def shape_of(seen: Examined) -> Callable[[Any], Shape | None]:
    """What the first replica gets of a leaf: its concrete shape, the batch axis divided by the split."""
    split = seen.evidence.split

    def shape(leaf: Any) -> Shape | None:
        concrete: Shape | None = leaf.concrete if leaf.concrete is not None else leaf.shape
        if split is None or not concrete or concrete[0] is None:
            return concrete
        return (split.rows(concrete[0])[0], *concrete[1:])

    return shape


def _place(seen: Examined) -> Callable[[Shape | None], tuple[Any, ...]]:
    """Every replica's index, device and shape of a tensor whose batch axis is the replica's."""
    split = seen.evidence.split
    if split is None:
        return lambda _: ()
    batch = next((spec.shape[0] for _, spec in seen.evidence.x if spec.shape), None)
    rows = split.rows(_global_batch(seen))
    devices = split.devices

    def place(shape: Shape | None) -> tuple[Any, ...]:
        held = []
        for index, device in enumerate(devices):
            mine = shape
            if shape and batch is not None and shape[0] == batch and index < len(rows):
                mine = (rows[index], *shape[1:])
            held.append((index, device, mine))
        return tuple(held)

    return place


def _global_batch(seen: Examined) -> int:
    _, found = leaves(seen.sample.x, lambda leaf: leaf.concrete if leaf.concrete is not None else leaf.shape, "x", "x")
    return next((leaf.spec.shape[0] or 0 for leaf in found if leaf.spec.shape), 0)


def _front(seen: Examined, assembler: Assembler) -> str | None:
    """Stages and the split; returns the node that feeds the inputs."""
    sample, evidence = seen.sample, seen.evidence
    if sample is None:
        return None
    feeder: str | None = None
    made: dict[str, tuple[str, Any]] = {}
    for stage in sample.stages:
        node = assembler.node(
            None, name=stage.name, kind="stage", op=stage.op, config=dict(stage.detail), location=_line_of(stage),
            note=getattr(stage, "function", "") or "",
        )  # fmt: skip
        for name in stage.inputs:
            if name in made:
                source, before = made[name]
                for path, leaf in _stage_specs(before):
                    assembler.edge(source, node.id, Spec(leaf.shape, leaf.dtype, leaf.kind), label=path, placed=False)
        made[stage.name] = (node.id, stage)
        feeder = node.id
    if evidence.split is not None and evidence.target is not None:
        target = evidence.target
        node = assembler.node(None, name=f"split over {target.replicas}", kind="split", op="split", config=evidence.split.describe())
        batch = _global_batch(seen)
        held = evidence.split.rows(batch)
        even = len(set(held)) == 1
        node.note = f"{batch} rows ÷ {target.replicas} replicas = {f'{held[0]} each' if even else ', '.join(map(str, held[:16]))}"
        for role, label in (("x", ""), ("y", "labels"), ("weight", "weights")):
            _, found = leaves(getattr(sample, role), lambda leaf: leaf.shape, role, role)
            for leaf in found:
                if feeder is not None:
                    assembler.edge(
                        feeder, node.id, leaf.spec, key=id(leaf), label=label or (leaf.path if len(found) > 1 else ""), placed=False
                    )
        feeder = node.id
    return feeder


def _line_of(stage: Any) -> Location | None:
    """Where a stage's function is written, with its text and its notebook cell."""
    made = getattr(stage, "location", None)
    return None if made is None else location((made.file, made.line))


def _stage_specs(stage: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []

    def walk(value: Any, path: str) -> None:
        if value is None:
            return
        if isinstance(value, dict):
            for key in value:
                walk(value[key], str(key))
        elif isinstance(value, (list, tuple)) and not hasattr(value, "dtype"):
            for i, item in enumerate(value):
                walk(item, f"{path}[{i}]" if path else str(i))
        else:
            found.append((path, value))

    walk(stage.spec, "")
    return found


def _trace(seen: Examined) -> None:
    """A model that was built: run it on the sample, or draw what it declares where there is no data."""
    evidence, adapter, program = seen.evidence, seen.adapter, seen.program
    assert adapter is not None
    evidence.declared = adapter.declared(seen.model) if adapter.is_model(seen.model) else None
    evidence.structure = adapter.structure(seen.model) if adapter.is_model(seen.model) else None
    if seen.sample is None:
        seen.sample = _from_declared(seen)
        for path, leaf in _stage_specs(_Holder(seen.sample.x)):
            evidence.x.append((path or "x", Spec(leaf.shape, leaf.dtype)))
    traced = seen.run = run(
        adapter, seen.model, seen.sample, shape=shape_of(seen), training=program.training, loss=program.loss, recorder=seen.recorder
    )
    seen.error, evidence.failure, evidence.where = traced.error, traced.error, traced.where
    assembler = Assembler(adapter.name, _place(seen))
    feeder = _front(seen, assembler)
    names = [name for name, _ in evidence.declared or []]
    assembler.inputs(traced.x, names if len(names) == len(traced.x) else [], feeder)
    assembler.labels(traced.y + traced.weight, feeder)
    assembler.calls(adapter, seen.recorder, seen.model, door=evidence.declared is not None)
    output_names = list(getattr(seen.model, "output_names", None) or [])
    if traced.called:
        assembler.outputs(traced, output_names)
    evidence.outputs = [(path, port.spec) for path, port in traced.outputs]
    if traced.error is not None:
        if seen.recorder.failed is None or id(seen.recorder.failed) not in assembler.ids:
            _entry_failed(assembler, traced)
        not_reached(assembler, seen, output_names)
    evidence.flow = assembler.flow
    evidence.facts.update(_model_facts(seen))
    seen.call_ids, seen.edge_ids = assembler.ids, assembler.edge_of
    evidence.facts["probe"] = probe(seen)
    evidence.facts["program"] = replica_program(seen)
    if adapter.is_model(seen.model):
        from .replicas import scope_state

        evidence.facts["scope"] = scope_state(seen.model, program.strategy)


@dataclass
class _Holder:
    spec: Any


@dataclass
class _DeclaredSample:
    """Stands in for data where none was given: what the model itself declares."""

    x: Any
    y: Any = None
    weight: Any = None
    stages: tuple[Any, ...] = ()
    batch: int | None = None
    problems: tuple[Any, ...] = ()
    notes: tuple[Any, ...] = ()


@dataclass
class _DeclaredLeaf:
    shape: Shape
    dtype: str
    kind: str = "dense"
    concrete: Any = None


def _from_declared(seen: Examined) -> Any:
    declared = seen.evidence.declared
    if not declared:
        raise BadProgram(
            "This model declares no input, so a trace needs data or specs: type trace(model, (x, y)), or trace(model, tf.TensorSpec((32, 10)))."
        )
    batch = seen.program.batch_size or 32
    found = {
        name: _DeclaredLeaf((batch if spec.shape[0] is None else spec.shape[0], *spec.shape[1:]), spec.dtype, spec.kind)
        for name, spec in declared
        if spec.shape
    }
    structure = seen.evidence.structure
    if structure is None or isinstance(structure, str):
        return _DeclaredSample(next(iter(found.values())))

    def nest(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: nest(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [nest(item) for item in value]
        return found[value]

    return _DeclaredSample(nest(structure))


def _entry_failed(assembler: Assembler, traced: Run) -> None:
    """The model refused its inputs before any layer ran."""
    first = next((node for node in assembler.flow.nodes if node.kind == "input"), None)
    if first is None or traced.error is None:
        return
    first.status = "failed"
    first.failure = failure(traced.error, "call")
    for edge in assembler.flow.edges:
        if edge.target == first.id:
            edge.status = "failed"


def _assemble_broken(seen: Examined, error: BaseException) -> None:
    """A builder that raised: what was built, the break, and what was not reached."""
    adapter, recorder, evidence = seen.adapter, seen.recorder, seen.evidence
    name = adapter.name if adapter is not None else ""
    assembler = Assembler(name, _place(seen) if seen.sample is not None else None)
    feeder = _front(seen, assembler)
    inputs = _upstream_inputs(recorder)
    evidence.declared = [(source.name, spec) for source, spec in inputs] or None
    doors = [Leaf(source.name, spec, source) for source, spec in inputs]
    for leaf, (_, spec) in zip(doors, evidence.x or [(leaf.path, leaf.spec) for leaf in doors], strict=False):
        node = assembler.node(leaf.source, name=leaf.path, kind="input", op="Input", role="x")
        if feeder is not None:
            assembler.edge(feeder, node.id, spec, key=id(leaf))
    if adapter is not None:
        assembler.calls(adapter, recorder)
    if not assembler.flow.failed():
        where = error_line(error)
        node = assembler.node(None, name="builder", kind="layer", op="builder", status="failed", location=where)
        node.failure = failure(error, "build")
    for node in assembler.flow.nodes:
        if node.failure is not None and node.failure.where == "call":
            node.failure = failure(error, "build", node.failure.inner)
    not_reached(assembler, seen, [])
    evidence.flow = assembler.flow
    evidence.facts["message"] = clean_message(error)


def assemble_recorded(program: Program, recorder: Recorder, error: BaseException | None) -> Examined:
    """What was recorded without a model to show for it: a watched block, or the call that broke."""
    adapter = _guess(recorder)
    name = adapter.name if adapter is not None else "keras"
    evidence = Evidence(flow=Assembler(name).flow, framework=name)
    seen = Examined(evidence, program, recorder, adapter, error=error)
    if error is not None:
        evidence.where, evidence.failure = "build", error
        _assemble_broken(seen, error)
        return seen
    assembler = Assembler(name)
    for source, _, _ in recorder.inputs:
        assembler.node(source, name=source.name, kind="input", op="Input", role="x")
    if adapter is not None:
        assembler.calls(adapter, recorder)
    evidence.flow = assembler.flow
    return seen


def _upstream_inputs(recorder: Recorder) -> list[tuple[Any, Spec]]:
    """The declared inputs that lead to the break; all of them where that is not known."""
    every = [(source, spec) for source, _, spec in recorder.inputs]
    seen: set[int] = set()
    pending: list[Any] = [recorder.failed] if recorder.failed is not None else []
    while pending:
        call = pending.pop()
        if call is None or id(call) in seen:
            continue
        seen.add(id(call))
        pending.extend(port.producer for port in getattr(call, "inputs", ()))
    return [pair for pair in every if id(pair[0]) in seen] or every


def _data_failed(seen: Examined, error: BaseException) -> None:
    """The data code raised: a failed source, and the model as declared behind it."""
    adapter = seen.adapter
    assembler = Assembler(adapter.name if adapter is not None else "")
    node = assembler.node(None, name="data", kind="stage", op="python", status="failed", location=error_line(error))
    node.failure = failure(error, "data")
    seen.evidence.where, seen.evidence.failure, seen.error = "data", error, error
    if adapter is not None and seen.model is not None:
        seen.evidence.declared = adapter.declared(seen.model) if adapter.is_model(seen.model) else None
    not_reached(assembler, seen, [])
    seen.evidence.flow = assembler.flow


def error_line(error: BaseException) -> Location | None:
    """The innermost line of the user's own source in an exception's traceback."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        if is_user_file(trace.tb_frame.f_code.co_filename):
            found = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return location(found)


def _model_facts(seen: Examined) -> dict[str, Any]:
    adapter, model, traced = seen.adapter, seen.model, seen.run
    facts: dict[str, Any] = {}
    if adapter is None or traced is None or not adapter.is_model(model):
        return facts
    compiled = adapter.compiled(model)
    facts["compiled"] = compiled
    facts["overrides"] = [name for name in ("train_step", "compute_loss", "call") if adapter.overrides(model, name)]
    if compiled:
        facts["run_eagerly"] = bool(getattr(model, "run_eagerly", False))
        facts["jit_compile"] = getattr(model, "jit_compile", None) or getattr(model, "_jit_compile", None)
        optimizer = getattr(model, "optimizer", None)
        facts["optimizer"] = type(optimizer).__name__ if optimizer is not None else ""
    facts["reached_loss"] = traced.reached_loss
    facts["has_loss"] = traced.has_loss
    policy = getattr(model, "dtype_policy", None)
    facts["policy"] = str(getattr(policy, "name", ""))
    return facts
