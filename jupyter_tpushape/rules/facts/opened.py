"""Facts about sizes that the data leaves unknown."""

from __future__ import annotations

from ...flow import Fact, Location, Shape, Side, Sides, Who, show_shape
from ..words import named, placed


class SizeUnknown(Fact, frozen=True):
    """``layer``, or else the line ``text``, raises ``said`` where ``path`` has its declared ``shape``, and runs with that of a ``batch``.

    ``same``: whether every batch that was drawn has this size.
    """

    layer: Who | None
    text: str
    path: str
    shape: Shape
    batch: Shape
    same: bool
    said: str

    def message(self) -> str:
        what = f"{named(self.layer)}{placed(self.layer)}" if self.layer is not None else f"`{self.text}`" if self.text else "The model"
        return f"{what} needs a size that the data leaves unknown: {self.path} is declared as {show_shape(self.shape)}."

    def why(self) -> str:
        fixed = tuple(None if i == 0 else size for i, size in enumerate(self.batch))
        set_it = (
            f"Set the size in the pipeline, {show_shape(fixed)}" if self.same else "Pad all batches to one size, and set it in the pipeline"
        )
        return f"fit traces the step with the declared shape, not with that of a batch, {show_shape(self.batch)}. {set_it}. The error: {self.said}"

    def sides(self) -> Sides:
        return Side(show_shape(self.batch)), Side(show_shape(self.shape))


class RankUnknown(Fact, frozen=True):
    """``text`` takes all axes of size 1 out of a tensor of ``shape``, whose number of rows is unknown; ``line``: where it stands, if it is not what raised."""

    text: str
    shape: Shape
    line: Location | None = None

    def message(self) -> str:
        return f"`{self.text}` removes every axis of size 1 from {show_shape(self.shape)}, so the rank of its result is unknown."

    def why(self) -> str:
        return "The number of rows is unknown there, and a batch of one row would lose its batch axis, too. Name the axis to remove."

    def sides(self) -> Sides:
        return Side("an axis"), Side("no axis")
