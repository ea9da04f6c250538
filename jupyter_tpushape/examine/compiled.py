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
    # Whether those in a list are of different kinds.
    mixed: bool = False
    # How many in a list are None.
    none: int = 0


@dataclass(frozen=True)
class Compiled:
    """The given loss and metrics, and the names of the outputs; ``()`` if they have none.

    ``enclosed``: a function among them and the name of a symbolic tensor that it closes over.
    """

    loss: Told
    metrics: Told
    outputs: tuple[str, ...]
    enclosed: tuple[str, str] = ("", "")
    weights: Told = Told()
    # The keys of outputs in a dict, in the order in which the program has them; empty for a list.
    keyed: tuple[str, ...] = ()


def compiled(adapter: Framework, model: Any, outputs: list[KeyPath]) -> Compiled | None:
    """How ``model`` was compiled."""
    with contextlib.suppress(Exception):
        given = adapter.compile_given(model)
        weights = _told(adapter.loss_weights(model))
        return Compiled(_told(given[0]), _told(given[1]), _names(adapter, model, outputs), _enclosed(adapter, given), weights, _written(model, _keys(outputs)))
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


def _keys(outputs: list[KeyPath]) -> tuple[str, ...]:
    keys = tuple(str(path[1]) for path in outputs if len(path) == 2 and isinstance(path[1], str))
    return keys if len(keys) == len(outputs) else ()


def _written(model: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    made = getattr(model, "output", None) if keys and getattr(model, "built", False) else None
    return tuple(map(str, made)) if isinstance(made, dict) and len(made) == len(keys) else keys


def _names(adapter: Framework, model: Any, outputs: list[KeyPath]) -> tuple[str, ...]:
    keys = _keys(outputs)
    if keys:
        return keys
    names = tuple(map(str, getattr(model, "output_names", None) or ()))
    return names if adapter.graph_network(model) is not None and len(names) == len(outputs) else ()


def _told(value: Any) -> Told:
    if isinstance(value, dict):
        return Told(names=tuple(map(str, value)))
    if not isinstance(value, (list, tuple)):
        return Told()
    kinds = {one if isinstance(one, str) else getattr(one, "__name__", type(one).__name__) for one in value}
    return Told(count=len(value), mixed=len(kinds) > 1, none=sum(one is None for one in value))
