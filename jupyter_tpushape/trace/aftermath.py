"""What is still known after an error: stored at the failed call, and read from the traceback.

While nothing is recorded, a wrapped call costs one lookup and a ``try``. When a layer raises, its
inputs still exist: their symbolic history contains everything that was built before.
"""

from __future__ import annotations

import linecache
import re
import sys
import threading
from dataclasses import dataclass
from types import CodeType
from typing import Any

from . import turns
from .build import history
from .locations import Place, is_user_file
from .recorder import Made, Recorder, caused, line_of

_LAST = threading.local()
# The calls that data is handed to.
FITTING = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})


@dataclass
class Attempt:
    """A ``fit``, ``evaluate`` or ``predict`` that raised: the model and its arguments. ``held``: the data that it was to be validated on."""

    method: str
    model: Any
    data: Any
    batch_size: int | None = None
    where: tuple[str, int] | None = None
    held: Any = None


def remember(adapter: Any, layer: Any, args: Any, kwargs: Any, error: BaseException, kind: str = "") -> None:
    """Stores the arguments of a failed call; the innermost call of an error wins."""
    before = getattr(_LAST, "kept", None)
    if before is not None and (before[1] is error or caused(error, before[1])):
        return
    recorder = Recorder()
    recorder.walk = history(recorder)
    try:
        tensors = list(adapter.tensors_of(args, kwargs))
        name = str(getattr(layer, "name", "") or type(layer).__name__)
        call = recorder.enter(adapter, kind or adapter.kind(layer), layer, adapter.op_name(layer), name, True, tensors)
        recorder.fail(call, error)
        _sequence(adapter, recorder)
        for item in [*recorder.calls]:
            where = line_of(item.obj)
            if where is not None:
                recorder.made[id(item.obj)] = Made(0, where, type(item.obj).__name__)
    except Exception:
        # The user's own error matters more than our picture of it.
        return
    finally:
        recorder.walk = None
    _LAST.kept = (recorder, error)


def _sequence(adapter: Any, recorder: Recorder) -> None:
    frame: Any = sys._getframe(2)
    for _ in range(40):
        if frame is None:
            return
        model = frame.f_locals.get("self") or frame.f_locals.get("model")
        layers = frame.f_locals.get("layers")
        if isinstance(model, adapter.Sequential) and isinstance(layers, (list, tuple)) and layers:
            recorder.sequences.append((model, list(layers)))
            return
        if isinstance(model, adapter.Sequential) and frame.f_code.co_name == "build" and getattr(model, "_layers", None):
            recorder.sequences.append((model, list(model._layers)))
        frame = frame.f_back


def kept(error: BaseException) -> Recorder | None:
    """What was stored for the call that raised ``error``."""
    found = getattr(_LAST, "kept", None)
    if found is None:
        return None
    recorder, earlier = found
    return recorder if earlier is error or caused(error, earlier) else None


def forget() -> None:
    """Deletes what was stored, and with it every reference to the user's objects."""
    _LAST.kept = None
    turns.forget()


def attempted(error: BaseException) -> Attempt | None:
    """The training call that an exception came from, read from Keras' own frames; of two, the one that a callback of the user's makes."""
    from .frameworks import adapter_for

    inner = turns.inner()
    if inner is not None and (inner.error is error or caused(error, inner.error)) and is_user_file(inner.code.co_filename):
        attempt = attempt_of(inner.method, (inner.model, *inner.args), inner.kwargs)
        attempt.where = _place(inner.code, inner.line, inner.instruction, inner.names)
        attempt.where.method = inner.method
        return attempt
    trace, where = error.__traceback__, None
    while trace is not None:
        values, code = trace.tb_frame.f_locals, trace.tb_frame.f_code
        where = _raised_at(trace) if is_user_file(code.co_filename) else where
        arguments, fn = values.get("args"), values.get("fn")
        if trace.tb_frame.f_code.co_name == "error_handler" and isinstance(arguments, tuple) and arguments:
            method = getattr(fn, "__name__", "")
            if method in FITTING and adapter_for(arguments[0]) is not None:
                attempt = attempt_of(method, arguments, values.get("kwargs") or {})
                if where is not None:
                    where.method, attempt.where = method, where
                return attempt
        trace = trace.tb_next
    return None


def on_symbolic(error: BaseException) -> bool:
    """Whether what raised had a symbolic tensor: a function that the user called with one, or a line of the user's that names one."""
    trace, called, line = error.__traceback__, None, None
    while trace is not None:
        if is_user_file(trace.tb_frame.f_code.co_filename):
            called, line = None, trace
        elif called is None:
            called = trace.tb_frame
        trace = trace.tb_next
    if called is not None:
        return any(map(_has_symbolic, called.f_locals.values()))
    if line is None:
        return False
    words = re.findall(r"[^\W\d]\w*", linecache.getline(line.tb_frame.f_code.co_filename, line.tb_lineno))
    return any(_has_symbolic({**line.tb_frame.f_globals, **line.tb_frame.f_locals}.get(word)) for word in words)


def _has_symbolic(value: Any, depth: int = 3) -> bool:
    from .frameworks import loaded

    if type(value) in (list, tuple, dict):
        return depth > 0 and any(_has_symbolic(item, depth - 1) for item in list(value.values() if type(value) is dict else value)[:20])
    return any(adapter.is_symbolic(value) for adapter in loaded())


def _raised_at(trace: Any) -> Place:
    return _place(trace.tb_frame.f_code, trace.tb_lineno, trace.tb_lasti, trace.tb_frame.f_globals)


def _place(code: CodeType, line: int, instruction: int, names: dict[str, Any]) -> Place:
    place = Place(code.co_filename, line)
    place.code, place.instruction, place.names = code, instruction, names
    return place


def attempt_of(method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Attempt:
    """What a training call was given, as :class:`Attempt`. ``arguments``: with the model in front."""
    model, *rest = arguments
    names = ["x", "y", "batch_size"] if method in ("fit", "evaluate") else ["x", "batch_size"] if method == "predict" else ["x", "y", "sample_weight"]
    if method == "predict_on_batch":
        names = ["x"]
    given = {**dict(zip(names, rest, strict=False)), **named}
    x, y, weight = given.get("x"), given.get("y"), given.get("sample_weight")
    if method.startswith("predict"):
        data: Any = (x, None)
    elif hasattr(x, "element_spec") or y is None:
        data = x
    else:
        data = (x, y) if weight is None else (x, y, weight)
    return Attempt(method, model, data, given.get("batch_size"), held=given.get("validation_data") if method == "fit" else None)
