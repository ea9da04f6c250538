"""A batch laid over a mesh of devices, as ``keras.distribution`` does it: one program, the batch axis cut into equal parts.

A part has to be whole on every device: a batch that does not divide, the last one included, raises in ``jax.device_put``.
"""

from __future__ import annotations

import sys
from typing import Any

from ..flow import Target
from ..sources.values import Sample
from .split import Split, partial_rows


def live_distribution() -> Any:
    """The ``keras.distribution`` that is set, or ``None``; imports nothing."""
    distribution = getattr(sys.modules.get("keras"), "distribution", None)
    ask = getattr(distribution, "distribution", None)
    return ask() if ask is not None else None


def is_distribution(value: Any) -> bool:
    """Whether this is a distribution of Keras 3."""
    return any(base.__name__ == "Distribution" and base.__module__.startswith("keras.src.distribution") for base in type(value).__mro__)


def of_distribution(distribution: Any) -> Target:
    """A distribution as the flow's target: as many replicas as the batch axis is cut into."""
    kind = type(distribution).__name__
    return Target(kind, parts_of(distribution), 1, "", 0, kind, live=True)


def parts_of(distribution: Any) -> int:
    """Into how many parts a distribution cuts the batch axis."""
    mesh = distribution.device_mesh
    sizes = dict(zip(mesh.axis_names, mesh.shape, strict=True))
    return int(sizes.get(distribution.batch_dim_name, 1))


def plan_mesh(sample: Sample, target: Target, distribution: Any = None) -> Split:
    """How a batch lies on the devices: of a live distribution's mesh, or of ``DataParallel`` over all chips of a planned slice."""
    if distribution is not None:
        devices = tuple(str(device) for device in distribution.device_mesh.devices.flatten())
        parts = parts_of(distribution)
    else:
        devices = tuple(f"tpu:{index}" for index in range(target.replicas))
        parts = target.replicas
    leaf = next((leaf for _, leaf in sample.leaves()), None)
    first = leaf.shape[0] if leaf is not None and leaf.shape else None
    partial = partial_rows(sample)
    others = tuple(size for size in sample.batch_sizes if size not in (sample.batch, partial))
    return Split(
        len(devices), devices, sample.batch, "mesh", static=first, partial=partial, sizes=others, genuine=distribution is not None, parts=parts,
    )  # fmt: skip
