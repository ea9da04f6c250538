"""A long flow made short for a still: parts that share a numbered name, and repeated blocks, as one box each.

The interactive view folds by the same signs; a still folds once, as nothing in it opens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..flow import Flow, Node

PERIOD, FEWEST, REACH = 8, 3, 12


@dataclass
class Unit:
    """Neighbours that stand in one box."""

    nodes: list[Node]
    hidden: int = 0
    #: What is written on a group; empty for a single node.
    title: str = ""
    times: int = 1
    #: Its blocks are configured alike to the last fraction.
    same: bool = True
    #: A finding speaks of it: it stays as it is.
    kept: bool = False
    inner: list[Unit] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many nodes stand in it, those inside closed composites too."""
        return sum(unit.size for unit in self.inner) if self.inner else len(self.nodes) + max(0, self.hidden)


def folded(flow: Flow, units: list[Unit]) -> list[Unit]:
    """Groups by name, then repeated blocks; what findings speak of stands apart."""
    return _repeats(flow, _named(units))


def _named(units: Sequence[Unit]) -> list[Unit]:
    result: list[Unit] = []
    keys = [_beginning(unit) for unit in units]
    i = 0
    while i < len(units):
        j = i + 1
        while j < len(units) and keys[i] and keys[j] == keys[i]:
            j += 1
        run = list(units[i:j])
        if len(run) < FEWEST or len(run) == len(units):
            result += run
        else:
            result.append(_group(run, keys[i]))
        i = j
    return result


def _group(run: list[Unit], title: str) -> Unit:
    return Unit([node for unit in run for node in unit.nodes], title=title, inner=run)


def _beginning(unit: Unit) -> str:
    node = unit.nodes[0]
    if unit.kept or node.kind not in ("layer", "op"):
        return ""
    words = re.split(r"[/_.]", node.name)
    own = re.sub(r"[_\d]", "", re.sub(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3_\2", node.op).lower())
    if len(words) < 2 or re.sub(r"[_\d]", "", node.name) == own:
        return ""  # a name that the framework gave says nothing of the structure
    for i, word in enumerate(words[:-1]):
        lettered = re.fullmatch(r"(\D+\d+)[a-z]", word)
        if lettered:
            return "_".join([*words[:i], lettered[1]])
        if re.search(r"\d", word):
            return "_".join(words[: i + 1])
    return ""


def _repeats(flow: Flow, units: list[Unit]) -> list[Unit]:
    exact = _insides(flow, fractions=True)
    signs = _signs(flow, units)
    result: list[Unit] = []
    i = 0
    while i < len(units):
        period, times = 0, 0
        for length in range(1, PERIOD + 1):
            if length == 1 and not units[i].inner:
                continue
            block = signs[i : i + length]
            n = 1
            while None not in block and signs[i + n * length : i + (n + 1) * length] == block:
                n += 1
            if n >= (2 if length == 1 else FEWEST) and n * length > times * period:
                period, times = length, n
        if not times:
            result.append(units[i])
            i += 1
            continue
        run = units[i : i + period * times]
        first, last = (unit.title or unit.nodes[0].name for unit in (run[0], run[-1]))
        blocks = [run[at : at + period] for at in range(0, len(run), period)]
        same = len({tuple(exact[node.id] for unit in block for node in unit.nodes) for block in blocks}) == 1
        nodes = [node for unit in run for node in unit.nodes]
        result.append(Unit(nodes, title=f"{first} … {last}", times=times, same=same, inner=run))
        i += period * times
    return result


def _insides(flow: Flow, *, fractions: bool = False) -> dict[str, int]:
    """For each node a number: equal ones stand for equal nodes with equal insides. Rates and other fractions may differ unless they are asked for."""

    def configured(value: object) -> object:
        if isinstance(value, dict):
            return tuple((key, configured(one)) for key, one in value.items() if key != "name")
        if isinstance(value, (list, tuple)):
            return tuple(map(configured, value))
        return "" if isinstance(value, float) and not fractions and value % 1 else repr(value)

    inside: dict[str, list[Node]] = {}
    for node in flow.nodes:
        inside.setdefault(node.parent, []).append(node)
    depths = depths_of(flow.nodes)
    numbers: dict[tuple[object, ...], int] = {}
    within: dict[str, int] = {}
    # The innermost come first.
    for node in sorted(flow.nodes, key=lambda node: -depths[node.id]):
        key = (node.op, node.params, configured(node.config), *(within.get(child.id, -1) for child in inside.get(node.id, ())))
        within[node.id] = numbers.setdefault(key, len(numbers))
    return within


def _signs(flow: Flow, units: Sequence[Unit]) -> list[tuple[object, ...] | None]:
    place = {node.id: i for i, node in enumerate(node for unit in units for node in unit.nodes)}
    sources: dict[str, list[str]] = {}
    gives: dict[str, object] = {}
    for edge in flow.edges:
        sources.setdefault(edge.target, []).append(edge.source)
        gives.setdefault(edge.source, (edge.spec.shape, edge.spec.dtype))

    within = _insides(flow)

    def sign(node: Node, first: int) -> tuple[object, ...]:
        at = place[node.id]
        near = tuple(at - place[one] if one in place and place[one] >= first else None for one in sources.get(node.id, ()))
        return (within[node.id], node.status, gives.get(node.id), near)

    signs: list[tuple[object, ...] | None] = []
    for unit in units:
        if unit.kept or unit.nodes[0].kind not in ("layer", "op") or any(one.kept for one in unit.inner):
            signs.append(None)
            continue
        first = place[unit.nodes[0].id] - (0 if unit.inner else REACH)
        signs.append(tuple(sign(node, first) for node in unit.nodes))
    return signs


def depths_of(nodes: Sequence[Node]) -> dict[str, int]:
    """The number of nodes around each node. Missing parents do not count."""
    parents = {node.id: node.parent for node in nodes}
    depths: dict[str, int] = {}
    for start in parents:
        chain, at = [], start
        while at in parents and at not in depths:
            depths[at] = 0  # met, so that a circle ends
            chain.append(at)
            at = parents[at]
        depth = depths.get(at, -1)
        for one in reversed(chain):
            depth += 1
            depths[one] = depth
    return depths
