"""A few layouts of a model's variables over a slice, derived from their shapes alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..replicas.layouts import Axes, axes_of, mesh_of, planned
from ..rules.facts.layouts import laid

GIVEN = "the given layout"
Variable = tuple[str, tuple[int, ...]]
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Candidate:
    """One layout: its name, the mesh's axes with their sizes, and the layout map's entries."""

    name: str
    mesh: dict[str, int]
    layout: dict[str, Axes]

    def distribution(self) -> Any:
        """It as a ``keras.distribution``, planned for devices that need not be here."""
        entries = {key: tuple(axis or None for axis in axes) for key, axes in self.layout.items()}
        return planned(self.mesh, entries or None)

    @property
    def source(self) -> str:
        """The code that creates it in a program."""
        axes, sizes = list(self.mesh), tuple(self.mesh.values())
        lines = ["import keras", "", f"mesh = keras.distribution.DeviceMesh({sizes}, {axes}, keras.distribution.list_devices())"]
        if not self.layout:
            lines.append("distribution = keras.distribution.DataParallel(device_mesh=mesh)")
        else:
            lines.append("layout = keras.distribution.LayoutMap(mesh)")
            lines += [f'layout[r"{key}"] = {tuple(axis or None for axis in axes)}' for key, axes in self.layout.items()]
            lines.append(f"distribution = keras.distribution.ModelParallel(layout_map=layout, batch_dim_name={axes[0]!r})")
        return "\n".join([*lines, "keras.distribution.set_distribution(distribution)"])


def candidates(variables: list[Variable], devices: int, rows: int) -> Iterator[Candidate]:
    """Data parallel; tensor parallel over some or all devices; fully sharded. What does not divide is left out.

    Args:
        variables: ``(path, shape)`` of the model's. devices: of the slice. rows: of a global batch.
    """
    if rows % devices == 0:
        yield Candidate("data parallel", {"batch": devices}, {})
    for parts in (part for part in (2, 4, 8) if devices % part == 0 and rows % (devices // part) == 0):
        layout = dict(_entries(variables, parts, _along_units))
        if layout:
            yield Candidate(f"tensor parallel over {parts}", {"batch": devices // parts, "model": parts}, layout)
    layout = dict(_entries(variables, devices, _along_largest))
    if layout and rows % devices == 0:
        yield Candidate("fully sharded", {"batch": devices}, layout)


def given(distribution: Any, variables: list[Variable]) -> Iterator[Candidate]:
    """A layout as it is, and with the two axes of one entry exchanged, for each entry whose variables then still divide."""
    mesh = mesh_of(distribution)
    layout = {str(key): axes_of(entry) for key, entry in (getattr(distribution, "_layout_map", None) or {}).items()}
    yield Candidate(GIVEN, dict(mesh.sizes), layout)
    for key, axes in layout.items():
        places = [place for place, axis in enumerate(axes) if axis]
        if len(axes) == 2 or len(places) == 2:
            one, other = places if len(places) == 2 else (0, 1)
            new = tuple(axes[other] if i == one else axes[one] if i == other else axis for i, axis in enumerate(axes))
            if new != axes and not any(mesh.undivided(shape, new) for path, shape in variables if re.fullmatch(key, path)):
                yield Candidate(f"{GIVEN}, {key!r} as {laid(new)}", dict(mesh.sizes), {**layout, key: new})


def together(tried: list[tuple[Candidate, int]], layout: dict[str, Axes]) -> Candidate | None:
    """The given layout with every exchange that sends less by itself; ``None`` where there are not several. ``tried``: with the bytes sent."""
    before = next(sent for one, sent in tried if one.layout == layout)
    better = [one for one, sent in tried if sent < before]
    changed = {key: axes for one in better for key, axes in one.layout.items() if layout[key] != axes}
    return Candidate(f"{GIVEN}, {len(changed)} keys changed", better[0].mesh, {**layout, **changed}) if len(changed) > 1 else None


def _entries(variables: list[Variable], parts: int, choose: Any) -> Iterator[tuple[str, Axes]]:
    """An entry for each kind of variable: layers that differ in their number alone share one."""
    kinds: dict[str, list[tuple[int, ...]]] = {}
    for path, shape in variables:
        kinds.setdefault(r"\d+".join(map(re.escape, _NUMBER.split(path))).replace(r"\_", "_").replace(r"\-", "-"), []).append(shape)
    for key, shapes in kinds.items():
        chosen = {choose(shape, parts) for shape in shapes}
        axes = chosen.pop()
        if not chosen and any(axes):
            yield key, axes


def _along_units(shape: tuple[int, ...], parts: int) -> Axes:
    """A kernel cut by its hidden units or its heads: what widens by its columns, and what narrows again by its rows, so that only the second
    needs a sum over devices."""
    if len(shape) == 2 and shape[0] != shape[1]:
        place = int(shape[1] > shape[0])
    elif len(shape) == 3 and shape[0] == shape[1] * shape[2]:
        place = 1  # into heads
    elif len(shape) == 3 and shape[2] == shape[0] * shape[1]:
        place = 0  # out of heads
    else:
        return ()
    return tuple("model" if i == place else "" for i in range(len(shape))) if shape[place] % parts == 0 else ()


def _along_largest(shape: tuple[int, ...], parts: int) -> Axes:
    """Every variable of two axes or more in as many parts as there are devices, along its largest axis that divides."""
    places = [i for i, size in enumerate(shape) if size % parts == 0]
    if len(shape) < 2 or not places:
        return ()
    place = max(places, key=lambda i: shape[i])
    return tuple("batch" if i == place else "" for i in range(len(shape)))
