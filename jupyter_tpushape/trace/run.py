"""Running a live model symbolically on one replica's specs, down to the loss and the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from ..flow.paths import flatten, map_leaves, tupled
from .anew import made_anew
from .backend import Graph
from .declared import Made, Unsettled, declared
from .framework import Framework
from .frozen import frozen
from .inside import look_inside
from .kept import Generators, kept, transforms
from .patience import ENDS, limited
from .ran import Leaf, Run, leaves
from .recorder import Call, Port, Recorder, recording, unmasked
from .restore import left_as_found, uncollected
from .tracked import metered, tracked
from .unknown import between, filled, is_open, ports, reopened, same_way
from .unused import around, unused
from .update import updated, updates


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
    step: bool = False,
) -> Run:
    """Traces ``model`` on ``sample`` with per-replica shapes given by ``shape(leaf)``.

    Nothing is computed and nothing of the model is changed; an exception of the user's program ends
    up in ``Run.error`` with the phase in ``Run.where``. With ``step`` the program is the model's own ``train_step``, a function of its state.
    """
    recorder = recorder or Recorder()

    def once(sizes: Callable[[Any], Any], recorder: Recorder) -> Run:
        with uncollected():
            return _once(adapter, model, sample, shape=sizes, training=training, loss=loss, recorder=recorder, fast=fast, step=step)

    every = [leaf for part in (sample.x, sample.y, sample.weight) for _, leaf in flatten(part)]
    if adapter.backend.open_axes or not any(is_open(shape(leaf)) for leaf in every):
        return once(shape, recorder)

    def turn(second: bool) -> Callable[[Any], Any]:
        return lambda leaf: shape(leaf) if shape(leaf) is None else filled(shape(leaf), second)

    again = Recorder()
    first, second = once(turn(False), recorder), once(turn(True), again)
    for left, right in zip((*first.x, *first.y, *first.weight), (*second.x, *second.y, *second.weight), strict=True):
        left.spec = between(left.spec, right.spec)
    if same_way(recorder.calls, again.calls):
        reopened(ports(recorder.calls), ports(again.calls))
        reopened([port for _, port in first.outputs], [port for _, port in second.outputs])
    return first


def _once(
    adapter: Framework, model: Any, sample: Any, *, shape: Callable[[Any], Any], training: bool, loss: Any, recorder: Recorder, fast: bool, step: bool
) -> Run:
    run = Run(recorder, adapter, model, step=step)
    x, run.x = leaves(sample.x, shape, "x")
    y, run.y = leaves(sample.y, shape, "y")
    weight, run.weight = leaves(sample.weight, shape, "weight")
    if adapter.backend.tuples:
        x, y, weight = tupled(x), tupled(y), tupled(weight)
    for leaf in (*run.x, *run.y, *run.weight):
        leaf.spec = msgspec.structs.replace(leaf.spec, dtype=adapter.backend.dtype(leaf.spec.dtype))
    run.doors = adapter.doors(model) if adapter.is_model(model) else None
    run.feeds = adapter.feeds(model, run.doors, x) if run.doors is not None else None
    # Labels that no tensor holds reach no loss: what the model makes of its inputs is known all the same.
    run.told = told = adapter.backend.text or not any(leaf.spec.dtype == "string" for leaf in run.y)
    compiled = adapter.is_model(model) and adapter.compiled(model)
    run.has_loss = told and (
        (y is not None and (loss is not None or (compiled and adapter.has_loss(model))))
        # A model's own loss is asked for whether compile was given one or not, and labels may be no part of it.
        or (compiled and training and loss is None and adapter.overrides(model, "compute_loss"))
    )
    roots = [model]
    recorder.fresh = not getattr(model, "built", True)
    y_pred = _UNKNOWN
    if fast and not step and run.feeds is not None and run.feeds.settled and not adapter.overrides(model, "call"):
        mark = len(recorder.calls)
        try:
            y_pred = declared(adapter, model, recorder, [(door, Made(leaf.spec, leaf.source)) for door, leaf in run.feeds.pairs], training=training)
            run.fast = run.called = True
            run.outputs = [(path, Port(made.spec, made.producer)) for path, made in flatten(y_pred, "output")]
        except Unsettled:
            del recorder.calls[mark:]
    if run.fast and not run.has_loss:
        return run
    if run.fast:
        roots = _loss_roots(adapter, model)
    with left_as_found([adapter], roots) as before, recording(recorder):
        adapter.begin(model)
        run.step = step and _built(run, model, (x, y, weight))
        if run.step:
            run.has_loss = True
            _trace(run, _step, model, sample.handed, x, y, weight)
        else:
            _trace(run, _call, model, x, y, weight, y_pred, training, loss)
        if run.error is None:
            recorder.kept = kept(adapter, before, recorder, None if run.step else model)
        else:
            look_inside(adapter, recorder)
    return run


_UNKNOWN = object()


def _loss_roots(adapter: Framework, model: Any) -> list[Any]:
    """What a loss, the optimizer and the metrics can change, when the layers themselves are not called."""
    names = ("_compile_loss", "_compile_metrics", "_loss_tracker", "compiled_loss", "compiled_metrics")
    held = [vars(model)[name] for name in names if name in vars(model)]
    return [*held, model.optimizer] if updates(adapter, model) else held


def _trace(run: Run, program: Callable[..., None], *arguments: Any) -> None:
    adapter, recorder = run.adapter, run.recorder

    def body(graph: Graph) -> None:
        run.graph = recorder.graph = graph
        graph.ends = []
        recorder.walk = _entry(run)
        try:
            program(run, *arguments)
        except ENDS as error:
            adapter.backend.explain(recorder, adapter, error)
            run.error, run.where = unmasked(error), "call"

    recorder.afresh = not adapter.backend.replicated and transforms(_objects(run.model))
    with adapter.scope():
        adapter.backend.trace(recorder, adapter, body, adapter.variables(run.model))


def _fed(run: Run, nest: Any) -> Any:

    def feed(leaf: Leaf) -> Any:
        tensor = run.graph.placeholder(leaf.spec, leaf.name)
        run.recorder.produce(run.adapter.key(tensor), leaf.source, tensor)
        run.fed[leaf.path] = tensor
        return tensor

    return map_leaves(feed, nest)


def _built(run: Run, model: Any, batch: tuple[Any, ...]) -> bool:
    """Builds what a training step finds built; a model that cannot be built says why in its call."""
    recorder = run.recorder
    recorder.hollow = True
    try:
        with recorder.unrecorded(), limited("Building the model"):
            run.adapter.build_step(model, *(map_leaves(lambda leaf: leaf.spec, nest) for nest in batch))
    except ENDS:
        return False
    finally:
        recorder.hollow = False
    return True


def _step(run: Run, model: Any, handed: Callable[..., Any], x: Any, y: Any, weight: Any) -> None:
    adapter, recorder, generators = run.adapter, run.recorder, _generators(run, model)
    batch = handed(*(_fed(run, nest) for nest in (x, y, weight)))
    with limited("The training step"), metered(adapter, adapter.comparing_metrics(model), recorder), tracked(adapter, model, recorder):
        parts = adapter.train_step(model, batch)
    with recorder.unrecorded():
        recorder.host_drawn = generators.drawn(lambda: adapter.train_step(model, batch))
    run.parts = -1 if parts is None else parts
    run.called = run.reached_loss = True


def _call(run: Run, model: Any, x: Any, y: Any, weight: Any, y_pred: Any, training: bool, loss: Any) -> None:
    adapter, recorder = run.adapter, run.recorder
    x_tensors = _fed(run, x)
    # Without a loss no labels are needed, and no tensor of this backend may hold them.
    y_tensors, w_tensors = (_fed(run, y), _fed(run, weight)) if run.told else (None, None)
    if y_pred is _UNKNOWN:
        recorder.metered, generators = _metered(model), _generators(run, model)
        known = recorder.metered
        with limited("The call of the model"):
            y_pred = adapter.call_model(model, x_tensors, training)
        if _metered(model).keys() > known.keys():
            # Metrics that the call has built are known only now.
            recorder.metered = _metered(model)
            with recorder.unrecorded():
                adapter.call_model(model, x_tensors, training)
        recorder.metered = {}
        recorder.anew = made_anew(recorder, lambda: adapter.call_model(model, x_tensors, training))
        with recorder.unrecorded():
            recorder.host_drawn = generators.drawn(lambda: adapter.call_model(model, x_tensors, training))
        run.called = True
        tensors = [(path, tensor) for path, tensor in flatten(y_pred, "output") if adapter.is_tensor(tensor)]
        run.outputs = [(path, recorder.port(adapter, tensor)) for path, tensor in tensors]
        run.graph.ends = [tensor for _, tensor in tensors]
    else:

        def stand_in(made: Made) -> Any:
            tensor = run.graph.placeholder(made.spec, "y_pred")
            recorder.produce(adapter.key(tensor), made.producer, tensor)
            recorder.weights.add(adapter.key(tensor))
            return tensor

        y_pred = adapter.map_structure(stand_in, y_pred)
    if not run.has_loss:
        return
    _loss(run, model, x_tensors, y_tensors, y_pred, w_tensors, loss, training)


def _generators(run: Run, model: Any) -> Generators:
    # Where a replica is what is traced, nothing reports them.
    return Generators([] if run.adapter.backend.replicated else _objects(model))


def _objects(model: Any) -> list[Any]:
    return [model, *getattr(model, "_flatten_layers", lambda **_: ())(include_self=False)]


def _metered(model: Any) -> dict[int, str]:
    return {id(one): str(metric.name) for metric in getattr(model, "metrics", ()) for one in metric.variables}


def _entry(run: Run) -> Callable[[Any, Any], Any]:
    """An input that a model declares for itself while it builds inside the trace stands for the data's."""

    def find(tensor: Any, _: Any) -> Any:
        made = run.adapter.origin(tensor) if run.adapter.is_symbolic(tensor) else None
        if made is None or not isinstance(made[0], run.adapter.InputLayer) or len(run.x) != 1:
            return None
        return run.x[0].source

    return find


