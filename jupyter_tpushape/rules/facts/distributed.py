"""Facts about a layer that is applied to each step of a sequence."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, listed, named, placed


class StepRank(Fact, frozen=True):
    """``layer`` hands a step of ``shape`` to a layer of class ``inner``, which expects the axes ``wanted``."""

    layer: Who
    inner: str
    wanted: tuple[str, ...]
    shape: Shape

    def message(self) -> str:
        step = show_shape((self.shape[0], *self.shape[2:]))
        return f"{named(self.layer)} applies {self.inner} to each step of {show_shape(self.shape)}, and one step is {step}: {self.inner} expects ({', '.join(self.wanted)})."

    def why(self) -> str:
        how = "TimeDistributed takes axis 1 as time and gives the layer one step at a time, without that axis."
        return f"{how} {self.inner} takes the whole {show_shape(self.shape)} by itself." if len(self.shape) == len(self.wanted) else how

    def sides(self) -> Sides:
        return Side(f"({', '.join(self.wanted)})", self.wanted), Side(show_shape((self.shape[0], *self.shape[2:])))


class StepsByRows(Fact, frozen=True):
    """``layer``, and ``more`` of its kind, run on as many steps as a batch has ``rows``, and not on all of its ``steps``."""

    layer: Who
    more: tuple[str, ...]
    rows: int
    steps: int

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
