"""Layers whose results nothing uses: the trace says that no end depends on them, and the text that nothing reads them.

Either alone is not enough. A result may be computed for a reader that this program does not have, and the text of a model says
nothing about which layers are trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..flow import Location, Who
from ..trace.locations import location
from ..trace.recorder import line_of
from .dead_names import Unread, unread
from .evidence import Evidence
from .given_names import Texts


@dataclass(frozen=True)
class UnusedResult:
    """A result that is lost at ``place``, and the layers that only it was computed with; ``nodes``: those that are shown.

    ``trained``: they train weights. Without that, a result is lost by mistake only if no name holds it.
    """

    layers: tuple[Who, ...]
    nodes: tuple[str, ...]
    trained: bool
    name: str
    how: str
    by: int
    place: Location


@dataclass(frozen=True)
class _Candidate:
    layer: Who
    node: str
    place: tuple[str, int]
    trained: bool


def unused_results(seen: Any) -> list[UnusedResult]:
    """The lost results of a traced program, in the order of their layers."""
    found: dict[tuple[str, int], tuple[Unread, list[_Candidate]]] = {}
    texts: dict[str, Texts] = {}
    for one in _candidates(seen):
        file, line = one.place
        tree = texts.setdefault(file, Texts.of(file)).tree(file)
        lost = unread(tree, line) if tree is not None else None
        if lost is not None and (one.trained or lost.how == "dropped"):
            found.setdefault((file, lost.statement.lineno), (lost, []))[1].append(one)
    return [
        UnusedResult(
            tuple(one.layer for one in lost_by), tuple(one.node for one in lost_by if one.node), any(one.trained for one in lost_by),
            lost.name, lost.how, lost.by, where,
        )
        for at, (lost, lost_by) in found.items()
        if (where := location(at)) is not None
    ]  # fmt: skip


def _candidates(seen: Any) -> Iterator[_Candidate]:
    """Layers without an effect, each with its node, if it has one, and the line that called it."""
    evidence: Evidence = seen.evidence
    for call, trained in seen.run.unused:
        node = seen.call_ids.get(id(call), "")
        if node and call.called is not None:
            yield _Candidate(Who.of(evidence.flow.node(node)), node, call.called, trained)
    adapter = seen.adapter
    network = adapter.graph_network(seen.model) if adapter.is_model(seen.model) else None
    for layer in adapter.beside(network) if network is not None else ():
        place = _called(seen, layer) if adapter.is_layer(layer) else None
        if place is not None:
            trained = bool(getattr(layer, "trainable", False)) and any(weight.trainable for weight in adapter.weights(layer))
            yield _Candidate(Who(str(layer.name), type(layer).__name__, "layer", location(place)), "", place, trained)


def _called(seen: Any, layer: Any) -> tuple[str, int] | None:
    """The line that called a layer on a symbolic tensor: the last one that the builder ran, or the one that made it, if that calls it at once."""
    places = seen.recorder.call_places.get(id(layer))
    if places:
        return tuple(places[-1])
    made = line_of(layer)
    tree = Texts.of(made[0]).tree(made[0]) if made is not None else None
    if made is None or tree is None:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Call)]
    return made if any(node.lineno <= made[1] <= (node.end_lineno or 0) for node in calls) else None
