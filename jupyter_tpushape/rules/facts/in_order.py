"""Facts about operations that take the samples of a batch for steps, or for parts of one whole."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, placed


class SamplesInOrder(Fact, frozen=True):
    """``operation`` goes through ``axis`` of ``shape`` in order, which is the batch axis; ``loop``: it is a loop of the program's, not a function with an axis."""

    operation: Who
    shape: Shape
    axis: int
    loop: bool

    def message(self) -> str:
        return (
            f"{named(self.operation)}{placed(self.operation)} runs along axis {self.axis} of {show_shape(self.shape)}, which is the batch: "
            "each sample continues the one before."
        )

    def why(self) -> str:
        steps = " For (batch, steps, features), the steps are axis 1." if len(self.shape) > 2 else ""
        first = " A loop goes through the first axis, so swap the axes before and after it." if self.loop and steps else ""
        return f"The order of samples in a batch is arbitrary, so a sample alone gives a different result.{steps}{first}"

    def sides(self) -> Sides:
        return Side("an inner axis"), Side(f"axis {self.axis}, the batch")


class SharedByAll(Fact, frozen=True):
    """``divided`` divides each sample by ``total``, one number that ``operation`` makes of all values of a batch of ``shape``."""

    operation: Who
    shape: Shape
    divided: Who

    @property
    def axis(self) -> int:
        """The last axis of a sample that has more than one value."""
        inner = [i for i, n in enumerate(self.shape) if i and n != 1]
        return -1 if not inner or inner[-1] == len(self.shape) - 1 else inner[-1]

    def message(self) -> str:
        return (
            f"{named(self.operation)}{placed(self.operation)} combines all samples of {show_shape(self.shape)} into one number, "
            f"and each sample is divided by it{placed(self.divided) if self.divided.called != self.operation.called else ''}."
        )

    def why(self) -> str:
        return (
            "The number grows with the batch, so a sample alone gives a different result. "
            f"To normalize each sample, pass axis={self.axis} and keepdims=True."
        )

    def sides(self) -> Sides:
        return Side("one number for each sample"), Side("one number for the batch")
