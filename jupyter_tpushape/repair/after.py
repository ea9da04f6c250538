"""How the flow of a program with a fix differs from the flow without it.

The two flows are from two runs: nodes have different ids, and automatic names may have different counts. Nodes at the same
place in the same order are treated as the same node.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import msgspec

from ..examine import Examined
from ..flow import After, AfterEdge, Edge, Effect, Flow, Node, Spec, show_shape
from ..trace.axes import name_axes

MOST = 1000
_COUNTED = re.compile(r"_\d+$")
_ENDS = frozenset({"input", "loss", "output", "split"})


def after_of(before: Flow, now: Flow) -> After | None:
    """The difference between two flows."""
    name_axes(now)
    same = _aligned(before.nodes, now.nodes)
    home = {node.id: same.get(node.id, f"+{node.id}") for node in now.nodes}
    old = {node.id: node for node in before.nodes}
    nodes = [made for node in now.nodes if (made := _other(node, old.get(home[node.id]), home)) is not None]
    edges, specs, kept = _edges(before.edges, now.edges, home)
    held = set(same.values())
    gone = [node.id for node in before.nodes if node.id not in held] + [edge.id for edge in before.edges if edge.id not in kept]
    if len(nodes) + len(edges) + len(gone) > MOST:
        return None
    return After(tuple(nodes), tuple(edges), tuple(specs), tuple(gone))


def _key(node: Node) -> tuple[str, ...]:
    return (node.kind,) if node.kind in _ENDS else (node.kind, node.op, _COUNTED.sub("", node.name))


def _aligned(before: Sequence[Node], now: Sequence[Node]) -> dict[str, str]:
    # In an incomplete flow, the output comes before the loss; in a complete one, after it.
    ends = {node.kind: node.id for node in before if node.kind in ("loss", "output")}
    single = all(sum(node.kind == kind for node in flow) <= 1 for kind in ("loss", "output") for flow in (before, now))
    pairs = {node.id: ends[node.kind] for node in now if single and node.kind in ends}
    old = [node for node in before if not single or node.kind not in ends]
    new = [node for node in now if not single or node.kind not in ends]
    a, b = [_key(node) for node in old], [_key(node) for node in new]
    most = min(len(a), len(b))
    head = next((i for i in range(most) if a[i] != b[i]), most)
    tail = next((i for i in range(most - head) if a[-1 - i] != b[-1 - i]), most - head)
    places = [(i, i) for i in range(head)] + [(len(a) - i, len(b) - i) for i in range(1, tail + 1)]
    middle = a[head : len(a) - tail], b[head : len(b) - tail]
    if max(map(len, middle)) <= MOST:
        for block in SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks():
            places += [(head + block.a + i, head + block.b + i) for i in range(block.size)]
    return {**pairs, **{new[j].id: old[i].id for i, j in places}}


def _other(node: Node, old: Node | None, home: dict[str, str]) -> Node | None:
    if old is not None and (old.op, old.params, _config(old)) == (node.op, node.params, _config(node)):
        return None
    if old is not None and node.op == old.op and node.kind in _ENDS:
        return None
    name = node.name if old is None or _COUNTED.sub("", old.name) != _COUNTED.sub("", node.name) else old.name
    return Node(
        home[node.id], name, node.kind, node.op, home.get(node.parent, ""), config=node.config, params=node.params, note=node.note, path=node.path, family=node.family,
    )  # fmt: skip


def _config(node: Node) -> dict[str, Any]:
    return {key: value for key, value in node.config.items() if key != "name"}


def _edges(before: Sequence[Edge], now: Sequence[Edge], home: dict[str, str]) -> tuple[list[AfterEdge], list[Spec], set[str]]:
    """Edges that are new or carry a different tensor, their specs, and the ids of old edges that still exist."""
    exact = {(edge.source, edge.target, edge.label): edge for edge in before}
    loose = {(edge.source, edge.target): edge for edge in before}
    changed: list[AfterEdge] = []
    index: dict[bytes, int] = {}
    specs: list[Spec] = []
    kept: set[str] = set()
    for edge in now:
        source, target = home[edge.source], home[edge.target]
        old = exact.get((source, target, edge.label)) or loose.get((source, target))
        if old is not None and old.id in kept:
            old = None
        if old is not None:
            kept.add(old.id)
            if (old.spec.shape, old.spec.dtype, old.label) == (edge.spec.shape, edge.spec.dtype, edge.label):
                continue
        key = msgspec.json.encode(edge.spec)
        if key not in index:
            index[key] = len(specs)
            specs.append(edge.spec)
        even = bool(edge.replicas) and all(replica.shape == edge.spec.shape for replica in edge.replicas)
        changed.append(AfterEdge(old.id if old else f"+{edge.id}", source, target, index[key], edge.label, even))
    return changed, specs, kept


def effect_of(seen: Examined, again: Examined) -> Effect:
    """The effect of an edit, from the examined programs before and after."""
    before = next((spec.shape for _, spec in seen.evidence.outputs), None)
    after = next((spec.shape for _, spec in again.evidence.outputs), None)
    old, new = _parameters(seen), _parameters(again)
    parts = []
    if after == ():
        parts.append("the step runs")  # a step of the program's own returns numbers
    elif after is not None:
        ends = "the loss" if again.evidence.y and again.evidence.losses() else "the output"
        parts.append(f"reaches {ends}; predictions {show_shape(before) + ' → ' if before and before != after else ''}{show_shape(after)}")
    if old is not None and new is not None and old != new:
        parts.append(f"{new - old:+,} parameters")
    elif new and old is None:
        parts.append(f"{new:,} parameters")
    return Effect(before, after, after, (new or 0) - (old or 0) if old is not None else 0, "; ".join(parts))


def _parameters(seen: Examined) -> int | None:
    if seen.model is None or seen.evidence.where == "build":
        return None
    if seen.evidence.where and not _built(seen.model):
        return None
    count = sum(node.params for node in seen.evidence.flow.nodes)
    with contextlib.suppress(Exception):
        count = int(seen.model.count_params())
    # A product of many sizes may have more digits than Python writes.
    return count if count < 2**63 else None


def _built(model: object) -> bool:
    layers = getattr(model, "_flatten_layers", None)
    return all(getattr(part, "built", False) for part in (layers() if callable(layers) else [model]))
