"""A distribution whose mesh has no devices: what it lays out can be lowered on any machine."""

from __future__ import annotations

import copy
from typing import Any

import jax

from ..replicas.layouts import axes_of


def abstract(distribution: Any) -> Any:
    """A copy of a ``keras.distribution`` that lays tensors over an abstract mesh of the same axes; the original is not touched."""
    mesh = distribution.device_mesh
    made = copy.copy(distribution)
    made.abstract_mesh = _mesh(tuple(mesh.shape), tuple(mesh.axis_names))

    def get_tensor_layout(path: str) -> Any:
        layout = distribution.get_tensor_layout(path)
        return sharding(made, axes_of(layout)) if layout is not None else None

    made.get_tensor_layout = get_tensor_layout
    return made


def sharding(made: Any, axes: tuple[str, ...]) -> Any:
    """JAX's sharding for a tensor whose axes lie so, over the mesh that :func:`abstract` made."""
    return jax.sharding.NamedSharding(made.abstract_mesh, jax.sharding.PartitionSpec(*(axis or None for axis in axes)))


def data_sharding(made: Any, shape: tuple[int, ...]) -> Any:
    """JAX's sharding for a batch of this shape, as Keras' trainer lays it."""
    return sharding(made, axes_of(made.get_data_layout(shape)) if shape else ())


def _mesh(sizes: tuple[int, ...], names: tuple[str, ...]) -> Any:
    try:
        return jax.sharding.AbstractMesh(sizes, names)
    except TypeError:  # before 0.5 it takes pairs
        return jax.sharding.AbstractMesh(tuple(zip(names, sizes, strict=True)))
