"""Running a live model symbolically on one replica's specs, down to the loss and the metrics."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..flow import Spec
from .backend import Graph
from .declared import Unsettled, declared
from .framework import Framework
from .patience import ENDS, limited
from .recorder import Call, Port, Recorder, Source, recording
from .restore import left_as_found


@dataclass
class Leaf:
    """One tensor of the data at the model's door: its path in the nesting, and what one replica gets."""

    path: str
    spec: Spec
    source: Source


@dataclass
class Run:
    """What a trace recorded, before it becomes a flow."""

    recorder: Recorder
    adapter: Framework
    model: Any
    x: list[Leaf] = field(default_factory=list)
    y: list[Leaf] = field(default_factory=list)
    weight: list[Leaf] = field(default_factory=list)
    outputs: list[tuple[str, Port]] = field(default_factory=list)
    error: BaseException | None = None
    where: str = ""
    fast: bool = False
    graph: Any = None
    reached_loss: bool = False
    has_loss: bool = False
    called: bool = False


def leaves(structure: Any, shape: Callable[[Any], Any], role: str, root: str) -> tuple[Any, list[Leaf]]:
    """The structure with a :class:`Leaf` at each leaf, and those leaves in a row."""
    found: list[Leaf] = []

    def walk(value: Any, path: str) -> Any:
        if value is None:
            return None
        if isinstance(value, dict):
            return {key: walk(value[key], str(key)) for key in value}
        if isinstance(value, (list, tuple)):
            kind = list if isinstance(value, list) else tuple
            return kind(walk(item, f"{path}[{i}]") for i, item in enumerate(value))
        leaf = Leaf(path, Spec(shape(value), value.dtype, getattr(value, "kind", "dense")), Source(path, role))
        found.append(leaf)
        return leaf

    return walk(structure, root), found


def map_structure(structure: Any, change: Callable[[Any], Any]) -> Any:
    """The structure with ``change`` applied to each leaf; ``None`` stays ``None``."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {key: map_structure(value, change) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure)(map_structure(value, change) for value in structure)
    return change(structure)


def run(
    adapter: Framework,
    model: Any,
    sample: Any,
    *,
    shape: Callable[[Any], Any],
    training: bool = True,
    loss: Any = None,
    recorder: Recorder | None = None,
    fast: bool = True,
) -> Run:
    """Traces ``model`` on ``sample`` with per-replica shapes given by ``shape(leaf)``.

    Nothing is computed and nothing of the model is changed; an exception of the user's program ends
    up in ``Run.error`` with the phase in ``Run.where``.
    """
    recorder = recorder or Recorder()
    run = Run(recorder, adapter, model)
    x, run.x = leaves(sample.x, shape, "x", "x")
    y, run.y = leaves(sample.y, shape, "labels", "y")
    weight, run.weight = leaves(sample.weight, shape, "weights", "sample_weight")
    run.has_loss = y is not None and (loss is not None or (adapter.is_model(model) and adapter.compiled(model) and adapter.has_loss(model)))
    roots = [model]
    recorder.fresh = not getattr(model, "built", True)
    y_pred: Any = _UNKNOWN
    if fast and adapter.is_model(model) and not adapter.overrides(model, "call"):
        mark = len(recorder.calls)
        try:
            y_pred = declared(adapter, model, recorder, [(leaf.spec, leaf.source) for leaf in _in_order(adapter, model, sample.x, run.x)])
            run.fast = run.called = True
            run.outputs = [(path, Port(spec, producer)) for path, (spec, producer) in _paths(y_pred)]
        except Unsettled:
            del recorder.calls[mark:]
    if run.fast and not run.has_loss:
        return run
    if run.fast:
        roots = _loss_roots(model)
    with left_as_found([adapter], roots), recording(recorder):
        _trace(run, model, x, y, weight, y_pred, training, loss)
    return run


def _in_order(adapter: Framework, model: Any, x: Any, found: list[Leaf]) -> list[Leaf]:
    """Leaves in the order of the declared inputs: a dict is matched by name, whatever its own order.

    Raises:
        Unsettled: where the names are not the declared ones, so that only Keras can say what it does.
    """
    if not isinstance(x, dict):
        return found
    by_name = {leaf.path: leaf for leaf in found}
    names = [name for name, _ in adapter.declared(model) or []]
    if set(names) != set(by_name) or len(names) != len(found):
        raise Unsettled
    return [by_name[name] for name in names]


_UNKNOWN = object()


def _loss_roots(model: Any) -> list[Any]:
    """What a loss and the metrics can change, when the layers themselves are not called."""
    names = ("_compile_loss", "_compile_metrics", "_loss_tracker", "compiled_loss", "compiled_metrics")
    return [vars(model)[name] for name in names if name in vars(model)]


def _trace(run: Run, *program: Any) -> None:
    with run.adapter.scope():
        run.adapter.backend.trace(run.recorder, run.adapter, lambda graph: _inside(run, graph, *program))


def _inside(run: Run, graph: Graph, model: Any, x: Any, y: Any, weight: Any, y_pred: Any, training: bool, loss: Any) -> None:
    """The program, from its placeholders to the metrics, inside the graph of the trace."""
    adapter, recorder = run.adapter, run.recorder
    run.graph = recorder.graph = graph
    recorder.walk = _entry(run)

    def feed(leaf: Leaf) -> Any:
        tensor = graph.placeholder(leaf.spec, leaf.path)
        recorder.produce(adapter.key(tensor), leaf.source, tensor)
        return tensor

    x_tensors, y_tensors, w_tensors = map_structure(x, feed), map_structure(y, feed), map_structure(weight, feed)
    if y_pred is _UNKNOWN:
        try:
            with limited("The model's call"):
                y_pred = adapter.call_model(model, x_tensors, training)
        except ENDS as error:
            adapter.backend.explain(recorder, adapter, error)
            run.error, run.where = error, "call"
            return
        run.called = True
        run.outputs = [(path, recorder.port(adapter, tensor)) for path, tensor in _paths(y_pred) if adapter.is_tensor(tensor)]
    else:

        def stand_in(made: tuple[Spec, Any]) -> Any:
            spec, producer = made
            tensor = graph.placeholder(spec, "y_pred")
            recorder.produce(adapter.key(tensor), producer, tensor)
            return tensor

        y_pred = _map_pairs(y_pred, stand_in)
    if not run.has_loss:
        return
    _loss(run, model, x_tensors, y_tensors, y_pred, w_tensors, loss)


def _entry(run: Run) -> Callable[[Any, Any], Any]:
    """An input that a model declares for itself while it builds inside the trace stands for the data's."""

    def find(tensor: Any, _: Any) -> Any:
        made = run.adapter.origin(tensor) if run.adapter.is_symbolic(tensor) else None
        if made is None or not isinstance(made[0], run.adapter.InputLayer) or len(run.x) != 1:
            return None
        return run.x[0].source

    return find


