"""Facts about lookups whose indices are no indices."""

from __future__ import annotations

from ...flow import Fact, Shape, Sides, Who, show_shape
from ..words import pair, placed


class RowsAsIndices(Fact, frozen=True):
    """One-hot ``labels`` are the indices of the lookup ``operation`` in a loss of the user's own."""

    loss: str
    labels: Shape
    operation: Who

    def message(self) -> str:
        return f"The labels {show_shape(self.labels)} are one-hot vectors, but {self.operation.op}{placed(self.operation)} uses them as class indices."

    def why(self) -> str:
        return (
            "A lookup returns one entry per number: for a one-hot vector, entry 1 once and entry 0 for every other class. "
            "argmax over the last axis gives the class index."
        )

    def sides(self) -> Sides:
        return pair(self.labels[:-1], self.labels, names=False)
