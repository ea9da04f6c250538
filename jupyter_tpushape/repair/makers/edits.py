"""What every maker of candidates uses: small edits, and the way up from a node."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Edit, KeyPath, Node, Shape
from ...rules.upstream import ancestors

Made = Iterator[tuple[str, list[Edit], str]]


def where(path: KeyPath) -> dict[str, Any]:
    """Which leaf of a part of the data an edit is about: nothing for the whole, a key, or the way down a deeper nest."""
    keys = path[1:]
    if not keys:
        return {}
    return {"key": keys[0] if len(keys) == 1 else list(keys)}


def insert(before: str, kind: str, **config: Any) -> Edit:
    return Edit("insert-layer", before, {"layer": kind, "config": config, "position": "before"})


def insert_at_call(node: Node, kind: str, **config: Any) -> Edit:
    """In front of this call only, where a layer is called more than once."""
    edit = insert(node.name, kind, **config)
    nth = node.config.get("call")
    return Edit(edit.kind, edit.target, {**edit.detail, "nth": nth}) if nth else edit


def configure(layer: str, **config: Any) -> Edit:
    return Edit("layer-config", layer, {"config": config})


def at(node: Node, index: int, layer: str, like: str = "", **config: Any) -> Edit:
    named = {"like": like} if like else {}
    return Edit("insert-layer", node.name, {"layer": layer, "config": config, "position": "before", "input": index, **named})


def failing(evidence: Evidence) -> tuple[Node, Shape | None]:
    """The layer that raised and the shape that it got."""
    node = evidence.failed
    assert node is not None
    edges = [edge for edge in evidence.failed_inputs() if edge.label != "mask"]
    return node, edges[0].spec.shape if edges else None


def upstream(evidence: Evidence, node: Node) -> Iterator[Node]:
    """The straight way up: nearest first, as long as there is one producer."""
    yield from ancestors(evidence, node.id)


def known(row: tuple[int | None, ...]) -> bool:
    """Whether every axis is known."""
    return None not in row


def given(evidence: Evidence, node: Node) -> Shape | None:
    """The shape of what a node gets."""
    return next((edge.spec.shape for edge in evidence.flow.into(node.id)), None)


def owner_of(evidence: Evidence, node: Node) -> Node | None:
    while node.parent:
        node = evidence.flow.node(node.parent)
    return node if node.kind == "layer" else None


def append(after: str, kind: str, **config: Any) -> Edit:
    return Edit("insert-layer", after, {"layer": kind, "config": config, "position": "after"})


def images(size: int) -> list[tuple[int, int]]:
    """``(side, channels)`` of square images of so many numbers: one channel, three, then the largest ones."""
    found = [(side, size // (side * side)) for side in range(math.isqrt(size), 1, -1) if size % (side * side) == 0]
    return sorted(found, key=lambda pair: (pair[1] not in (1, 3), -pair[0]))[:3]
