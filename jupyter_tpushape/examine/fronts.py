"""The nodes before a model: the stages of the data, and its split over the replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..flow import KeyPath, Location, Shape, Spec
from ..flow.paths import flatten, subscript
from ..trace.assemble import Assembler
from ..trace.locations import location
from ..trace.ran import leaves
from .program import Examined


def place_of(seen: Examined) -> Callable[[Shape | None], tuple[Any, ...]]:
    """Every replica's index, device and shape of a tensor whose batch axis is the replica's."""
    split = seen.evidence.split
    if split is None:
        return lambda _: ()
    batch = next((spec.shape[0] for _, spec in seen.evidence.x if spec.shape), None)
    rows = split.rows(global_batch(seen))
    devices = split.devices

    def place(shape: Shape | None) -> tuple[Any, ...]:
        held = []
        for index, device in enumerate(devices):
            mine = shape
            if shape and batch is not None and shape[0] == batch and index < len(rows):
                mine = (rows[index], *shape[1:])
            held.append((index, device, mine))
        return tuple(held)

    return place


def global_batch(seen: Examined) -> int:
    _, found = leaves(seen.sample.x, lambda leaf: leaf.concrete if leaf.concrete is not None else leaf.shape, "x")
    return next((leaf.spec.shape[0] or 0 for leaf in found if leaf.spec.shape), 0)


def front(seen: Examined, assembler: Assembler) -> str | None:
    """The stages and the split; returns the node that feeds the inputs."""
    sample, evidence = seen.sample, seen.evidence
    if sample is None:
        return None
    feeder: str | None = None
    made: dict[str, tuple[str, Any]] = {}
    for stage in sample.stages:
        node = assembler.node(
            None, name=stage.name, kind="stage", op=stage.op, config=dict(stage.detail), location=_line_of(stage),
            note=getattr(stage, "function", "") or "",
        )  # fmt: skip
        for name in stage.inputs:
            if name in made:
                source, before = made[name]
                for path, leaf in flatten(before.spec):
                    assembler.edge(source, node.id, Spec(leaf.shape, leaf.dtype, leaf.kind), label=_element(path), placed=False)
        made[stage.name] = (node.id, stage)
        feeder = node.id
    if evidence.split is not None and evidence.target is not None:
        target = evidence.target
        node = assembler.node(None, name=f"split over {target.replicas}", kind="split", op="split", config=evidence.split.describe())
        batch = global_batch(seen)
        held = evidence.split.rows(batch)
        even = len(set(held)) == 1
        whom = "parts" if evidence.split.one_program else "replicas"
        shared = f"{held[0]} each" if even else ", ".join(map(str, held[:16])) or "it does not divide"
        node.note = f"{batch} rows ÷ {evidence.split.parts or target.replicas} {whom} = {shared}"
        for role, label in (("x", ""), ("y", "labels"), ("weight", "weights")):
            _, found = leaves(getattr(sample, role), lambda leaf: leaf.shape, role)
            for leaf in found:
                if feeder is not None:
                    assembler.edge(feeder, node.id, leaf.spec, key=id(leaf), label=label or (leaf.name if len(found) > 1 else ""), placed=False)
        feeder = node.id
    return feeder


def _line_of(stage: Any) -> Location | None:
    made = getattr(stage, "location", None)
    return None if made is None else location((made.file, made.line))


def _element(path: KeyPath) -> str:
    return path[0] if len(path) == 1 and isinstance(path[0], str) else subscript(path)
