"""Facts about states that are passed from layer to layer."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import named, placed


class StatesSwapped(Fact, frozen=True):
    """``node`` gets the states that ``source`` returned; ``given``: the place among its outputs of each."""

    node: Who
    source: Who
    given: tuple[int, ...]

    def message(self) -> str:
        return f"{named(self.node)}{placed(self.node)} gets the states of {named(self.source)} in a different order: output {self.given[0]} comes first."

    def why(self) -> str:
        order = "h, the output, before c, the cell state" if len(self.given) == 2 else "in the order in which they were returned"
        return f"The states have the same shape, so no error is raised. Pass them {order}."

    def sides(self) -> Sides:
        return Side(", ".join(map(str, sorted(self.given)))), Side(", ".join(map(str, self.given)))
