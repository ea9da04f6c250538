"""Where the parts of tensors and weights lie on a mesh: layouts by Keras' own code, and what they become on their way through the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..flow import Edge, Replica
from ..flow.paths import map_leaves
from ..replicas import is_distribution
from ..replicas.layouts import Axes, Mesh, axes_of, mesh_of, variable_axes
from ..trace.framework import LAID
from ..trace.patience import ENDS, limited
from ..trace.ran import leaves
from ..trace.restore import left_as_found
from .layout_facts import Laid, laid_out
from .program import Examined, shape_of


@contextmanager
def weights_laid(strategy: Any) -> Iterator[None]:
    """Inside, weights bear the layout that a distribution gives their variables."""
    if not is_distribution(strategy):
        yield
        return
    mesh = mesh_of(strategy)

    def laid(variable: Any) -> dict[str, Any]:
        shape = tuple(int(n) for n in variable.shape)
        try:
            axes = variable_axes(strategy, variable)
        except ValueError:  # two keys of the map fit; a rule says so
            return {}
        whole = _padded(axes, len(shape))
        if len(axes) > len(shape) or mesh.undivided(shape, axes):
            return {"layout": whole}
        return {"layout": whole, "shard": mesh.shard(shape, axes)}

    token = LAID.set(laid)
    try:
        yield
    finally:
        LAID.reset(token)


def place(seen: Examined) -> None:
    """Puts layouts and every device's shapes on the edges of a flow that was traced to its end, and gathers what rules read."""
    distribution, adapter = seen.program.strategy, seen.adapter
    if not is_distribution(distribution) or adapter is None or adapter.backend.replicated or not adapter.is_model(seen.model):
        return
    names = tuple(map(str, distribution.device_mesh.axis_names))
    batch = str(getattr(distribution, "batch_dim_name", names[0]))
    if batch not in names:
        seen.evidence.facts["batch_axis"] = batch, names
        return
    facts = laid_out(adapter, seen.model, distribution, seen.recorder, _made(seen))
    facts = seen.evidence.facts["layout"] = dataclasses.replace(facts, given=tuple(_given(seen, facts)))
    if seen.run is None or seen.evidence.split is None:
        return
    mesh, devices = mesh_of(distribution), seen.evidence.split.devices
    known = _of_data(seen, distribution) if seen.error is None else {}
    changing = _several(mesh, facts)
    if seen.error is None and facts.sound and changing:
        known.update(_followed(seen, distribution))
    for edge in seen.evidence.flow.edges:
        axes = known.get(edge.id)
        if axes is None and edge.replicas:
            # Where weights are cut, only the compiler knows how it lays what is not followed.
            axes = None if changing else _along_batch(edge, mesh)
            edge.replicas = () if changing else edge.replicas
        if axes is not None and edge.spec.shape is not None and not mesh.undivided(edge.spec.shape, axes):
            edge.layout = _padded(axes, len(edge.spec.shape))
            shard = mesh.shard(edge.spec.shape, edge.layout)
            edge.replicas = tuple(Replica(index, device, shard) for index, device in enumerate(devices))


def _given(seen: Examined, facts: Laid) -> Iterator[tuple[str, tuple[int, ...]]]:
    shapes = {}
    for call in seen.run.recorder.calls if seen.run is not None else ():
        path = f"{getattr(call.obj, 'path', None) or getattr(call.obj, 'name', '')}/output"
        if call.kind == "layer" and len(call.outputs) == 1 and path in facts.outputs and facts.fits(path):
            shape = call.outputs[0].spec.shape
            if shape is not None and all(isinstance(size, int) for size in shape):
                shapes[path] = tuple(size for size in shape if size is not None)
    yield from shapes.items()


def _made(seen: Examined) -> list[Any]:
    return [one for one in seen.run.recorder.variables if hasattr(one, "path")] if seen.run is not None else []


def _padded(axes: Axes, rank: int) -> Axes:
    return (*axes, *[""] * rank)[: max(rank, len(axes))]


def _several(mesh: Mesh, facts: Laid) -> bool:
    return any(axis and mesh.size(axis) > 1 for entry in facts.entries for axis in entry.axes)


def _along_batch(edge: Edge, mesh: Mesh) -> Axes | None:
    shape, held = edge.spec.shape, edge.replicas[0].shape
    if not shape or not held:
        return None
    return (mesh.batch,) if held[0] != shape[0] or mesh.size(mesh.batch) == 1 else ("",)


def _of_data(seen: Examined, distribution: Any) -> dict[str, Axes]:
    flow = seen.evidence.flow
    split = {node.id for node in flow.nodes if node.kind == "split"}
    return {
        edge.id: axes_of(distribution.get_data_layout(edge.spec.shape))
        for edge in flow.edges
        if edge.spec.shape and (edge.source in split or edge.id in seen.evidence.paths)
    }


def _followed(seen: Examined, distribution: Any) -> dict[str, Axes]:
    adapter, model, traced = seen.adapter, seen.model, seen.run
    assert adapter is not None and traced is not None
    nest, given = leaves(seen.sample.x, shape_of(seen), "x")
    if any(leaf.spec.kind != "dense" or not leaf.spec.static for leaf in given):
        return {}
    try:
        with left_as_found([adapter], [model]), limited("Tracing layouts through the model"):
            told = adapter.backend.layouts(adapter, model, map_leaves(lambda leaf: leaf.spec, nest), distribution)
    except ENDS:
        return {}
    times: dict[int, list[Axes | None]] = {}
    for obj, axes in told:
        times.setdefault(id(obj), []).append(axes)
    outputs: dict[tuple[int, int], Axes | None] = {}
    for call in traced.recorder.calls:
        laid = times.get(id(call.obj)) if call.obj is not None else None
        for port in call.outputs if laid else ():
            if laid:
                outputs[id(call), port.key] = outputs[id(call), 0] = laid.pop(0)
        if len(call.outputs) > 1:
            outputs.pop((id(call), 0), None)
    found: dict[str, Axes] = {}
    for edge, key in _makers(seen):
        # A loss is given a stand-in for the only tensor that its layer gives.
        axes = outputs.get(key, outputs.get((key[0], 0)))
        if axes is not None:
            found[edge] = axes
    return found


def _makers(seen: Examined) -> Iterator[tuple[str, tuple[int, int]]]:
    assert seen.run is not None
    for call in seen.run.recorder.calls:
        for port in call.inputs:
            edge = seen.edge_ids.get((id(call), port.key))
            if edge is not None and port.producer is not None:
                yield edge, (id(port.producer), port.key)
    for _, port in seen.run.outputs:
        edge = seen.edge_ids.get((0, id(port)))
        if edge is not None and port.producer is not None:
            yield edge, (id(port.producer), port.key)
