"""The algebra of axes: the size of an axis as an expression of the data's axes, of arguments, and of what layers do to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

Padding = Literal["valid", "same", "causal"]


class Size(msgspec.Struct, frozen=True):
    """The base of the expressions. ``who`` names the layer that made the size; an input is named by :class:`Axis` itself."""

    who: str


class Axis(Size, frozen=True):
    """An axis of the data: ``axis`` of the input ``who``, of ``size`` where it is known. Axis 0 is the batch."""

    axis: int
    size: int | None


class Given(Size, frozen=True):
    """A number that stands in the program as ``argument`` of a layer."""

    argument: str
    size: int


class Opaque(Size, frozen=True):
    """A size that was seen, and whose origin is not followed."""

    size: int | None


class Slid(Size, frozen=True):
    """A window slides over ``of``: a convolution or a pooling. ``window`` counts the dilation."""

    of: Size
    window: int
    stride: int
    padding: Padding


class Spread(Size, frozen=True):
    """A transposed convolution spreads ``of``. ``extra``: its output padding, ``None`` where none was given."""

    of: Size
    window: int
    stride: int
    padding: Padding
    extra: int | None


class Scaled(Size, frozen=True):
    """``of`` times a whole number: an upsampling."""

    of: Size
    factor: int


class Shifted(Size, frozen=True):
    """``of`` and ``by`` more: a padding, or with a negative number a cropping."""

    of: Size
    by: int


class Sum(Size, frozen=True):
    """Branches joined along this axis."""

    parts: tuple[Size, ...]


class Product(Size, frozen=True):
    """Axes folded into one."""

    parts: tuple[Size, ...]


class Part(Size, frozen=True):
    """What a reshape works out for a -1: all of ``of`` divided by the sizes that were written."""

    of: tuple[Size, ...]
    written: int


Feed = Callable[[Axis], int | None]


def evaluate(size: Size, feed: Feed) -> int | None:
    """The size where the data's axes are what ``feed`` says."""
    if isinstance(size, Axis):
        return feed(size)
    if isinstance(size, (Given, Opaque)):
        return size.size
    if isinstance(size, (Sum, Product)):
        parts = [evaluate(part, feed) for part in size.parts]
        return None if None in parts else _fold(parts, isinstance(size, Sum))
    if isinstance(size, Part):
        parts = [evaluate(part, feed) for part in size.of]
        if None in parts:
            return None
        whole = _fold(parts, False)
        return whole // size.written if size.written and whole % size.written == 0 else None
    assert isinstance(size, (Slid, Spread, Scaled, Shifted))
    before = evaluate(size.of, feed)
    after = None if before is None else passed(size, before)
    return after if after is not None and after > 0 else None


def _fold(parts: list[int | None], add: bool) -> int:
    total = 0 if add else 1
    for part in parts:
        total = total + (part or 0) if add else total * (part or 0)
    return total


def passed(size: Slid | Spread | Scaled | Shifted, n: int) -> int:
    """What this one step makes of ``n``."""
    if isinstance(size, Scaled):
        return n * size.factor
    if isinstance(size, Shifted):
        return n + size.by
    if isinstance(size, Slid):
        return (n - size.window) // size.stride + 1 if size.padding == "valid" else -(-n // size.stride)
    if size.extra is None:
        return n * size.stride + (max(size.window - size.stride, 0) if size.padding == "valid" else 0)
    return (n - 1) * size.stride + (size.window if size.padding == "valid" else size.window % 2) + size.extra


def value(size: Size) -> int | None:
    """The size as it is with the data's own axes."""
    return evaluate(size, lambda axis: axis.size)


def axes(size: Size) -> tuple[Axis, ...]:
    """The data's axes that a size depends on, each once."""

    def found(one: Size) -> Iterator[Axis]:
        if isinstance(one, Axis):
            yield one
        for part in below(one):
            yield from found(part)

    return tuple(dict.fromkeys(found(size)))


def below(size: Size) -> tuple[Size, ...]:
    """What a size is made of, one level down."""
    if isinstance(size, (Sum, Product)):
        return size.parts
    if isinstance(size, Part):
        return size.of
    return (size.of,) if isinstance(size, (Slid, Spread, Scaled, Shifted)) else ()


def written(size: Size) -> str:
    """The origin of a size in the program: an argument, folded axes or joined ones."""
    if isinstance(size, Given):
        return f"{size.who}: {size.argument}={size.size}"
    if isinstance(size, Part) and None not in (of := [value(part) for part in size.of]):
        return f"{size.who}: {' × '.join(map(str, of))} = {value(size)} × {size.written}"
    if isinstance(size, (Slid, Spread, Scaled, Shifted)) and value(size) == value(size.of):
        return written(size.of)
    joined = isinstance(size, Sum)
    parts = [n for part in size.parts if (n := value(part)) != 1 or joined] if isinstance(size, (Sum, Product)) else []
    return f"{size.who}: {(' + ' if joined else ' × ').join(map(str, parts))} = {value(size)}" if len(parts) > 1 and None not in parts else ""


def chain(size: Size) -> list[Slid | Spread | Scaled | Shifted]:
    """The steps that a single axis went through, first to last; it ends at the first size that several axes make."""
    steps: list[Slid | Spread | Scaled | Shifted] = []
    while isinstance(size, (Slid, Spread, Scaled, Shifted)):
        steps.append(size)
        size = size.of
    return steps[::-1]
