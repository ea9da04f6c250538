"""Facts about the axes of data that a reshape mixes."""

from __future__ import annotations

from ...flow import Fact, Sides
from ..words import pair


class StepsMixed(Fact, frozen=True):
    """``code``, at ``line``, reshapes samples of (``steps``, ``features``) to (``features``, ``steps``)."""

    path: str
    code: str
    line: int
    steps: int
    features: int

    def message(self) -> str:
        before, after = f"({self.steps}, {self.features})", f"({self.features}, {self.steps})"
        return f"Line {self.line}, `{self.code}`, reshapes each sample of {self.path} from {before} to {after}: it swaps axes without moving the values."

    def why(self) -> str:
        return "A reshape keeps the order in memory, so each row now has values of several steps and features. Use the windows as they are, or transpose them."

    def sides(self) -> Sides:
        return pair((self.steps, self.features), (self.features, self.steps), names=False)