def _loss(run: Run, model: Any, x: Any, y: Any, y_pred: Any, weight: Any, loss: Any, training: bool) -> None:
    adapter, recorder = run.adapter, run.recorder
    try:
        recorder.inside.clear()

        def compute() -> Any:
            if loss is not None:
                return adapter.compile_loss(loss, model)(y, y_pred, weight)
            return adapter.compute_loss(model, x, y, y_pred, weight)

        with limited("The loss"):
            run.graph.results = total = compute()
        run.graph.ends.append(total)
        run.cut = adapter.backend.cut(recorder, total, adapter.variables(model, frozen=True), adapter.trained(model))
        run.outside = [*outside(adapter, recorder, model)] if training and loss is None else []
        if not run.fast:
            run.unused = [*unused(adapter, recorder, run.graph, run.graph.ends)]
            run.frozen = [*frozen(adapter, recorder, run.graph, model)]
        recorder.anew = recorder.anew or made_anew(recorder, compute, in_loss=True)
        run.reached_loss = True
    except ENDS as error:
        adapter.backend.explain(recorder, adapter, error)
        run.error, run.where = unmasked(error), "loss"
        if recorder.failed is None:
            recorder.failed = _end(run, "loss", "loss", "compile", error, y, y_pred)
        return
    if training and (refused := adapter.backend.underivable(total)) is not None:
        run.error, run.where, recorder.failed = refused, "loss", _end(run, "loss", "loss", "compile", refused, y, y_pred)
        return
    if loss is None and training and updates(adapter, model):
        with recorder.unrecorded():
            run.error = updated(adapter, recorder, model, total)
        if run.error is not None:
            run.where = "step"
            return
    if loss is None:
        _metrics(run, model, x, y, y_pred, weight)


