"""Facts about branches whose axes do not meet: a Dot along two of them, and a merge where two are swapped."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, pair


class DotAxes(Fact, frozen=True):
    """A Dot sums over axis ``axes[0]`` of its first input and ``axes[1]`` of its second, whose sizes differ.

    ``fitting``: the pair of axes of equal size, if there is only one.
    """

    layer: Who
    givers: tuple[str, str]
    shapes: tuple[Shape, Shape]
    axes: tuple[int, int]
    fitting: tuple[int, int] | None = None

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        return self.shapes[0][self.axes[0]], self.shapes[1][self.axes[1]]

    def message(self) -> str:
        one, other = (
            f"axis {axis} of {giver} {show_shape(shape)}" for axis, giver, shape in zip(self.axes, self.givers, self.shapes, strict=True)
        )
        return f"{named(self.layer)} sums over {one} and {other}, but these axes have {self.sizes[0]} and {self.sizes[1]} values."

    def why(self) -> str:
        what = f"Axes {self.fitting[0]} and {self.fitting[1]} have the same size." if self.fitting is not None else ""
        return f"Dot multiplies the two inputs along one axis of each, given by axes=, and both must have the same size. {what}".strip()

    def sides(self) -> Sides:
        return Side(str(self.sizes[0])), Side(str(self.sizes[1]))


class SwappedBranch(Fact, frozen=True):
    """``layer`` merges ``shapes``, of which the second has axes ``axis`` and ``place`` swapped: the data's axis ``axis`` is at ``place``."""

    layer: Who
    givers: tuple[str, str]
    shapes: tuple[Shape, Shape]
    axis: int
    place: int

    def message(self) -> str:
        one, other = (f"{giver} {show_shape(shape)}" for giver, shape in zip(self.givers, self.shapes, strict=True))
        return f"{named(self.layer)} cannot merge {one} with {other}: axes {self.axis} and {self.place} are swapped."

    def why(self) -> str:
        first, second = self.givers
        return f"Axis {self.axis} of the data is still axis {self.axis} in {first}, but axis {self.place} in {second}. Transpose {second}."

    def sides(self) -> Sides:
        return pair(*self.shapes, names=False)
