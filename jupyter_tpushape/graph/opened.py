"""A look with the batch axis open, as ``fit`` traces it where the last batch may be smaller.

Code that asks such a tensor for its number of rows gets ``None``; a trace with whole batches alone would give it a number.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..flow import Shape
from ..flow.paths import flatten
from ..trace.locations import is_user_file
from ..trace.patience import timed_out
from ..trace.raised import Raised, raised_at
from ..trace.recorder import Recorder
from ..trace.run import run

# By these names code asks for sizes that are numbers.
_SIZES = frozenset({"shape", "get_shape", "int_shape", "static_shape", "as_list"})


@dataclass(frozen=True)
class Opened:
    """What raises where the number of rows is not known: the failure and the user's line."""

    failure: BaseException
    raised: Raised


def opened(seen: Any) -> Opened | None:
    """Runs the model with an unknown number of rows; ``None`` where the data always has the same, or nothing of the user's asks for it."""
    first, program = seen.run, seen.program
    if first is None or first.error is not None or seen.adapter is None or not seen.adapter.backend.replicated:
        return None
    rows = [leaf.shape[0] for part in (seen.sample.x, seen.sample.y) for _, leaf in flatten(part, "x") if leaf.shape]
    if not rows or None not in rows or seen.evidence.facts.get("run_eagerly") or not _asks(seen):
        return None
    shape = seen.shape_of()

    def unknown(leaf: Any) -> Shape | None:
        found = shape(leaf)
        return (None, *found[1:]) if found else found

    again = run(
        seen.adapter,
        seen.model,
        seen.sample,
        shape=unknown,
        training=program.training,
        loss=program.loss,
        recorder=Recorder(),
        fast=first.fast,
    )
    if again.error is None or timed_out(again.error):
        return None
    raised = raised_at(again.error, seen.adapter)
    return Opened(again.error, raised) if raised is not None else None


def _asks(seen: Any) -> bool:
    """Whether code of the user's that the program runs can ask for a size."""
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
    """The functions that run when an object does."""
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
    """Whether a function of the user's, or one that it names, asks for a size."""
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