def _metrics(run: Run, model: Any, x: Any, y: Any, y_pred: Any, weight: Any) -> None:
    adapter, recorder = run.adapter, run.recorder
    own = adapter.overrides(model, "compute_metrics")
    try:
        metrics = adapter.metric_objects(model, y, y_pred)
        if own:
            known = {id(one) for one in metrics}
            metrics += [one for one in adapter.comparing_metrics(model) if id(one) not in known]
        for metric in metrics:
            vars(metric)["update_state"] = _watched(adapter, recorder, metric, type(metric).update_state)
        if metrics or own:
            with limited("A metric"):
                adapter.update_metrics(model, x, y, y_pred, weight)
                recorder.returned += [one for one in metrics if not adapter.builtin_metric(one) and adapter.keeps_variable(one.result())]
    except ENDS as error:
        adapter.backend.explain(recorder, adapter, error)
        run.error, run.where = unmasked(error), "metric"
        if recorder.failed is None:
            recorder.failed = _end(run, "metric", "compute_metrics" if own else "metrics", "compute_metrics" if own else "compile", error, y, y_pred)


def _watched(adapter: Framework, recorder: Recorder, metric: Any, original: Any) -> Any:
    def update_state(y_true: Any, y_pred: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
        pairs = [("labels", y_true), ("predictions", y_pred), ("weights", sample_weight)]
        tensors = [(label, tensor) for label, value in pairs for _, tensor in adapter.tensors_of((value,), {})]
        call = recorder.enter(adapter, "metric", metric, adapter.metric_name(metric), str(metric.name), adapter.builtin_metric(metric), tensors)
        call.config.update(adapter.metric_config(metric))
        try:
            result = original(metric, y_true, y_pred, sample_weight=sample_weight, **kwargs)
        except BaseException as error:
            adapter.backend.explain(recorder, adapter, error)
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


if TYPE_CHECKING:
    from .framework import Framework
    from .recorder import Call, Recorder


def outside(framework: Framework, recorder: Recorder, model: Any) -> Iterator[Call]:
    """The calls of such layers while the model ran, in their order; of those in a layer that is outside itself, only that one."""
    if not framework.is_model(model) or not framework.trained(model):
        return
    held = {id(one) for one in framework.variables(model)}
    found: dict[int, Call] = {}
    for call in recorder.calls:
        if call.kind != "layer" or not call.done or id(call.obj) in found or not getattr(call.obj, "trainable", True):
            continue
        own = framework.trained(call.obj)
        if not own or any(id(one) in held for one in own):
            continue
        above = [*around(call)]
        # What a loss computes with a network of its own is the loss's business.
        if all(one.kind == "layer" for one in above) and not any(id(one.obj) in found for one in above):
            found[id(call.obj)] = call
    yield from found.values()
