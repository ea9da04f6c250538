"""Facts about the weights of an average: those that sum to 1 along one axis, while a product sums over another."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, placed


class WeightsAcross(Fact, frozen=True):
    """``softmax`` makes weights of ``shape`` that sum to 1 along ``axis``; ``product`` sums the weighted values along ``over``."""

    softmax: Who
    product: Who
    shape: Shape
    axis: int
    over: int

    def message(self) -> str:
        return (
            f"{named(self.softmax)}{placed(self.softmax)} makes weights {show_shape(self.shape)} that sum to 1 along axis {self.axis}, "
            f"but {self.product.op}{placed(self.product)} sums over axis {self.over}."
        )

    def why(self) -> str:
        return (
            "In attention, each query takes an average of the values, so its weights must sum to 1 over the keys. "
            f"No error is raised. Apply the softmax along axis {self.over}."
        )

    def sides(self) -> Sides:
        return Side(f"axis {self.over}"), Side(f"axis {self.axis}")
