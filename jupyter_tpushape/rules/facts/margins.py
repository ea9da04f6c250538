"""Facts about margins and distances in losses of the user's own."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import placed


class MarginOfSums(Fact, frozen=True):
    """``margin`` compares single numbers; the ``totals`` they come from add up all values of ``wholes``, those of every sample."""

    totals: tuple[Who, ...]
    wholes: tuple[Shape, ...]
    margin: Who

    def message(self) -> str:
        return (
            f"{self.totals[0].op}{placed(self.totals[0])} adds up {show_shape(self.wholes[0])} over all samples, "
            f"so {self.margin.op}{placed(self.margin)} has one number for the whole batch."
        )

    def why(self) -> str:
        return "A sum without an axis runs over every axis, the batch included. The margin must hold for each sample: sum over the inner axes, axis=-1."

    def sides(self) -> Sides:
        return Side(show_shape(self.wholes[0][:1])), Side("()")


class DistanceOverBatch(Fact, frozen=True):
    """``total`` adds up the squares of ``whole`` along the batch, and ``root`` is taken of it: a distance that mixes the samples."""

    total: Who
    whole: Shape
    root: Who

    def message(self) -> str:
        return f"{self.total.op}{placed(self.total)} adds up the squared differences {show_shape(self.whole)} over the batch: the distance mixes all samples."

    def why(self) -> str:
        return "The first axis is the batch. For one distance per sample, sum over the last axis: axis=-1."

    def sides(self) -> Sides:
        return Side(show_shape(self.whole[:1])), Side(show_shape(self.whole[1:]))
