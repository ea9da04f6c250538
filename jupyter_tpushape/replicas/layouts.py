"""Which axis of a tensor is sharded over which mesh axis in a ``keras.distribution``, and the shard on each device."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..flow import Shape, Target

# One name of a mesh's axis for each axis of a tensor, ``""`` where the axis is whole on every device. Trailing ones may be left out.
Axes = tuple[str, ...]


@dataclass(frozen=True)
class Mesh:
    """Devices under named axes. ``batch`` is the axis that shards the data."""

    sizes: tuple[tuple[str, int], ...]
    batch: str = ""

    @property
    def devices(self) -> int:
        """The number of devices."""
        count = 1
        for _, size in self.sizes:
            count *= size
        return count

    def size(self, axis: str) -> int:
        """Devices along an axis; 1 for ``""``."""
        return dict(self.sizes).get(axis, 1)

    def undivided(self, shape: Sequence[int | None], axes: Axes) -> tuple[int, str] | None:
        """The first axis of a tensor whose size is not a multiple of its mesh axis, with the mesh axis's name."""
        for place, (size, axis) in enumerate(zip(shape, axes, strict=False)):
            if size is not None and size % self.size(axis):
                return place, axis
        return None

    def shard(self, shape: Shape, axes: Axes) -> Shape:
        """The shape of each device's shard of a tensor that divides evenly."""
        cut = [*axes, *[""] * len(shape)][: len(shape)]
        return tuple(None if size is None else size // self.size(axis) for size, axis in zip(shape, cut, strict=True))

    def copies(self, axes: Axes) -> int:
        """The number of devices that have the same shard of a tensor."""
        used = {axis for axis in axes if axis}
        count = 1
        for name, size in self.sizes:
            count *= 1 if name in used else size
        return count

    def __str__(self) -> str:
        return " × ".join(f"{name} {size}" for name, size in self.sizes)


def mesh_of(distribution: Any) -> Mesh:
    """The mesh of a ``keras.distribution``."""
    mesh = distribution.device_mesh
    return Mesh(tuple((str(name), int(size)) for name, size in zip(mesh.axis_names, mesh.shape, strict=True)), str(distribution.batch_dim_name or ""))


def axes_of(layout: Any) -> Axes:
    """The axes of a Keras tensor layout or a JAX sharding."""
    axes = getattr(layout, "axes", None)
    return tuple(str(axis) if axis is not None else "" for axis in (axes if axes is not None else getattr(layout, "spec", ()) or ()))


def variable_axes(distribution: Any, variable: Any) -> Axes:
    """A variable's layout under a distribution, from Keras: the one that it was created with, otherwise the layout map's.

    Raises:
        ValueError: Keras' own, where two keys of a layout map fit its path; and where a key is no regular expression.
    """
    try:
        return axes_of(distribution.get_variable_layout(variable))
    except re.error as error:
        raise ValueError(str(error)) from error


def parse_mesh(text: str) -> dict[str, int]:
    """``"batch=2,model=4"`` as sizes by name.

    Raises:
        ValueError: in one line that says what to type.
    """
    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, _, size = (piece.strip() for piece in part.partition("="))
        if not name.isidentifier() or not size.isdigit() or not int(size) or name in sizes:
            raise ValueError(f'{text!r} is not a mesh. Write its axes with their sizes: "batch=2,model=4".')
        sizes[name] = int(size)
    return sizes


def planned(sizes: Mapping[str, int], layout: Any = None) -> Any:
    """A ``keras.distribution`` over a mesh of devices that do not have to exist on this machine.

    Args:
        sizes: the mesh's axes; the first one is the batch's. layout: a ``LayoutMap``, a dict of its entries, a function of the mesh that
            makes one, or nothing: then every device holds all variables.

    Raises:
        ValueError: Keras' own, for a layout that names no axis of the mesh; and for what is no layout.
    """
    from keras import distribution as keras_distribution

    count = Mesh(tuple(sizes.items())).devices
    mesh = keras_distribution.DeviceMesh(tuple(sizes.values()), list(sizes), devices=[f"tpu:{i}" for i in range(count)])
    if inspect.isroutine(layout):
        try:
            layout = layout(mesh)
        except Exception as error:
            raise ValueError(f"{layout.__name__} raises an error when it is called with the mesh ({type(error).__name__}: {error}). Fix that first.") from error
    if layout is None and len(sizes) == 1:
        return keras_distribution.DataParallel(device_mesh=mesh)
    entries = dict(layout.items()) if isinstance(layout, Mapping) else {} if layout is None else None
    if entries is None:
        raise ValueError(f"A layout must be a keras.distribution.LayoutMap or a dict of its entries, but got {type(layout).__name__}.")
    made = keras_distribution.LayoutMap(mesh)
    for key, axes in entries.items():
        made[key] = tuple(axis or None for axis in axes_of(axes)) if hasattr(axes, "axes") else tuple(axes)
    return keras_distribution.ModelParallel(layout_map=made)


def over(target: Target) -> Any:
    """``DataParallel`` over all devices of a planned slice."""
    return planned({"batch": target.replicas})
