"""Facts about pipelines that are put together of several."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, show_shape
from ..words import count


class ZippedApart(Fact, frozen=True):
    """``zip`` pairs batches of one pipeline with single elements of another.

    Attributes:
        batched: which of the parts have ``batch`` rows in each element.
        single: which of them have no batches.
        drops: whether an incomplete last batch is left out.
    """

    batched: tuple[int, ...]
    single: tuple[int, ...]
    batch: int
    drops: bool
    shapes: tuple[Shape, ...]

    def message(self) -> str:
        return (
            f"zip() combines batches of {count(self.batch, 'row')} with single elements: {_parts(self.batched)} batched, "
            f"but {_parts(self.single)} not."
        )

    def why(self) -> str:
        return f"zip() takes one element of each dataset: {', '.join(map(show_shape, self.shapes))}. Batch every part, or zip first and then batch."

    def sides(self) -> Sides:
        return Side(f"batches of {self.batch} in every part"), Side(", ".join(map(show_shape, self.shapes)))


class PartShuffled(Fact, frozen=True):
    """``zip`` pairs a shuffled dataset, ``part``, with one in its own order: the inputs with the labels, or the labels with the inputs."""

    part: int

    def message(self) -> str:
        one, other = ("inputs", "labels")[:: 1 - 2 * self.part]
        return f"zip() pairs {one} and {other} in different orders: the dataset of the {one} is shuffled, but not that of the {other}."

    def why(self) -> str:
        return "zip() takes one element of each dataset. Training runs, but most samples have the label of another one. Shuffle the pairs after zip()."

    def sides(self) -> Sides:
        return Side("one order for all parts"), Side(f"part {self.part + 1} is shuffled")


def _parts(indices: tuple[int, ...]) -> str:
    named = " and ".join(str(index + 1) for index in indices)
    return f"part {named} is" if len(indices) == 1 else f"parts {named} are"
