"""Facts about values that are scaled twice."""

from __future__ import annotations

from ...flow import Fact, KeyPath, Side, Sides, Who
from ...flow.paths import show
from ..words import named, placed


class ScaledTwice(Fact, frozen=True):
    """``layer`` divides values by ``divisor`` that lie between ``lowest`` and ``highest`` already: those of ``path``, or of the layer ``before``."""

    layer: Who
    divisor: float
    offset: float
    lowest: float
    highest: float
    path: KeyPath = ()
    before: Who | None = None

    def message(self) -> str:
        given = f"the values of {show(self.path)}" if self.before is None else f"those of {named(self.before)}{placed(self.before)}"
        return f"{named(self.layer)} divides by {self.divisor:g}, but {given} are scaled already: {self.lowest:.3g} to {self.highest:.3g}."

    def why(self) -> str:
        return "It is made for pixels from 0 to 255. What is left of values that were scaled before is almost constant, so the model learns little from it. Scale once."

    def sides(self) -> Sides:
        return Side("values up to 255"), Side(f"{self.lowest:.3g} to {self.highest:.3g}")
