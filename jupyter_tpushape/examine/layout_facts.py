"""A layout map and the variables that it lays out, as plain values for the rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..replicas.layouts import Axes, Mesh, axes_of, mesh_of


@dataclass(frozen=True)
class Entry:
    """One entry of a layout map: a regular expression that has to fit a whole path, and the layout."""

    key: str
    axes: Axes


@dataclass(frozen=True)
class Laid:
    """What a distribution does.

    Attributes:
        variables: ``(path, shape, bytes, trainable)`` of the model's. outputs: the paths of layers' outputs, which a map may name as well.
        taken: layouts of variables that were made under the distribution, by path: they stay, whatever the map says.
    """

    mesh: Mesh
    entries: tuple[Entry, ...] = ()
    variables: tuple[tuple[str, tuple[int, ...], int, bool], ...] = ()
    outputs: tuple[str, ...] = ()
    maps: bool = False
    taken: dict[str, Axes] = field(default_factory=dict)

    def fits(self, path: str) -> list[Entry]:
        """The entries that a path takes its layout from, as Keras looks them up; more than one is an error."""
        exact = [entry for entry in self.entries if entry.key == path]
        return exact or [entry for entry in self.entries if _whole(entry.key, path)]

    def axes(self, path: str) -> Axes | None:
        """A variable's layout, ``()`` where it is whole on every device, ``None`` where two entries fit."""
        if path in self.taken:
            return self.taken[path]
        found = self.fits(path)
        return found[0].axes if len(found) == 1 else None if found else ()

    @property
    def sound(self) -> bool:
        """Whether every variable can be laid as the map says."""
        for path, shape, _, _ in self.variables:
            axes = self.axes(path)
            if axes is None or len(axes) > len(shape) or self.mesh.undivided(shape, axes):
                return False
        return True


def _whole(key: str, path: str) -> bool:
    try:
        return re.fullmatch(key, path) is not None
    except re.error:
        return False


def laid_out(adapter: Any, model: Any, distribution: Any) -> Laid:
    """Reads a distribution and a model."""
    held = getattr(distribution, "_layout_map", None)
    variables = adapter.variables(model)
    taken = {str(one.path): axes_of(one._layout) for one in variables if getattr(one, "_layout", None) is not None}
    return Laid(
        mesh_of(distribution),
        tuple(Entry(str(key), axes_of(layout)) for key, layout in held.items()) if held is not None else (),
        tuple((str(one.path), tuple(int(n) for n in one.shape), _bytes(one), bool(one.trainable)) for one in variables),
        tuple(f"{getattr(layer, 'path', None) or layer.name}/output" for layer in model._flatten_layers(include_self=True, recursive=True)),
        held is not None,
        taken,
    )


def _bytes(variable: Any) -> int:
    count = 1
    for size in variable.shape:
        count *= int(size)
    digits = "".join(character for character in str(variable.dtype) if character.isdigit())
    return count * (int(digits) // 8 if digits else 1)
