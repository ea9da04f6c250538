"""Facts about the functions of a pipeline: crops, lookups and axes of which nothing is left."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, show_shape
from ..words import count, side


class CropBeyond(Fact, frozen=True):
    """A random crop of shape ``wanted`` from a picture of shape ``given``, which is smaller."""

    given: Shape
    wanted: Shape

    def message(self) -> str:
        return f"random_crop takes {show_shape(self.wanted)} from an image of {show_shape(self.given)}, which is smaller."

    def why(self) -> str:
        return "A crop must fit into its image. Pad or resize the image before the crop, or crop less and declare that size in the model."

    def sides(self) -> Sides:
        return side(self.wanted), side(self.given)


class RowMissing(Fact, frozen=True):
    """A lookup in the function ``function`` of a pipeline reads row ``index`` of a table with ``size`` rows."""

    function: str
    index: int
    size: int

    @property
    def counted(self) -> bool:
        """Whether it is the first index beyond the table, as of classes that are counted from 1."""
        return self.index == self.size

    def message(self) -> str:
        where = f"map({self.function})" if self.function else "The pipeline"
        return f"{where} looks up row {self.index} of a table with {count(self.size, 'row')} (0 to {self.size - 1})."

    def why(self) -> str:
        if self.counted:
            return f"Rows are counted from 0. If the indices are classes from 1 to {self.size}, subtract 1 before the lookup, and for the loss as well."
        return "Rows are counted from 0. Give the table a row for every index, or convert the indices to class indices first."

    def sides(self) -> Sides:
        return Side(f"0 to {self.size - 1}"), Side(str(self.index))


class AxisEmptied(Fact, frozen=True):
    """The function ``function`` of a pipeline makes ``after``, with an axis of size 0, of ``before``, which has none."""

    function: str
    before: Shape
    after: Shape

    @property
    def axis(self) -> int:
        return self.after.index(0)

    @property
    def alone(self) -> bool:
        """Whether the function cuts the last axis into frames, which has size 1."""
        return self.before[-1] == 1 < len(self.before) < len(self.after)

    def message(self) -> str:
        return f"map({self.function}) leaves no values: axis {self.axis} of {show_shape(self.after)} has size 0."

    def why(self) -> str:
        if self.alone:
            return (
                f"The function gets {show_shape(self.before)}. tf.signal functions such as stft work along the last axis, "
                "which has size 1 here, so not one frame fits. Squeeze it first."
            )
        return f"The function gets {show_shape(self.before)}. What it takes from one of these axes is longer than the axis, so nothing is left."

    def sides(self) -> Sides:
        return None, side(self.after)
