"""Facts about constants that a loss multiplies a single value by."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import placed


class WeightsAsOne(Fact, frozen=True):
    """``product`` multiplies a value of ``shape`` by ``weights`` constants, and ``total`` adds the results up. ``channels``: of the predictions."""

    loss: str
    product: Who
    total: Who
    shape: Shape
    weights: int
    channels: int

    def message(self) -> str:
        return (
            f"{self.loss} multiplies {show_shape(self.shape)} by {self.weights} constants{placed(self.product)} "
            f"and {'adds up' if self.total.op.lower().endswith('sum') else 'averages'} the results: they act as one number."
        )

    def why(self) -> str:
        reason = "Broadcasting repeats the single value for each of them, so every class has the same weight."
        if self.channels == 1:
            return f"{reason} The predictions have one channel: choose the weight of each value by its label, such as w1 * y_true + w0 * (1 - y_true)."
        return f"{reason} Keep the axis of the classes until the weights are multiplied."

    def sides(self) -> Sides:
        return Side(f"{self.weights} values on the last axis"), Side(show_shape(self.shape))
