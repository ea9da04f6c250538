"""Facts about vectors that meet the wrong axis of a table of pairs."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, placed


class RowsAgainstColumns(Fact, frozen=True):
    """``reduced`` gives one value for each row of a square table ``shape``, and ``node`` gives it to the columns."""

    reduced: Who
    node: Who
    shape: Shape
    vector: Shape

    def message(self) -> str:
        return (
            f"{named(self.reduced)}{placed(self.reduced)} gives one value for each row of {show_shape(self.shape)}, "
            f"but {named(self.node)} aligns it with the columns."
        )

    def why(self) -> str:
        return (
            f"{show_shape(self.vector)} is broadcast along the last axis, so entry (i, j) gets the value of row j and not that of row i. Both axes have the "
            "same size, so no error is raised. Keep the reduced axis with size 1: keepdims=True."
        )

    def sides(self) -> Sides:
        return Side(show_shape((self.shape[0], 1))), Side(show_shape(self.vector))


class VectorTransposed(Fact, frozen=True):
    """``transpose`` is given a tensor with one axis, and ``node`` compares the result with the same tensor."""

    transpose: Who
    node: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.node)}{placed(self.node)} compares {show_shape(self.shape)} with its own transpose, which is the same tensor."

    def why(self) -> str:
        return (
            "A transpose of a tensor with one axis changes nothing, so each value is compared only with itself. For all pairs, add "
            "an axis at the end of one of the two and at the start of the other one."
        )

    def sides(self) -> Sides:
        size = self.shape[0]
        return Side(show_shape((size, size))), Side(show_shape(self.shape))
