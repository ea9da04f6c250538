"""The nesting depth of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from ..flow import Node


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
