"""A distribution whose mesh has no devices: what it lays out can be lowered on any machine."""

from __future__ import annotations

import copy
from typing import Any

import jax

from ..replicas.layouts import axes_of


def abstract(distribution: Any) -> Any:
    """A copy of a ``keras.distribution`` over an abstract mesh of the same axes; the original is not touched."""
    mesh = copy.copy(distribution.device_mesh)
    mesh._backend_mesh = _mesh(tuple(mesh.shape), tuple(mesh.axis_names))
    made = copy.copy(distribution)
    made._device_mesh = mesh
    held = getattr(distribution, "_layout_map", None)
    if held is not None:
        made._layout_map = type(held)(mesh)
        for key, layout in held.items():
            made._layout_map[key] = type(layout)(layout.axes)
    return made


def sharding(distribution: Any, axes: tuple[str, ...]) -> Any:
    """JAX's sharding for a tensor whose axes lie so."""
    return jax.sharding.NamedSharding(distribution.device_mesh.backend_mesh, jax.sharding.PartitionSpec(*(axis or None for axis in axes)))


def data_sharding(distribution: Any, shape: tuple[int, ...]) -> Any:
    """JAX's sharding for a batch of this shape, as Keras' trainer lays it."""
    return sharding(distribution, axes_of(distribution.get_data_layout(shape)) if shape else ())


def _mesh(sizes: tuple[int, ...], names: tuple[str, ...]) -> Any:
    try:
        return jax.sharding.AbstractMesh(sizes, names)
    except TypeError:  # before 0.5 it takes pairs
        return jax.sharding.AbstractMesh(tuple(zip(names, sizes, strict=True)))  # type: ignore[arg-type, call-arg]
