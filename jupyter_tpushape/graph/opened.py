"""A look with the axes open that the data leaves unknown, as ``fit`` traces them.

Code that asks such a tensor for a size gets ``None``; a trace with the sizes of the first batch alone would give it a number.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..flow import KeyPath, Shape
from ..flow.paths import flatten
from ..trace.by_rows import runs_by_rows
from ..trace.locations import Place, is_user_file
from ..trace.patience import timed_out
from ..trace.raised import Raised, raised_at, raised_by
from ..trace.ran import Run
from ..trace.recorder import Call, Recorder
from ..trace.run import run
from .probe import Rerun

# By these names code asks for sizes that are numbers.
_SIZES = frozenset({"squeeze", "shape", "get_shape", "int_shape", "static_shape", "as_list"})


@dataclass(frozen=True)
class Opened:
    """What raises where sizes are not known: the failure, the user's line, and the id of the node that raises.

    ``axes``: the tensors with unknown sizes behind the batch axis, with the shape of a batch; none where it is the number of rows.
    ``squeezed``: the shape of what an operation took all axes of size 1 out of, where that is why a rank is unknown.
    """

    failure: BaseException
    raised: Raised | None
    axes: tuple[tuple[KeyPath, Shape, Shape], ...] = ()
    node: str | None = None
    squeezed: Shape | None = None


def opened(seen: Any, rerun: Rerun | None = None) -> Opened | None:
    """Runs the model with the sizes unknown that the data does not fix; ``None`` where nothing raises, or nothing can.

    Layers that then run by the row instead of by the step end up in the evidence as ``by_rows``: the ids of their nodes.

    Args:
        rerun: runs the program where it is a training step of the model's own.
    """
    first = seen.run
    if first is None or first.error is not None or seen.adapter is None or not seen.adapter.backend.replicated:
        return None
    if seen.evidence.facts.get("run_eagerly"):
        return None
    shape = seen.shape_of()
    rows = [leaf.shape[0] for part in (seen.sample.x, seen.sample.y) for _, leaf in flatten(part, "x") if leaf.shape]
    if None in rows and _asks(seen):

        def unknown(leaf: Any) -> Shape | None:
            found = shape(leaf)
            return (None, *found[1:]) if found else found

        again = _again(seen, unknown, fast=first.fast) if rerun is None else rerun(unknown, Recorder())
        if again.error is not None and not timed_out(again.error):
            raised = raised_at(again.error, seen.adapter)
            return Opened(again.error, raised) if raised is not None else _squeezed(again)
    return _inner(seen, rerun)


def _squeezed(again: Run) -> Opened | None:
    """A layer raises for want of a rank, which an operation of the user's left unknown: with one row, the batch axis would be taken out, too."""
    for call in reversed(again.recorder.calls):
        shape = call.inputs[0].spec.shape if call.inputs else None
        if call.op == "Squeeze" and shape and shape[0] is None and call.outputs and call.outputs[0].spec.shape is None:
            raised = raised_by(call.called) if isinstance(call.called, Place) and again.error is not None else None
            return Opened(again.error, raised, squeezed=shape) if raised is not None and again.error is not None else None
    return None


def _inner(seen: Any, rerun: Rerun | None) -> Opened | None:
    axes = tuple(
        (path, leaf.shape, leaf.concrete)
        for role in ("x", "y", "weight")
        for path, leaf in flatten(getattr(seen.sample, role), role)
        if getattr(leaf, "kind", "dense") == "dense" and leaf.shape and leaf.concrete and None in leaf.shape[1:]
    )
    # Under a strategy, Keras builds a model with the sizes of the first batch.
    if not axes or (seen.program.strategy is not None and not seen.model.built):
        return None
    shape = seen.shape_of()

    def unknown(leaf: Any) -> Shape | None:
        found: Shape | None = shape(leaf)
        if not found or not leaf.shape or len(found) != len(leaf.shape):
            return found
        return tuple(None if wide is None else size for wide, size in zip(leaf.shape, found, strict=True))

    again = _again(seen, unknown, fast=False) if rerun is None else rerun(unknown, Recorder())
    if again.error is None:
        seen.evidence.facts["by_rows"] = [
            seen.call_ids[id(known)]
            for call in again.recorder.calls
            if call.inputs and (known := _same(seen, call)) is not None and runs_by_rows(seen.adapter, call.obj, call.inputs[0].spec)
        ]
        return None
    if timed_out(again.error):
        return None
    failed = again.recorder.failed
    known = _same(seen, failed) if failed is not None else None
    return Opened(again.error, raised_at(again.error, seen.adapter), axes, seen.call_ids[id(known)] if known is not None else None)


def _again(seen: Any, shape: Callable[[Any], Shape | None], *, fast: bool) -> Run:
    program = seen.program
    return run(seen.adapter, seen.model, seen.sample, shape=shape, training=program.training, loss=program.loss, recorder=Recorder(), fast=fast)


def _same(seen: Any, call: Call) -> Call | None:
    key = (call.kind, call.name, call.op, call.called)
    return next((one for one in seen.recorder.calls if (one.kind, one.name, one.op, one.called) == key and id(one) in seen.call_ids), None)


def _asks(seen: Any) -> bool:
    adapter, model = seen.adapter, seen.model
    layers = [model, *(model._flatten_layers() if adapter.is_model(model) else ())]
    given: dict[str, Any] = {}
    if adapter.is_model(model) and adapter.compiled(model):
        with contextlib.suppress(Exception):
            given = adapter.compile_arguments(model)
    every = [*layers, *(item for name in ("loss", "metrics") for _, item in flatten(given.get(name), "x")), seen.program.loss]
    known: set[int] = set()
    return any(_asks_in(function, known) for obj in every if obj is not None for function in _functions(obj))


def _functions(obj: Any) -> Iterator[Any]:
    if isinstance(obj, (FunctionType, MethodType)):
        yield obj
        return
    for cls in type(obj).__mro__:
        for value in vars(cls).values():
            if isinstance(value, FunctionType) and is_user_file(value.__code__.co_filename):
                yield value
    held = getattr(obj, "__dict__", {})
    yield from (value for name in ("function", "fn", "activation") if isinstance(value := held.get(name), FunctionType))


def _asks_in(function: Any, known: set[int]) -> bool:
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None or id(code) in known or not is_user_file(code.co_filename):
        return False
    known.add(id(code))
    inside = [code]
    for one in inside:
        inside += [item for item in one.co_consts if isinstance(item, CodeType)]
    names = {name for one in inside for name in one.co_names}
    if names & _SIZES:
        return True
    near = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    far = [function.__globals__.get(name) for name in names]
    return any(_asks_in(item, known) for item in (*near, *far) if isinstance(item, (FunctionType, MethodType)))


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
