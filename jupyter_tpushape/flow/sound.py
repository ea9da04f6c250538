"""Whether a document that was read hangs together: what it refers to is there, nothing goes in circles, and its numbers are sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .findings import After, Finding
from .graph import Location, Node, Target
from .spec import Shape, Spec

# A document of more than this is none of ours: a node, an edge, a replica of a tensor, a nest of models, an axis.
MOST_NODES, MOST_EDGES, MOST_REPLICAS, MOST_DEPTH, MOST_RANK = 500_000, 2_000_000, 5_000_000, 5_000, 254
MOST_SIZE = 2**63 - 1
MOST_NESTED = 200


class Unsound(ValueError):
    """What is wrong with the document, in half a sentence."""


def check(wire: Any) -> None:
    """Checks a decoded document.

    Raises:
        Unsound: at the first thing that a view could not rely on.
    """
    flow = wire.flow
    if len(flow.nodes) > MOST_NODES or len(flow.edges) > MOST_EDGES:
        raise Unsound(f"it has {len(flow.nodes):,} nodes and {len(flow.edges):,} edges; the limits are {MOST_NODES:,} and {MOST_EDGES:,}")
    _tables(flow)
    nodes = _nodes(flow.nodes, len(flow.locations), len(flow.weights))
    edges = _edges(flow, nodes)
    _plain(flow.facts)
    for finding in wire.findings:
        _finding(finding, nodes, edges)
    if wire.target is not None:
        _target(wire.target)
    _number(wire.seconds, "seconds")
    for verdict in wire.verdicts:
        _verdict(verdict)
    if wire.difference is not None:
        _difference(wire.difference, nodes, edges)


def _tables(flow: Any) -> None:
    for spec in flow.specs:
        _spec(spec)
    for weight in flow.weights:
        _shape(weight.shape)
        _size(weight.copies, "copies of a weight")
    held = 0
    for placement in flow.placements:
        if len(placement.shapes) not in (1, len(flow.devices)) or (len(placement.shapes) == 1 and not flow.devices):
            raise Unsound(f"a placement has {len(placement.shapes)} shapes for {len(flow.devices)} devices")
        for shape in placement.shapes:
            _shape(shape)
        held += len(flow.devices)
    if held > MOST_REPLICAS:
        raise Unsound(f"it places {held:,} tensors; the limit is {MOST_REPLICAS:,}")
    for location in flow.locations:
        _location(location)


def _nodes(nodes: list[Any], locations: int, weights: int) -> set[str]:
    parents: dict[str, str] = {}
    for node in nodes:
        if node.id in parents or not node.id:
            raise Unsound(f"two nodes have the id {node.id[:60]!r}" if node.id else "a node has no id")
        parents[node.id] = node.parent
        for index in (node.location, node.called):
            _index(index, locations, "location")
        for index in node.weights:
            if index < 0:
                raise Unsound(f"weight {index} does not exist")
            _index(index, weights, "weight")
        _size(node.params, "parameters")
        _plain(node.config)
        _path(node.path)
    _depths(parents)
    return set(parents)


def _depths(parents: dict[str, str]) -> None:
    depths = {"": 0}
    for start in parents:
        chain: list[str] = []
        on: set[str] = set()
        at = start
        while at not in depths:
            if at not in parents:
                raise Unsound(f"{chain[-1][:60]!r} is inside {at[:60]!r}, which does not exist")
            if at in on:
                raise Unsound(f"{at[:60]!r} is inside itself")
            on.add(at)
            chain.append(at)
            at = parents[at]
        depth = depths[at]
        for one in reversed(chain):
            depth += 1
            depths[one] = depth
        if depth > MOST_DEPTH:
            raise Unsound(f"it is nested {depth:,} levels deep; the limit is {MOST_DEPTH:,}")


def _edges(flow: Any, nodes: set[str]) -> set[str]:
    known: set[str] = set()
    for edge in flow.edges:
        if edge.id in known:
            raise Unsound(f"two edges have the id {edge.id[:60]!r}")
        known.add(edge.id)
        for end in (edge.source, edge.target):
            if end not in nodes:
                raise Unsound(f"the edge {edge.id[:60]!r} leads to {end[:60]!r}, which does not exist")
        if edge.spec < 0:
            raise Unsound(f"spec {edge.spec} does not exist")
        _index(edge.spec, len(flow.specs), "spec")
        _index(edge.placement, len(flow.placements), "placement")
    return known


def _finding(finding: Finding, nodes: set[str], edges: set[str]) -> None:
    missing = next((name for name in finding.nodes if name not in nodes), None) or next((n for n in finding.edges if n not in edges), None)
    if missing is not None:
        raise Unsound(f"a finding refers to {missing[:60]!r}, which does not exist")
    for side in (finding.expected, finding.found):
        if side is not None and any(not 0 <= index < len(side.axes) for index in side.differs):
            raise Unsound("a finding highlights an axis that does not exist")
    if finding.location is not None:
        _location(finding.location)
    for fix in finding.fixes:
        for edit in fix.edits:
            _plain(edit.detail)
        if fix.effect is not None:
            for shape in (fix.effect.before, fix.effect.after, fix.effect.output):
                _shape(shape)
        if fix.after is not None:
            _after(fix.after, nodes)


def _difference(difference: Any, nodes: set[str], edges: set[str]) -> None:
    for marks, known in ((difference.nodes, nodes), (difference.edges, edges)):
        missing = next((name for name in marks if name not in known), None)
        if missing is not None:
            raise Unsound(f"a difference refers to {missing[:60]!r}, which does not exist")
    _size(difference.same, "the number of equal layers")


def _after(after: After, nodes: set[str]) -> None:
    there = nodes | {node.id for node in after.nodes}
    _depths({node.id: node.parent if node.parent not in nodes else "" for node in after.nodes})
    for spec in after.specs:
        _spec(spec)
    for node in after.nodes:
        _node(node)
    for edge in after.edges:
        if edge.source not in there or edge.target not in there or not 0 <= edge.spec < len(after.specs):
            raise Unsound(f"a fix has the edge {edge.id[:60]!r} between nodes that do not exist")


def _node(node: Node) -> None:
    _size(node.params, "parameters")
    _plain(node.config)
    _path(node.path)
    for weight in node.weights:
        _shape(weight.shape)
    for location in (node.location, node.called):
        if location is not None:
            _location(location)


def _verdict(verdict: Any) -> None:
    for name in ("hbm_bytes", "arguments", "outputs", "temporaries", "code", "unmapped"):
        _size(getattr(verdict, name), name)
    for name in ("seconds", "flops", "moved", "intensity"):
        _number(getattr(verdict, name), name)
    for layer in verdict.layers:
        for number in (layer.bytes, layer.logical, layer.temporaries):
            _size(number, "bytes")
    for buffer in verdict.buffers:
        _shape(buffer.shape)
        _shape(buffer.padded)
        for number in (buffer.bytes, buffer.logical):
            _size(number, "bytes")
    for tried in verdict.tried:
        _size(tried.rows, "rows")
        _size(tried.bytes, "bytes")


def _target(target: Target) -> None:
    for name in ("replicas", "hosts"):
        if not 1 <= getattr(target, name) <= MOST_REPLICAS:
            raise Unsound(f"its target has {getattr(target, name)} {name}")
    _size(target.hbm_bytes, "bytes")


def _spec(spec: Spec) -> None:
    _shape(spec.shape)
    if spec.axes and spec.shape is not None and len(spec.axes) != len(spec.shape):
        raise Unsound(f"a tensor of rank {len(spec.shape)} has {len(spec.axes)} axis names")


def _shape(shape: Shape | None) -> None:
    if shape is None:
        return
    if len(shape) > MOST_RANK:
        raise Unsound(f"a tensor has rank {len(shape)}")
    for size in shape:
        if size is not None:
            _size(size, "an axis")


def _location(location: Location) -> None:
    _size(location.line, "a line")
    _size(location.execution, "a cell")


def _index(index: int, length: int, what: str) -> None:
    if not -1 <= index < length:
        raise Unsound(f"{what} {index} does not exist")


def _size(number: int, what: str) -> None:
    if not 0 <= number <= MOST_SIZE:
        raise Unsound(f"{what} cannot be {str(number)[:40]}")


def _number(number: float, what: str) -> None:
    if not math.isfinite(number) or number < 0:
        raise Unsound(f"{what} cannot be {str(number)[:40]}")


def _path(path: Iterable[str | int]) -> None:
    if sum(1 for _ in path) > MOST_NESTED:
        raise Unsound("a path has too many keys")


def _plain(value: Any) -> None:
    pending = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if depth > MOST_NESTED:
            raise Unsound("a value is nested too deeply")
        if isinstance(one, dict):
            pending += [(inner, depth + 1) for inner in one.values()]
        elif isinstance(one, (list, tuple)):
            pending += [(inner, depth + 1) for inner in one]
