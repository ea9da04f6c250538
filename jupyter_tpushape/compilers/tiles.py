"""Tiled layouts as the TPU compiler writes them, ``f32[129,129]{1,0:T(8,128)}``, and the bytes they take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, prod

_BITS = {
    "pred": 8, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128, "f8e5m2": 8, "f8e4m3fn": 8,
}  # fmt: skip
_ARRAY = re.compile(r"(?<!\w)(\w+)\[([\d,<=]*)\](?:\{([\d,]*)(?::([^{}]*))?\})?")
_TILE = re.compile(r"T((?:\([\d,*]*\))+)")


@dataclass(frozen=True)
class Laid:
    """One tensor as laid out. ``padded``: its shape with every tile filled. Sizes in bytes."""

    dtype: str
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    bytes: int
    logical: int


def parse(text: str) -> list[Laid]:
    """Every array of a layout text, in its order."""
    return [_laid(*match.groups()) for match in _ARRAY.finditer(_bare(text))]


def _bare(text: str) -> str:
    first, *others = text.split("/*")
    return first + "".join(after if closed else f"/*{inside}" for inside, closed, after in (other.partition("*/") for other in others))


def entry(layout: str) -> tuple[list[Laid], list[Laid]]:
    """The arguments and the outputs of ``(f32[...]..., ...)->(...)``."""
    arguments, _, outputs = layout.rpartition("->")
    return parse(arguments), parse(outputs)


def _laid(dtype: str, dims: str, order: str | None, rest: str | None) -> Laid:
    shape = tuple(int(n.lstrip("<=")) for n in dims.split(",") if n)
    minor = [int(n) for n in (order or "").split(",") if n] or list(reversed(range(len(shape))))
    bits = _BITS.get(dtype, 32)
    major_to_minor = [shape[axis] for axis in reversed(minor)]
    found = _TILE.search(rest or "")
    tiles = [[int(n) for n in part.split(",") if n] for part in re.findall(r"\(([\d,]*)\)", found.group(1))] if found else []
    filled = list(major_to_minor)
    if tiles and tiles[0]:
        # The first tile covers the minor axes; the ones after it order what is inside.
        tile = tiles[0]
        if len(tile) > len(filled):
            filled = [1] * (len(tile) - len(filled)) + filled
        for i, size in enumerate(tile):
            axis = len(filled) - len(tile) + i
            filled[axis] = ceil(filled[axis] / size) * size
    padded = list(shape)
    if len(filled) == len(shape):
        for axis, size in zip(reversed(minor), filled, strict=True):
            padded[axis] = size
    return Laid(dtype, shape, tuple(padded), prod(filled) * bits // 8, ceil(prod(shape) * bits / 8))
