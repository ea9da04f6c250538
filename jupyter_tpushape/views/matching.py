"""Which layer of one program is which of another: by where it stands between layers that are the same, and not by name alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from ..flow import Flow, Node

_COUNTED = re.compile(r"_\d+$")


def uncounted(name: str) -> str:
    """A name without the number that the framework counts on."""
    return _COUNTED.sub("", name)


def matched(before: Flow, after: Flow, old: list[Node], new: list[Node]) -> list[tuple[int, int]]:
    """Places of the same layers, in the order of both. What stands among the same neighbours first; then, between these, what is of one
    type; then of one name."""
    a, b = _neighbours(before, old), _neighbours(after, new)
    pairs = _aligned(a, b, range(len(old)), range(len(new)))
    for key in (_type, _name):
        pairs = _between(pairs, [key(node) for node in old], [key(node) for node in new])
    return pairs


def paired(old: list[Node], new: list[Node]) -> list[tuple[int, int]]:
    """Places of what stands at the ends of a flow: by name, then by kind in their order."""
    pairs = _aligned([(node.kind, node.name) for node in old], [(node.kind, node.name) for node in new], range(len(old)), range(len(new)))
    return _between(pairs, [node.kind for node in old], [node.kind for node in new])


def _type(node: Node) -> tuple[str, ...]:
    return (node.kind, node.op)


def _name(node: Node) -> tuple[str, ...]:
    return (node.kind, uncounted(node.name))


def _neighbours(flow: Flow, nodes: list[Node]) -> list[tuple[Any, ...]]:
    types = {node.id: _type(node) for node in flow.nodes}
    reads: dict[str, list[tuple[str, ...]]] = {}
    read: dict[str, list[tuple[str, ...]]] = {}
    for edge in flow.edges:
        reads.setdefault(edge.target, []).append(types[edge.source])
        read.setdefault(edge.source, []).append(types[edge.target])
    return [(types[node.id], *sorted(reads.get(node.id, [])), "→", *sorted(read.get(node.id, []))) for node in nodes]


def _aligned(a: Sequence[Any], b: Sequence[Any], left: range, right: range) -> list[tuple[int, int]]:
    """Pairs of a longest run of equal keys, what is equal at both ends set aside: that is what costs nothing."""
    i, j, k, m = left.start, right.start, left.stop, right.stop
    head, tail = [], []
    while i < k and j < m and a[i] == b[j]:
        head.append((i, j))
        i, j = i + 1, j + 1
    while i < k and j < m and a[k - 1] == b[m - 1]:
        k, m = k - 1, m - 1
        tail.append((k, m))
    blocks = SequenceMatcher(None, a[i:k], b[j:m], autojunk=False).get_matching_blocks()
    middle = [(i + block.a + n, j + block.b + n) for block in blocks for n in range(block.size)]
    return [*head, *middle, *reversed(tail)]


def _between(pairs: list[tuple[int, int]], a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int]]:
    result: list[tuple[int, int]] = []
    last = (-1, -1)
    for pair in [*pairs, (len(a), len(b))]:
        result += _aligned(a, b, range(last[0] + 1, pair[0]), range(last[1] + 1, pair[1]))
        if pair[0] < len(a) or pair[1] < len(b):
            result.append(pair)
        last = pair
    return result