def _loss(run: Run, model: Any, x: Any, y: Any, y_pred: Any, weight: Any, loss: Any) -> None:
    adapter, recorder = run.adapter, run.recorder
    try:
        with limited("The loss"):
            if loss is not None:
                adapter.compile_loss(loss, model)(y, y_pred, weight)
            else:
                adapter.compute_loss(model, x, y, y_pred, weight)
        run.reached_loss = True
    except ENDS as error:
        adapter.backend.explain(recorder, adapter, error)
        run.error, run.where = error, "loss"
        if recorder.failed is None:
            recorder.failed = _end(run, "loss", "loss", "compile", error, y, y_pred)
        return
    if loss is None:
        _metrics(run, model, y, y_pred, weight)


def _metrics(run: Run, model: Any, y: Any, y_pred: Any, weight: Any) -> None:
    adapter, recorder = run.adapter, run.recorder
    try:
        metrics = adapter.metric_objects(model, y, y_pred)
        for metric in metrics:
            vars(metric)["update_state"] = _watched(adapter, recorder, metric, type(metric).update_state)
        if metrics:
            with limited("A metric"):
                adapter.update_metrics(model, y, y_pred, weight)
    except ENDS as error:
        adapter.backend.explain(recorder, adapter, error)
        run.error, run.where = error, "metric"
        if recorder.failed is None:
            recorder.failed = _end(run, "metric", "metrics", "compile", error, y, y_pred)


def _watched(adapter: Framework, recorder: Recorder, metric: Any, original: Any) -> Any:
    def update_state(y_true: Any, y_pred: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
        pairs = [("labels", y_true), ("predictions", y_pred), ("weights", sample_weight)]
        tensors = [(label, tensor) for label, value in pairs for _, tensor in adapter.tensors_of((value,), {})]
        call = recorder.enter(adapter, "metric", metric, adapter.metric_name(metric), str(metric.name), True, tensors)
        try:
            result = original(metric, y_true, y_pred, sample_weight=sample_weight, **kwargs)
        except BaseException as error:
            recorder.fail(call, error)
            raise
        recorder.leave(adapter, call, [])
        return result

    return update_state


def _end(run: Run, kind: str, name: str, op: str, error: BaseException, y: Any, y_pred: Any) -> Call:
    """A node for a failure before any single loss or metric was reached: the structures do not match."""
    adapter, recorder = run.adapter, run.recorder
    pairs = [("labels", y), ("predictions", y_pred)]
    call = Call(len(recorder.calls), kind, name, op, framework=adapter.name)
    call.inputs = [recorder.port(adapter, tensor, label) for label, value in pairs for _, tensor in adapter.tensors_of((value,), {})]
    call.failure = error
    recorder.calls.append(call)
    return call


def _paths(structure: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(structure, dict):
        return [pair for key, value in structure.items() for pair in _paths(value, str(key))]
    if isinstance(structure, list) or (isinstance(structure, tuple) and not _is_pair(structure)):
        return [pair for i, value in enumerate(structure) for pair in _paths(value, f"{path}[{i}]")]
    return [] if structure is None else [(path, structure)]


def _is_pair(value: tuple[Any, ...]) -> bool:
    return len(value) == 2 and isinstance(value[0], Spec)


def _map_pairs(structure: Any, change: Callable[[tuple[Spec, Any]], Any]) -> Any:
    if isinstance(structure, dict):
        return {key: _map_pairs(value, change) for key, value in structure.items()}
    if isinstance(structure, list):
        return [_map_pairs(value, change) for value in structure]
    return change(structure)


@contextlib.contextmanager
def muted(recorder: Recorder) -> Any:
    """Nothing inside is recorded."""
    recorder.muted += 1
    try:
        yield
    finally:
        recorder.muted -= 1
