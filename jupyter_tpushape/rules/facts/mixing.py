"""What is found of the batch axis on its way through the program."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, pair, placed


class EveryPair(Fact, frozen=True):
    """An element-by-element operation that pairs every sample with every other."""

    operation: Who
    left: Shape
    right: Shape

    @property
    def _sorted(self) -> tuple[Shape, Shape]:
        return (self.left, self.right) if len(self.left) < len(self.right) else (self.right, self.left)

    @property
    def result(self) -> Shape:
        short, long = self._sorted
        gap = len(long) - len(short)
        return (*long[:gap], *(max(x or 1, y or 1) for x, y in zip(long[gap:], short, strict=True)))

    def message(self) -> str:
        return (
            f"{self.operation.op}{placed(self.operation)} combines {show_shape(self.left)} with {show_shape(self.right)} "
            f"into {show_shape(self.result)}: every sample with every other."
        )

    def why(self) -> str:
        return (
            "Shapes are matched from the right, so the batch axis of the one meets an inner axis of the other. "
            "Give both the same number of axes."
        )

    def sides(self) -> Sides:
        short, long = self._sorted
        return pair(long, short, names=False)


class BatchLost(Fact, frozen=True):
    """``maker`` took the batch axis away. ``axis``: where it stands now; ``reader``: the layer that reads it so, ``None``: the output."""

    maker: Who
    shape: Shape
    axis: int | None
    reader: Who | None = None

    def message(self) -> str:
        where = "is gone" if self.axis is None else f"stands on axis {self.axis}"
        at = "at the model's output" if self.reader is None else f"where {named(self.reader)} reads {show_shape(self.shape)}"
        return f"The batch axis {where} {at}: {named(self.maker)}{placed(self.maker)} took it away."

    def why(self) -> str:
        return "Keras reads the first axis as the batch. What stands there now are not samples, so labels, losses and weights meet the wrong values."

    def sides(self) -> Sides:
        return Side("(batch, ...)"), Side(show_shape(self.shape))


class BatchMerged(Fact, frozen=True):
    """The output has ``times`` rows a sample: ``maker`` joined its branches along the batch, or folded another axis into it."""

    maker: Who
    shape: Shape
    times: float
    joined: bool

    def message(self) -> str:
        did = "joined its branches along the batch" if self.joined else "folded another axis into the batch"
        return (
            f"The output {show_shape(self.shape)} has {self.times:g} rows for every sample: {named(self.maker)}{placed(self.maker)} {did}."
        )

    def why(self) -> str:
        if self.joined:
            return (
                "Joined along axis 0, the batch, one branch stands under the other, and half of the rows have no label of their own. "
                "The last axis joins features."
            )
        return "A -1 in a reshape takes up whatever is left, samples included. Write the inner axes so that they hold exactly one sample."

    def sides(self) -> Sides:
        return Side("(batch, ...)"), Side(show_shape(self.shape))


class Interleaved(Fact, frozen=True):
    """A reshape that stands for a transpose. ``batch``: it is the batch that came to stand on another axis."""

    reshape: Who
    before: Shape
    after: Shape
    batch: bool

    def message(self) -> str:
        turns = f"{named(self.reshape)}{placed(self.reshape)} turns {show_shape(self.before)} into {show_shape(self.after)}"
        if self.batch:
            return f"{turns}: the batch stands on another axis, and no number was moved."
        return f"{turns} without moving a number: rows and columns are mixed."

    def why(self) -> str:
        if self.batch:
            return (
                "A reshape keeps the order in memory, so each position now holds pieces of several samples. "
                "To exchange axes, transpose is what moves the numbers."
            )
        return "A reshape keeps the order in memory and only renames positions. To exchange axes, Permute or transpose is what moves the numbers."

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class Straddling(Fact, frozen=True):
    """A reshape that cuts blocks of ``block`` numbers, which is neither part nor multiple of a row of ``width``."""

    reshape: Who
    before: Shape
    after: Shape
    width: int
    block: int

    def message(self) -> str:
        turns = f"{named(self.reshape)}{placed(self.reshape)} turns {show_shape(self.before)} into {show_shape(self.after)}"
        return f"{turns}: blocks of {self.block} numbers out of rows of {self.width}, so a block begins in one row and ends in the next."

    def why(self) -> str:
        return (
            f"A reshape only counts numbers off, in their order. A row of {self.width} is split evenly into parts that multiply to {self.width}: the width of "
            "an attention is a multiple of its heads."
        )

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class SoftmaxOverBatch(Fact, frozen=True):
    """A softmax whose axis is the batch; ``inside``: the layer that it stands in."""

    softmax: Who
    inside: Who | None

    def message(self) -> str:
        inside = f" inside {named(self.inside)}" if self.inside is not None else ""
        return f"A softmax{inside}{placed(self.softmax)} runs over the batch: the weights of one sample depend on the others beside it."

    def why(self) -> str:
        return (
            "Its values sum to 1 over the samples of a batch, and not within a sample, so a sample alone gets another result. "
            "Axis 0 is the batch: take the axis that is meant."
        )

    def sides(self) -> Sides:
        return Side("an axis of the sample"), Side("the batch axis")


class AttentionOverBatch(Fact, frozen=True):
    """``layer`` attends over the samples, since ``shape`` has no axis of steps."""

    layer: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} attends over the batch: it gets {show_shape(self.shape)}, which has no axis of steps, so each sample looks at the others."

    def why(self) -> str:
        return (
            "Attention reads (batch, steps, features). Of two axes it takes the first for the steps, and that is the batch: a sample alone gets another "
            "result. A recurrent layer in front returns its steps with return_sequences=True."
        )

    def sides(self) -> Sides:
        return Side("(batch, steps, features)", ("batch", "steps", "features")), Side(show_shape(self.shape))


class FixedBatch(Fact, frozen=True):
    """``node`` works for ``batch`` rows only. With ``tried`` rows it raised ``said``; ``comes``: another size that the data brings."""

    node: Who
    batch: int | None
    tried: int
    said: str
    comes: int | None

    def message(self) -> str:
        return f"{named(self.node)}{placed(self.node)} works for {self.batch} rows only: the size of the batch is written into it."

    def why(self) -> str:
        comes = f" A batch of {self.comes} rows comes, too." if self.comes else " As long as every batch has this size, it works."
        return f"With {self.tried} rows it says: {self.said}.{comes}"

    def sides(self) -> Sides:
        return Side("any number of rows"), Side(f"{self.batch} rows")
