"""Facts about labels that the last activation cannot return."""

from __future__ import annotations

from ...flow import Fact, KeyPath, Side, Sides, Who
from ...flow.paths import show
from ..words import named


class OutOfReach(Fact, frozen=True):
    """``layer`` ends in ``activation``, which returns ``low`` to ``high``, but the labels at ``path`` go from ``lowest`` to ``highest``.

    ``outside``: the share of the observed labels that it cannot return. ``None``: no bound.
    """

    layer: Who
    activation: str
    low: float | None
    high: float | None
    path: KeyPath
    lowest: float
    highest: float
    outside: float
    loss: str

    @property
    def returned(self) -> str:
        """The values that the activation returns."""
        if self.high is None:
            return f"no value below {self.low:g}"
        return f"values from {self.low:g} to {self.high:g}"

    def message(self) -> str:
        seen = f"{show(self.path)} has values from {self.lowest:.3g} to {self.highest:.3g}"
        return f"The {self.activation} of {named(self.layer)} returns {self.returned}, but {seen}."

    def why(self) -> str:
        share = f"{self.outside:.0%}" if self.outside >= 0.01 else "Less than 1%"
        return f"No error is raised, but {self.loss} cannot become small: {share} of the observed labels are out of reach. Leave out the last activation, or scale the labels to its range."

    def sides(self) -> Sides:
        return Side(self.returned), Side(f"{self.lowest:.3g} to {self.highest:.3g}")
