"""From the compiler's layouts and buffers to layers: the bytes of each layer, and how many of them are padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..flow.wire import Buffer, LayerMemory
from . import hlo, tiles
from .programs import Lowered


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


@dataclass(frozen=True)
class Live:
    """A temporary that is there when temporaries take most. ``laid`` is ``None`` where small ones are added up."""

    operation: str
    node: str
    bytes: int
    laid: tiles.Laid | None


def live(lowered: Lowered, arguments: list[Held], buffers: Any) -> list[Live]:
    """The temporaries that the worker told of, with the nodes whose operations made them."""
    found = []
    named = hlo.operation_at(lowered.read.names)
    for told, size, layout in (buffers or {}).get("live", ()):
        operation = named(told)
        node = lowered.scopes.node(operation) if lowered.scopes is not None else ""
        number = operation.removeprefix("parameter:")
        if number != operation and int(number) < len(arguments):
            # A copy of an argument belongs to whom the argument belongs.
            node, operation = arguments[int(number)].node, arguments[int(number)].name
        laid = next(iter(tiles.parse(layout)), None) if layout else None
        found.append(Live(operation, node, int(size), laid))
    return found


def by_layer(arguments: list[Held], temporaries: list[Live], names: dict[str, str]) -> tuple[LayerMemory, ...]:
    """Bytes of arguments and temporaries by node, largest first. ``names``: a node's name by its id."""
    sums: dict[str, list[int]] = {}
    for argument in arguments:
        if argument.node:
            entry = sums.setdefault(argument.node, [0, 0, 0])
            entry[0] += argument.laid.bytes
            entry[1] += argument.laid.logical
    for temporary in temporaries:
        if temporary.node:
            entry = sums.setdefault(temporary.node, [0, 0, 0])
            entry[0] += temporary.bytes
            entry[1] += temporary.laid.logical if temporary.laid is not None else temporary.bytes
            entry[2] += temporary.bytes
    ordered = sorted(sums.items(), key=lambda item: -item[1][0])
    return tuple(LayerMemory(node, names.get(node, node), *sizes) for node, sizes in ordered)


def largest(arguments: list[Held], temporaries: list[Live], most: int = 16) -> tuple[Buffer, ...]:
    """The largest tensors, one by one."""
    found = [
        Buffer(held.name, "argument", held.laid.dtype, held.laid.shape, held.laid.padded, held.laid.bytes, held.laid.logical, held.node) for held in arguments
    ]
    found += [
        Buffer(one.operation, "temporary", one.laid.dtype, one.laid.shape, one.laid.padded, one.bytes, one.laid.logical, one.node)
        for one in temporaries
        if one.laid is not None
    ]
    return tuple(sorted(found, key=lambda buffer: -buffer.bytes)[:most])


def totals(arguments: list[Held]) -> tuple[int, int]:
    """``(as laid out, as counted by shape)`` of all arguments, in bytes."""
    return sum(argument.laid.bytes for argument in arguments), sum(argument.laid.logical for argument in arguments)


def node_names(flow: Any) -> dict[str, str]:
    return {node.id: node.name for node in flow.nodes}
