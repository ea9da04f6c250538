"""Models that a ``fit`` which raised left half built, and the cells that create them anew."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from .pairing import TRAINING, assigned_in, parsed

# What a cell does to a model before it is trained.
_SETS_UP = frozenset({"add", "build", "compile", "load_weights", "set_weights"})


def left(namespace: Mapping[str, Any], models: Sequence[str], sources: Sequence[str], cells: Mapping[int, str]) -> dict[str, list[str]]:
    """For each model that no ``fit`` can train any more the ids of the cells that create it and set it up, in order.

    Args:
        models: the names of models in the namespace.
        sources: the text of each run, by its number.
        cells: the id of each run's cell.
    """
    from ..trace.frameworks import adapter_for

    found = {}
    for name in models:
        with contextlib.suppress(Exception):  # an object that cannot be looked at is listed all the same
            adapter = adapter_for(namespace[name])
            if adapter is not None and adapter.left_by_fit(namespace[name]) and (ids := _made_by(name, sources, cells)):
                found[name] = ids
    return found


def _made_by(name: str, sources: Sequence[str], cells: Mapping[int, str]) -> list[str]:
    """The cells from the last one that assigns the name on that set the model up; none where one of them trains, too, or is not known."""
    runs = [number for number, source in enumerate(sources) if name in assigned_in(source)]
    if not runs:
        return []
    wanted = [runs[-1], *(number for number in range(runs[-1] + 1, len(sources)) if _methods(name, sources[number]) & _SETS_UP)]
    if any(TRAINING & _methods(name, sources[number]) for number in wanted) or any(number not in cells for number in wanted):
        return []
    return list(dict.fromkeys(cells[number] for number in wanted))


def _methods(name: str, source: str) -> frozenset[str]:
    """The methods of a variable's object that a cell calls."""
    return frozenset(
        node.func.attr
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
    )
