"""The arguments of compile, as far as they name or count outputs; plain values for the rules."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from ..flow import KeyPath
from ..flow.paths import flatten
from ..trace.framework import Framework


@dataclass(frozen=True)
class Told:
    """One argument: the keys of a dict, or the length of a list. Neither for a single one."""

    names: tuple[str, ...] | None = None
    count: int | None = None


@dataclass(frozen=True)
class Compiled:
    """The given loss and metrics, and the names of the outputs; ``()`` if they have none.

    ``enclosed``: a function among them and the name of a symbolic tensor that it closes over.
    """

    loss: Told
    metrics: Told
    outputs: tuple[str, ...]
    enclosed: tuple[str, str] = ("", "")


def compiled(adapter: Framework, model: Any, outputs: list[KeyPath]) -> Compiled | None:
    """How ``model`` was compiled; ``None`` if unknown."""
    with contextlib.suppress(Exception):
        arguments = adapter.compile_arguments(model)
        given = arguments.get("loss"), arguments.get("metrics")
        return Compiled(_told(given[0]), _told(given[1]), _names(adapter, model, outputs), _enclosed(adapter, given))
    return None


def _enclosed(adapter: Framework, given: Any) -> tuple[str, str]:
    for _, one in flatten(given):
        function = getattr(one, "fn", one)
        code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
        for name, cell in zip(code.co_freevars, cells, strict=True) if code is not None and cells else ():
            with contextlib.suppress(ValueError):  # a cell that was never filled
                if adapter.is_symbolic(cell.cell_contents):
                    return str(function.__name__), str(name)
    return "", ""


def _names(adapter: Framework, model: Any, outputs: list[KeyPath]) -> tuple[str, ...]:
    keys = tuple(str(path[1]) for path in outputs if len(path) == 2 and isinstance(path[1], str))
    if keys and len(keys) == len(outputs):
        return keys
    names = tuple(map(str, getattr(model, "output_names", None) or ()))
    return names if adapter.graph_network(model) is not None and len(names) == len(outputs) else ()


def _told(value: Any) -> Told:
    if isinstance(value, dict):
        return Told(names=tuple(map(str, value)))
    return Told(count=len(value)) if isinstance(value, (list, tuple)) else Told()
