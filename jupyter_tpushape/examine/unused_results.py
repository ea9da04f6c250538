"""Layers whose results nothing uses: the trace says that no end depends on them, and the text that nothing reads them.

Either alone is not enough. A result may be computed for a reader that this program does not have, and the text of a model says
nothing about which layers are trained.
"""

from __future__ import annotations

import ast
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
    """A result that is lost at ``place``, and the layers with trained weights that only it was computed with; ``nodes``: those that are shown."""

    layers: tuple[Who, ...]
    nodes: tuple[str, ...]
    name: str
    how: str
    by: int
    place: Location


def unused_results(seen: Any) -> list[UnusedResult]:
    """The lost results of a traced program, in the order of their layers."""
    found: dict[tuple[str, int], tuple[Unread, tuple[str, int], list[tuple[Who, str]]]] = {}
    texts: dict[str, Texts] = {}
    for layer, node, place in _candidates(seen):
        tree = texts.setdefault(place[0], Texts.of(place[0])).tree(place[0])
        lost = unread(tree, place[1]) if tree is not None else None
        if lost is not None:
            line = lost.statement.lineno
            found.setdefault((place[0], line), (lost, (place[0], line), []))[2].append((layer, node))
    return [
        UnusedResult(
            tuple(who for who, _ in layers), tuple(node for _, node in layers if node), lost.name, lost.how, lost.by, where
        )
        for lost, at, layers in found.values()
        if (where := location(at)) is not None
    ]  # fmt: skip


def _candidates(seen: Any) -> Any:
    """Layers that train weights without an effect, each with its node, if it has one, and the line that called it."""
    evidence: Evidence = seen.evidence
    for call in seen.run.unused:
        node = seen.call_ids.get(id(call), "")
        if node and call.called is not None:
            yield Who.of(evidence.flow.node(node)), node, call.called
    adapter = seen.adapter
    network = adapter.graph_network(seen.model) if adapter.is_model(seen.model) else None
    for layer in adapter.beside(network) if network is not None else ():
        place = _called(seen, layer)
        if place is not None and getattr(layer, "trainable", False) and any(weight.trainable for weight in adapter.weights(layer)):
            yield Who(str(layer.name), type(layer).__name__, "layer", location(place)), "", place


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


__all__ = ["UnusedResult", "unused_results"]
