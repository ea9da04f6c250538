"""Shapes and dtypes of single tensors and of their replicas."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Shape = tuple[int | None, ...]


class Spec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Shape and dtype of one tensor.

    ``shape`` has one entry per axis, an int or ``None`` if it is unknown; ``shape`` itself is
    ``None`` if the rank is unknown. ``dtype`` is a framework-neutral name such as
    ``"float32"``. ``axes`` names each axis (``"batch"``, ``"time"``, ...) if known.
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
    """The part of a tensor on one replica: its shape and its device."""

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
    """The number of elements, or ``None`` if an axis is unknown."""
    if shape is None or None in shape:
        return None
    total = 1
    for n in shape:
        total *= n or 0
    return total


def sizes_of(text: str) -> Shape:
    """The shape that a message gives as sizes between commas; what is no number is unknown."""
    return tuple(int(part) if part.strip().isdigit() else None for part in text.split(",") if part.strip())


def either_of(found: re.Match[str], *groups: int) -> str:
    """What the first of these groups that took part in a match has: nothing at all is the shape of a scalar."""
    return next((found[group] for group in groups if found[group] is not None), "")
