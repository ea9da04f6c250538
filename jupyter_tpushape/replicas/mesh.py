"""A batch sharded over a mesh of devices, as ``keras.distribution`` does it: one program, with the batch axis split into equal parts.

A batch that does not divide evenly, including the last one, raises in ``jax.device_put``.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from ..flow import MeshAxis, Target
from ..sources.values import Sample
from .layouts import Mesh, mesh_of, parse_mesh, planned
from .split import Split, partial_rows
from .targets import target


def live_distribution() -> Any:
    """The ``keras.distribution`` that is set, or ``None``; imports nothing."""
    distribution = getattr(sys.modules.get("keras"), "distribution", None)
    ask = getattr(distribution, "distribution", None)
    return ask() if ask is not None else None


def unset_distribution() -> None:
    """Takes back the ``keras.distribution`` that is set."""
    if live_distribution() is not None:
        sys.modules["keras"].distribution.set_distribution(None)


def is_distribution(value: Any) -> bool:
    """Whether this is a distribution of Keras 3."""
    return any(base.__name__ == "Distribution" and base.__module__.startswith("keras.src.distribution") for base in type(value).__mro__)


def of_distribution(distribution: Any, slice_name: str | None = None) -> Target:
    """A distribution as the flow's target: the slice that it is planned for, or as many replicas as the batch axis has shards.

    Raises:
        ValueError: if the mesh and the slice have different numbers of devices.
    """
    kind, mesh = type(distribution).__name__, mesh_of(distribution)
    if slice_name is None:
        return Target(kind, parts_of(distribution), 1, "", 0, kind, live=True, mesh=_axes(mesh))
    planned = target(slice_name)
    if mesh.devices != planned.replicas:
        raise ValueError(f"{planned.name} has {planned.replicas} devices, but the mesh ({mesh}) has {mesh.devices}.")
    return msgspec.structs.replace(planned, strategy=kind, mesh=_axes(mesh))


def typed(mesh: str | None, layout: Any = None, slice_name: str | None = None) -> Any:
    """The ``keras.distribution`` for ``--mesh`` and ``--layout``; ``None`` if neither was passed.

    Args:
        mesh: ``"batch=2,model=4"``. layout: what :func:`planned` takes, or a distribution, which has its own mesh.
        slice_name: the target's name, ``None`` or ``"none"`` without one.

    Raises:
        ValueError: in one line that says what to type.
    """
    if mesh is None and layout is None:
        return None
    if mesh is None and not is_distribution(layout):
        raise ValueError('A layout needs a mesh. Add --mesh, such as --mesh "batch=2,model=4".')
    sizes = parse_mesh(mesh) if mesh is not None else {}
    from keras import config

    if config.backend() != "jax":
        raise ValueError("Meshes require Keras on JAX. Set KERAS_BACKEND=jax before importing Keras.")
    if sizes and is_distribution(layout):
        raise ValueError("A distribution already has a mesh. Remove --mesh, or pass the LayoutMap instead.")
    made = layout if not sizes else planned(sizes, layout)
    of_distribution(made, slice_name if slice_name not in ("none", "auto") else None)
    return made


def _axes(mesh: Mesh) -> tuple[MeshAxis, ...]:
    return tuple(MeshAxis(name, size) for name, size in mesh.sizes)


def parts_of(distribution: Any) -> int:
    """The number of shards of the batch axis under a distribution."""
    mesh = mesh_of(distribution)
    return mesh.size(mesh.batch)


def plan_mesh(sample: Sample, planned: Target, distribution: Any = None) -> Split:
    """How a batch is sharded over the devices: of a live distribution's mesh, or of ``DataParallel`` over all chips of a planned slice."""
    if distribution is not None:
        devices = tuple(str(device) for device in distribution.device_mesh.devices.flatten())
        parts = parts_of(distribution)
    else:
        devices = tuple(f"tpu:{index}" for index in range(planned.replicas))
        parts = planned.replicas
    leaf = next((leaf for _, leaf in sample.leaves()), None)
    first = leaf.shape[0] if leaf is not None and leaf.shape else None
    partial = partial_rows(sample)
    others = tuple(size for size in sample.batch_sizes if size not in (sample.batch, partial))
    return Split(
        len(devices), devices, sample.batch, "mesh", static=first, partial=partial, sizes=others, genuine=distribution is not None, parts=parts,
    )  # fmt: skip
