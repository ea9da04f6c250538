"""What the program's text shows beside the shapes: an index that is missing, an axis in front of the samples, a table that counts them, a slice that takes nothing."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, listed, placed
from .reasons import Reason


class Unindexed(Reason, frozen=True):
    """``name``, of ``shape``, is used whole at line ``line``; line ``beside`` of the same function reads the entry ``indexed`` of it, or of its like."""

    name: str
    shape: Shape
    line: int
    indexed: str
    beside: int

    def words(self) -> str:
        rows = f"Line {self.line} uses all {self.shape[0]} rows of {self.name}, {show_shape(self.shape)}"
        return f"{rows}. Line {self.beside} reads only {self.indexed}."


class Unsqueezed(Reason, frozen=True):
    """Axis ``axis`` of ``shape`` was to be squeezed, and it is longer than 1."""

    axis: int
    shape: Shape

    def words(self) -> str:
        ones = [str(at) for at, size in enumerate(self.shape) if size == 1]
        where = f"Here that is axis {' or '.join(ones)}." if ones else "This tensor has none."
        return f"Axis {self.axis} has size {self.shape[self.axis]}. Only an axis of size 1 can be squeezed. {where}"


class Letters(Reason, frozen=True):
    """An einsum names another number of axes (``letters``) than a tensor of ``shape`` has."""

    letters: str
    shape: Shape

    def words(self) -> str:
        return f'The letters "{self.letters}" name {count(len(self.letters), "axis", "axes")}, but {show_shape(self.shape)} has {len(self.shape)}.'


class AxisInFront(Reason, frozen=True):
    """``maker`` puts an axis of size 1 in front of the samples of ``shape``, which then are not on axis 0."""

    maker: Who
    shape: Shape

    def words(self) -> str:
        made = show_shape((1, *self.shape))
        return f"{self.maker.name}{placed(self.maker)} adds an axis before the batch axis: {show_shape(self.shape)} becomes {made}. The batch axis must stay first."


class DimsDropped(Reason, frozen=True):
    """``maker`` reduces ``shape`` over its last axis and drops that; with size 1 it would broadcast to ``other``."""

    maker: Who
    shape: Shape
    other: Shape

    def words(self) -> str:
        return (
            f"{self.maker.op}{placed(self.maker)} reduces {show_shape(self.shape)} over its last axis and removes that axis. "
            f"With keepdims=True, it has shape {show_shape((*self.shape[:-1], 1))} and broadcasts to {show_shape(self.other)}."
        )


class Multiples(Reason, frozen=True):
    """An operation on a tensor of ``shape`` receives ``count`` entries (``what``: multiples, paddings), one of which belongs to each axis."""

    shape: Shape
    count: int
    what: str = "multiple"

    def words(self) -> str:
        return f"It takes one {self.what} for each axis: {show_shape(self.shape)} needs {len(self.shape)}, but receives {self.count}."


class StepMore(Reason, frozen=True):
    """Line ``cut_at`` uses ``cut``, all steps but one of the sequence ``whole``; line ``whole_at`` uses all ``steps`` of it."""

    cut: str
    cut_at: int
    whole: str
    whole_at: int
    steps: int

    def words(self) -> str:
        return f"Line {self.cut_at} uses {self.cut}, but line {self.whole_at} uses all {self.steps} steps of {self.whole}."


class CountsSamples(Reason, frozen=True):
    """A table has an entry for each of the ``batch`` samples, because ``read`` at ``line`` is the batch size. ``axis`` of ``array`` has the ``wanted`` size."""

    read: str
    line: int
    batch: int
    array: str
    axis: int
    wanted: int

    def words(self) -> str:
        return f"Line {self.line} reads the batch size, {self.batch}, with {self.read}. Axis {self.axis} of {self.array} has size {self.wanted}, like the other operand."


class SliceEmpty(Reason, frozen=True):
    """The slice ``text`` at ``maker`` takes nothing: ``axis``, which ``giver`` gave its ``size``, ends before it.

    ``stop``, written as ``end``, is where the last slice of the same tensor ends; ``argument``: what sets the size, where it is an argument of a layer.
    """

    maker: Who
    text: str
    axis: int
    size: int
    stop: int
    end: str
    giver: str
    argument: str = ""

    def words(self) -> str:
        by = f", set by {self.giver}{f' ({self.argument}={self.size})' if self.argument else ''}" if self.giver else ""
        return f"The slice {self.text}{placed(self.maker)} is empty: axis {self.axis} has size {self.size}{by}."


class SamplesSliced(Reason, frozen=True):
    """``text`` at ``maker`` takes the samples ``part`` of a batch of ``rank`` axes."""

    maker: Who
    text: str
    part: str
    rank: int

    def words(self) -> str:
        return f"{self.text}{placed(self.maker)} takes samples, because axis 0 is the batch. The slice [{self.columns}] takes columns of every sample."

    @property
    def columns(self) -> str:
        return f":, {self.part}" if self.rank == 2 else f"..., {self.part}"


class EmptySlice(Fact, frozen=True):
    """The same where nothing raised."""

    slice: SliceEmpty

    def message(self) -> str:
        return f"The slice {self.slice.text}{placed(self.slice.maker)} is empty: axis {self.slice.axis} has size {self.slice.size}."

    def why(self) -> str:
        by = f": {self.slice.argument}={self.slice.size}" if self.slice.argument else ""
        came = f" The size comes from {self.slice.giver}{by}." if self.slice.giver else ""
        return f"A slice beyond the end of an axis raises no error. The sum of an empty tensor is 0, and its mean is NaN.{came}"

    def sides(self) -> Sides:
        return Side(f"an axis of size {self.slice.stop} or more"), Side(f"an axis of size {self.slice.size}")


class VectorsCounted(Reason, frozen=True):
    """``function`` counts class indices, but gets ``vectors``, shapes with one value for each class on their last axis."""

    function: str
    vectors: tuple[Shape, ...]

    def words(self) -> str:
        return (
            f"{self.function} counts class indices, but {listed(tuple(show_shape(one) for one in self.vectors))} "
            f"{'has' if len(self.vectors) == 1 else 'have'} one value for each class. Take the argmax along the last axis first."
        )
