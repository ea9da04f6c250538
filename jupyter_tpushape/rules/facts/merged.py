"""Facts about rows in which the samples of a batch were merged with another axis."""

from __future__ import annotations

from ...flow import Fact, Shape, Sides, Who, show_shape
from ..words import named, pair, placed


class RowsTakenApart(Fact, frozen=True):
    """A reshape of merged rows ``before`` to ``after``, whose samples are on ``axis``.

    ``merged``: what made the rows; ``outer``: how often it has all samples one after the other; ``inner``: how many rows of a sample follow each other.
    """

    reshape: Who
    merged: Who
    before: Shape
    after: Shape
    axis: int
    outer: int
    inner: int

    def message(self) -> str:
        return (
            f"{named(self.reshape)}{placed(self.reshape)} reshapes the rows {show_shape(self.before)} to {show_shape(self.after)}, "
            f"but they are in another order: this mixes the samples."
        )

    def why(self) -> str:
        return f"{named(self.merged)}{placed(self.merged)} made these rows {order(self.outer, self.inner)}. Split them in that order, then transpose."

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class RowsMetApart(Fact, frozen=True):
    """Two tensors of merged rows that ``operation`` combines row by row, though they were ``made`` in different orders: each with outer and inner count."""

    operation: Who
    shapes: tuple[Shape, Shape]
    made: tuple[Who, Who]
    outer: tuple[int, int]
    inner: tuple[int, int]

    def message(self) -> str:
        one, other = (show_shape(shape) for shape in self.shapes)
        return f"{named(self.operation)}{placed(self.operation)} combines the rows of {one} and {other}, which belong to different samples."

    def why(self) -> str:
        told = (
            f"{named(who)}{placed(who)} made them {order(*count)}" for who, *count in zip(self.made, self.outer, self.inner, strict=True)
        )
        return f"{', and '.join(told)}."

    def sides(self) -> Sides:
        return pair(*self.shapes, names=False)


def order(outer: int, inner: int) -> str:
    """How the samples follow each other in merged rows."""
    if outer == 1:
        return f"sample by sample, {inner} rows each"
    if inner == 1:
        return f"with all samples one after the other, {outer} times"
    return f"with all samples one after the other, {outer} times, {inner} rows each"
