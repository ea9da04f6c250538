"""Facts about data in another order than is meant: rows, steps, and axes that a reshape mixes."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import named, placed


class OrdersApart(Fact, frozen=True):
    """An expression, ``done``, puts the rows of ``one`` in another order than those of ``other``. ``alone``: ``other`` keeps its order."""

    one: str
    other: str
    done: str
    line: int
    alone: bool

    def message(self) -> str:
        rows = f"The rows of {self.one} and {self.other} are in different orders"
        done = f"`{self.done}`{f' at line {self.line}' if self.line else ''}"
        if self.alone:
            return f"{rows}: {done} reorders {self.one}, but not {self.other}."
        return f"{rows}: each is reordered on its own, {self.one} by {done}."

    def why(self) -> str:
        return "Row i of each array must be the same sample. Training runs, but most samples get another sample's label."

    def sides(self) -> Sides:
        return Side("one order for all arrays"), Side("a different order for each array")


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


class StepsSeen(Fact, frozen=True):
    """The labels are the next steps of ``leaf``, and ``layers`` read later steps of it than the one that they belong to."""

    leaf: str
    layers: tuple[Who, ...]

    def message(self) -> str:
        first = self.layers[0]
        return f"The labels are {self.leaf} one step later, and {named(first)}{placed(first)} reads later steps: the model sees what it is to predict."

    def why(self) -> str:
        names = ", ".join(one.name for one in self.layers)
        return f"Each label can be copied from the input. Let {names} read no later step, as with a causal padding or mask."

    def sides(self) -> Sides:
        return Side("this step and those before it"), Side("later steps, too")


class MovedApart(Fact, frozen=True):
    """``function`` of a pipeline flips or cuts images and their labels differently, on ``lines``: one or two."""

    function: str
    lines: tuple[int, ...]

    def message(self) -> str:
        lines = " and ".join(str(line) for line in dict.fromkeys(self.lines))
        return f"{self.function} does not flip or cut the pixels of x and y alike: see line {lines}."

    def why(self) -> str:
        return "Each label must stay at its pixel. Do the same to both, by one random number."

    def sides(self) -> Sides:
        return Side("one random choice for both"), Side("a different one for each")
