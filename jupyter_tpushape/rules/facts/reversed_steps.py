"""Facts about sequences in reverse order."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import named, placed


class StepsReversed(Fact, frozen=True):
    """``merge`` joins sequences step by step, and ``layer`` gave the steps of one in reverse order."""

    layer: Who
    merge: Who

    def message(self) -> str:
        return f"{named(self.merge)}{placed(self.merge)} joins sequences in opposite orders: {named(self.layer)} returns its steps in reverse order."

    def why(self) -> str:
        return (
            "With go_backwards=True, the first step of the result belongs to the last step of the input. Each step is joined with one from the other "
            "end of the sequence, and no error is raised. Reverse the result along axis 1 before it is joined, or use Bidirectional."
        )

    def sides(self) -> Sides:
        return Side("steps in the order of the input"), Side("steps in reverse order")
