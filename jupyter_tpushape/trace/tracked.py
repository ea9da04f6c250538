"""The metrics of a model, and the one in which Keras 3 keeps the mean loss, watched while a model's own training step runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from .framework import Framework
from .locations import user_frame
from .recorder import Recorder


@contextlib.contextmanager
def tracked(adapter: Framework, model: Any, recorder: Recorder) -> Iterator[None]:
    """Notes where the step gives that metric tensors of several samples with weights of their own, as it gives labels and predictions to others."""
    metric = adapter.loss_tracker(model) if model is not None else None
    if metric is None:
        yield
        return
    before = vars(metric).get("update_state")
    original = before or functools.partial(type(metric).update_state, metric)

    def update_state(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()][:2]
        specs = [adapter.spec(one) for one in given if adapter.is_tensor(one)]
        if recorder.tracked is None and len(specs) == 2 and all(spec.shape for spec in specs):
            recorder.tracked = (specs[0].shape, specs[1].shape, user_frame(depth=2))
        return original(*args, **kwargs)

    vars(metric)["update_state"] = update_state
    try:
        yield
    finally:
        vars(metric).pop("update_state", None)
        if before is not None:
            vars(metric)["update_state"] = before


@contextlib.contextmanager
def metered(adapter: Framework, metrics: list[Any], recorder: Recorder) -> Iterator[None]:
    """Metrics tell the recorder what a step updates them with."""
    before = {id(metric): vars(metric).get("update_state") for metric in metrics}
    for metric in metrics:
        vars(metric)["update_state"] = recorded(adapter, recorder, metric, type(metric).update_state)
    try:
        yield
    finally:
        for metric in metrics:
            vars(metric).pop("update_state", None)
            if before[id(metric)] is not None:
                vars(metric)["update_state"] = before[id(metric)]


def recorded(adapter: Any, recorder: Recorder, metric: Any, original: Any) -> Any:
    """``update_state`` of a metric as a node of the flow."""

    def update_state(*args: Any, **kwargs: Any) -> Any:
        if recorder.muted or recorder.inside_opaque:
            return original(metric, *args, **kwargs)
        names = ("labels", "predictions", "weights") if len(args) > 1 else ("",)
        given = [*zip(names, args, strict=False), *((_LABELS.get(key, key), value) for key, value in kwargs.items())]
        tensors = [(label, tensor) for label, value in given for _, tensor in adapter.tensors_of((value,), {})]
        call = recorder.enter(adapter, "metric", metric, adapter.metric_name(metric), str(metric.name), True, tensors)
        try:
            result = original(metric, *args, **kwargs)
        except BaseException as error:
            recorder.fail(call, error)
            raise
        recorder.leave(adapter, call, [])
        return result

    return update_state


_LABELS = {"y_true": "labels", "y_pred": "predictions", "sample_weight": "weights"}
