"""Shapes and dtypes of single tensors, and where their replicas live."""

from __future__ import annotations

from typing import Literal

import msgspec

Shape = tuple[int | None, ...]


class Spec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Shape and dtype of one tensor.

    ``shape`` holds one entry an axis, an int or ``None`` where it is unknown; ``shape`` itself is
    ``None`` where not even the rank is known. ``dtype`` is a framework-neutral name such as
    ``"float32"``. ``axes`` names each axis (``"batch"``, ``"time"``, ...) where that is known.
    """

    shape: Shape | None
    dtype: str
    kind: Literal["dense", "ragged", "sparse"] = "dense"
    axes: tuple[str, ...] = ()

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def static(self) -> bool:
        """Whether every axis is known."""
        return self.shape is not None and None not in self.shape

    def __str__(self) -> str:
        return f"{show_shape(self.shape)} {self.dtype}"


class Replica(msgspec.Struct, frozen=True):
    """What one replica holds of one tensor: its shape there and the device it is on."""

    index: int
    device: str
    shape: Shape | None


def show_shape(shape: Shape | None) -> str:
    """``(8, 26, 26, 32)``, with ``?`` for an unknown axis and ``(...)`` for an unknown rank."""
    if shape is None:
        return "(...)"
    inner = ", ".join("?" if n is None else str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def elements(shape: Shape | None) -> int | None:
    """The product of the axes, or ``None`` where one is unknown."""
    if shape is None or None in shape:
        return None
    total = 1
    for n in shape:
        total *= n or 0
    return total
