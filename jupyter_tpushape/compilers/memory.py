"""From the compiler's layouts to layers: who holds how many bytes, and how many of them are padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..flow.wire import LayerMemory
from . import tiles
from .lowering import Lowered


@dataclass(frozen=True)
class Held:
    """One argument of the program: which tensor it is, and how it is laid out."""

    name: str
    node: str
    laid: tiles.Laid
    data: bool = False

    @property
    def waste(self) -> int:
        return self.laid.bytes - self.laid.logical


def held(lowered: Lowered, layout: str) -> list[Held]:
    """The program's arguments with their names. Parameters that XLA left out (a variable without a value) are stepped over by shape."""
    arguments, _ = tiles.entry(layout)
    found, position = [], 0
    for laid in arguments:
        match = next((i for i in range(position, len(lowered.parameters)) if lowered.parameters[i].shape == laid.shape), None)
        if match is None:
            found.append(Held("", "", laid))
            continue
        position = match + 1
        parameter = lowered.parameters[match]
        found.append(Held(parameter.name, parameter.node, laid, parameter.data))
    return found


def by_layer(arguments: list[Held], names: dict[str, str]) -> tuple[LayerMemory, ...]:
    """Bytes of arguments by node, largest first. ``names``: a node's name by its id."""
    sums: dict[str, list[int]] = {}
    for argument in arguments:
        if argument.node:
            entry = sums.setdefault(argument.node, [0, 0])
            entry[0] += argument.laid.bytes
            entry[1] += argument.laid.logical
    ordered = sorted(sums.items(), key=lambda item: -item[1][0])
    return tuple(LayerMemory(node, names.get(node, node), laid, logical) for node, (laid, logical) in ordered)


def totals(arguments: list[Held]) -> tuple[int, int]:
    """``(as laid out, as counted by shape)`` of all arguments, in bytes."""
    return sum(argument.laid.bytes for argument in arguments), sum(argument.laid.logical for argument in arguments)


def node_names(flow: Any) -> dict[str, str]:
    return {node.id: node.name for node in flow.nodes}
