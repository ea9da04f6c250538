"""Facts about sizes that the data leaves unknown."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, listed, named, placed


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


class StepsByRows(Fact, frozen=True):
    """``layer``, and ``more`` of its kind, run on as many steps as a batch has ``rows``, and not on all of its ``steps``.

    ``inner``: the classes that they hold.
    """

    layer: Who
    more: tuple[str, ...]
    rows: int
    steps: int
    inner: tuple[str, ...]

    def message(self) -> str:
        who = f"{named(self.layer)}{placed(self.layer)}" if not self.more else listed((self.layer.name, *self.more))
        run = "run" if self.more else "runs"
        if self.rows < self.steps:
            return f"{who} {run} on the first {count(self.rows, 'step')} of {self.steps} only: as many as the batch has rows."
        return f"{who} {run} {self.rows} times on {count(self.steps, 'step')}: once for each row of the batch."

    def why(self) -> str:
        ends = "so the other steps are lost" if self.rows < self.steps else "so it reads steps that do not exist"
        return (
            f"The data leaves the number of steps unknown, and this version of Keras then counts rows instead, {ends}. "
            "Declare the number of steps in the pipeline. A Dense works on the last axis and needs no TimeDistributed."
        )

    def sides(self) -> Sides:
        return Side(count(self.steps, "step")), Side(count(min(self.rows, self.steps), "step"))
