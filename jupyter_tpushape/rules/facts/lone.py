"""Facts about what is added up by itself."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, placed


class LoneAxis(Fact, frozen=True):
    """An einsum of ``equation`` adds up ``letter`` of operand ``place``, of ``shape``, which no other operand has; ``kept`` is its axis of the same size.

    ``first``: it stands in front of that.
    """

    operation: Who
    equation: str
    place: int
    letter: str
    kept: str
    shape: Shape
    first: bool

    def message(self) -> str:
        return (
            f'{named(self.operation)}{placed(self.operation)} adds up axis {self.letter} of {show_shape(self.shape)} by itself: "{self.equation}" '
            "has that letter only once."
        )

    def why(self) -> str:
        return (
            f"Axis {self.kept} has the same size and is in both operands and in the result, so the operands are multiplied value by value. "
            f"A product of matrices sums over a letter that both operands have."
        )

    def sides(self) -> Sides:
        return Side("one letter that both operands have is summed"), Side(f"{self.letter} is summed alone")

    @property
    def product(self) -> str:
        """The equation of the matrix times the other operand, whose axis is the last one of the matrix."""
        terms, _, gives = self.equation.replace(" ", "").partition("->")
        pair = terms.split(",")
        if self.first:
            return f"{terms}->{gives.replace(self.kept, self.letter)}"
        pair[1 - self.place] = pair[1 - self.place].replace(self.kept, self.letter)
        return f"{','.join(pair)}->{gives}"


class NodesTaken(Fact, frozen=True):
    """``lookup`` takes whole samples of ``shape`` by indices of the program's own, and ``reader`` combines them with every sample."""

    lookup: Who
    shape: Shape
    reader: Who

    def message(self) -> str:
        return (
            f"{named(self.lookup)}{placed(self.lookup)} takes samples of {show_shape(self.shape)} by their index, "
            f"and {named(self.reader)}{placed(self.reader)} combines them with every sample."
        )

    def why(self) -> str:
        return f"The first axis is the batch, and each sample has {self.shape[1]} vectors on axis 1. Look up along axis 1, so that samples stay apart."

    def sides(self) -> Sides:
        return Side("axis 1"), Side("axis 0, the batch")


class ScoresOfSamples(Fact, frozen=True):
    """``product`` has a value for each pair of samples, of ``shape``, and ``reader`` combines it with one for each pair of features."""

    product: Who
    shape: Shape
    reader: Who

    def message(self) -> str:
        return (
            f"{named(self.product)}{placed(self.product)} has one value for each pair of samples, but {named(self.reader)}{placed(self.reader)} combines it with "
            f"one for each pair of features. It runs only because there are {self.shape[0]} of both."
        )

    def why(self) -> str:
        return "A correlation of features sums over the samples: transpose the first matrix, not the second."

    def sides(self) -> Sides:
        return Side("(features, features)"), Side("(batch, batch)")
