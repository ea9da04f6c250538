"""Facts about operations along another axis than is meant: over samples for steps, rows that were merged, and vectors against a table."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import axes_listed, count, listed, named, pair, placed


class SamplesInOrder(Fact, frozen=True):
    """``operation`` goes through ``axis`` of ``shape`` in order, which is the batch axis; ``loop``: it is a loop of the program's, not a function with an axis.

    ``counted``: it receives what is made of the places of the samples.
    """

    operation: Who
    shape: Shape
    axis: int
    loop: bool
    counted: bool = False

    def message(self) -> str:
        if self.counted:
            return f"{named(self.operation)}{placed(self.operation)} receives positions {show_shape(self.shape)} that are counted over the batch."
        return (
            f"{named(self.operation)}{placed(self.operation)} runs along axis {self.axis} of {show_shape(self.shape)}, which is the batch: "
            "each sample depends on those beside it."
        )

    def why(self) -> str:
        steps = " For (batch, steps, features), the steps are axis 1." if len(self.shape) > 2 else ""
        first = " A loop goes through the first axis, so swap the axes before and after it." if self.loop and steps else ""
        return f"The order of samples in a batch is arbitrary, so a sample alone gives a different result.{steps}{first}"

    def sides(self) -> Sides:
        return Side("an inner axis"), Side(f"axis {self.axis}, the batch")


class ChannelsReduced(Fact, frozen=True):
    """``operation`` combines the channels of ``layer`` with all axes of images of ``shape`` but the first."""

    operation: Who
    shape: Shape
    layer: str

    @property
    def along(self) -> tuple[str, ...]:
        """The axes of the image."""
        return tuple(map(str, range(1, len(self.shape) - 1)))

    def message(self) -> str:
        return (
            f"{named(self.operation)}{placed(self.operation)} runs over the last axes of {show_shape(self.shape)}, which include the channels of {self.layer}."
        )

    def why(self) -> str:
        return f"One value is left for each row of the image, not for each channel. Reduce axes {listed(self.along)}: the channels are last."

    def sides(self) -> Sides:
        return Side(f"axes {listed(self.along)}"), Side(f"axes {listed(tuple(str(int(axis) + 1) for axis in self.along))}")


class SharedByAll(Fact, frozen=True):
    """``divided`` divides each sample by ``total``, one number that ``operation`` makes of all values of a batch of ``shape``."""

    operation: Who
    shape: Shape
    divided: Who

    @property
    def axis(self) -> int:
        """The last axis of a sample that has more than one value."""
        inner = [i for i, n in enumerate(self.shape) if i and n != 1]
        return -1 if not inner or inner[-1] == len(self.shape) - 1 else inner[-1]

    def message(self) -> str:
        return (
            f"{named(self.operation)}{placed(self.operation)} combines all samples of {show_shape(self.shape)} into one number, "
            f"and each sample is divided by it{placed(self.divided) if self.divided.called != self.operation.called else ''}."
        )

    def why(self) -> str:
        return (
            f"The number grows with the batch, so a sample alone gives a different result. To normalize each sample, pass axis={self.axis} and keepdims=True."
        )

    def sides(self) -> Sides:
        return Side("one number for each sample"), Side("one number for the batch")


class NormOfAll(SharedByAll, frozen=True):
    """``divided`` compares with a number the norm that ``operation`` takes of a whole batch of ``shape``."""

    def message(self) -> str:
        return (
            f"{named(self.operation)}{placed(self.operation)} takes one norm of all samples of {show_shape(self.shape)}, which is then compared with a number."
        )

    def why(self) -> str:
        inner = axes_listed(tuple(range(1, len(self.shape))))
        return f"The norm grows with the batch, so the number means something else for each batch size. Take the norm of each sample: {inner}."


class WeightsAcross(Fact, frozen=True):
    """``softmax`` makes weights of ``shape`` that sum to 1 along ``axis``; ``product`` sums the weighted values along ``over``."""

    softmax: Who
    product: Who
    shape: Shape
    axis: int
    over: int

    def message(self) -> str:
        return (
            f"{named(self.softmax)}{placed(self.softmax)} makes weights {show_shape(self.shape)} that sum to 1 along axis {self.axis}, "
            f"but {self.product.op}{placed(self.product)} sums over axis {self.over}."
        )

    def why(self) -> str:
        return (
            "In attention, each query takes an average of the values, so its weights must sum to 1 over the keys. "
            f"No error is raised. Apply the softmax along axis {self.over}."
        )

    def sides(self) -> Sides:
        return Side(f"axis {self.over}"), Side(f"axis {self.axis}")


class PositionsAveraged(Fact, frozen=True):
    """``softmax`` makes weights of ``shape`` that sum to 1 along ``axis``; ``product`` multiplies them with positions, and sums along ``over``."""

    softmax: Who
    product: Who
    shape: Shape
    axis: int
    over: tuple[int, ...]

    def message(self) -> str:
        return (
            f"{named(self.softmax)}{placed(self.softmax)} makes weights {show_shape(self.shape)} that sum to 1 along axis {self.axis}, "
            f"but the positions{placed(self.product)} are averaged along {axes_listed(self.over)}."
        )

    def why(self) -> str:
        return "The average of positions is a position only if the weights of all positions sum to 1. Apply the softmax along the axes that are summed."

    def sides(self) -> Sides:
        return Side(axes_listed(self.over)), Side(f"axis {self.axis}")


class RowsAgainstColumns(Fact, frozen=True):
    """``reduced`` gives one value for each row of a square table ``shape``, and ``node`` gives it to the columns."""

    reduced: Who
    node: Who
    shape: Shape
    vector: Shape

    def message(self) -> str:
        return f"{named(self.reduced)}{placed(self.reduced)} gives one value for each row of {show_shape(self.shape)}, but {named(self.node)} aligns it with the columns."

    def why(self) -> str:
        return (
            f"{show_shape(self.vector)} is broadcast along the last axis, so entry (i, j) gets the value of row j and not that of row i. Both axes have the "
            "same size, so no error is raised. Keep the reduced axis with size 1: keepdims=True."
        )

    def sides(self) -> Sides:
        return Side(show_shape((self.shape[0], 1))), Side(show_shape(self.vector))


class VectorTransposed(Fact, frozen=True):
    """``node`` compares a tensor with one axis with its transpose."""

    node: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.node)}{placed(self.node)} compares {show_shape(self.shape)} with its own transpose, which is the same tensor."

    def why(self) -> str:
        return (
            "A transpose of a tensor with one axis changes nothing, so each value is compared only with itself. For all pairs, add "
            "an axis at the end of one of the two and at the start of the other one."
        )

    def sides(self) -> Sides:
        size = self.shape[0]
        return Side(show_shape((size, size))), Side(show_shape(self.shape))


class RowsTakenApart(Fact, frozen=True):
    """A reshape of merged rows ``before`` to ``after``, whose samples are on ``axis``.

    ``merged``: what made the rows; ``outer``: how often it has all samples one after the other; ``inner``: how many rows of a sample follow each other.
    """

    reshape: Who
    merged: Who
    before: Shape
    after: Shape
    axis: int
    outer: int
    inner: int

    def message(self) -> str:
        return (
            f"{named(self.reshape)}{placed(self.reshape)} reshapes the rows {show_shape(self.before)} to {show_shape(self.after)}, "
            f"but they are in another order: this mixes the samples."
        )

    def why(self) -> str:
        return f"{named(self.merged)}{placed(self.merged)} made these rows {order(self.outer, self.inner)}. Split them in that order, then transpose."

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class RowsMetApart(Fact, frozen=True):
    """Two tensors of merged rows that ``operation`` combines row by row, though they were ``made`` in different orders: each with outer and inner count."""

    operation: Who
    shapes: tuple[Shape, Shape]
    made: tuple[Who, Who]
    outer: tuple[int, int]
    inner: tuple[int, int]

    def message(self) -> str:
        one, other = (show_shape(shape) for shape in self.shapes)
        return f"{named(self.operation)}{placed(self.operation)} combines the rows of {one} and {other}, which belong to different samples."

    def why(self) -> str:
        told = (f"{named(who)}{placed(who)} made them {order(*count)}" for who, *count in zip(self.made, self.outer, self.inner, strict=True))
        return f"{', and '.join(told)}."

    def sides(self) -> Sides:
        return pair(*self.shapes, names=False)


def order(outer: int, inner: int) -> str:
    """How the samples follow each other in merged rows."""
    if outer == 1:
        return f"sample by sample, {inner} rows each"
    if inner == 1:
        return f"with all samples one after the other, {outer} times"
    return f"with all samples one after the other, {outer} times, {inner} rows each"


class StepRank(Fact, frozen=True):
    """``layer`` hands a step of ``shape`` to a layer of class ``inner``, which expects the axes ``wanted``."""

    layer: Who
    inner: str
    wanted: tuple[str, ...]
    shape: Shape

    def message(self) -> str:
        step = show_shape((self.shape[0], *self.shape[2:]))
        return f"{named(self.layer)} applies {self.inner} to each step of {show_shape(self.shape)}, and one step is {step}: {self.inner} expects ({', '.join(self.wanted)})."

    def why(self) -> str:
        how = "TimeDistributed takes axis 1 as time and gives the layer one step at a time, without that axis."
        return f"{how} {self.inner} takes the whole {show_shape(self.shape)} by itself." if len(self.shape) == len(self.wanted) else how

    def sides(self) -> Sides:
        return Side(f"({', '.join(self.wanted)})", self.wanted), Side(show_shape((self.shape[0], *self.shape[2:])))


class StepsByRows(Fact, frozen=True):
    """``layer``, and ``more`` of its kind, run on as many steps as a batch has ``rows``, and not on all of its ``steps``."""

    layer: Who
    more: tuple[str, ...]
    rows: int
    steps: int

    def message(self) -> str:
        who = f"{named(self.layer)}{placed(self.layer)}" if not self.more else listed((self.layer.name, *self.more))
        run = "run" if self.more else "runs"
        if self.rows < self.steps:
            return f"{who} {run} on the first {count(self.rows, 'step')} of {self.steps} only: as many as the batch has rows."
        return f"{who} {run} {self.rows} times on {count(self.steps, 'step')}: once for each row of the batch."

    def why(self) -> str:
        ends = "so the other steps are lost" if self.rows < self.steps else "so it reads steps that do not exist"
        return (
            f"The data leaves the number of steps unknown, and this version of Keras then counts rows instead, {ends}. "
            "Declare the number of steps in the pipeline. A Dense works on the last axis and needs no TimeDistributed."
        )

    def sides(self) -> Sides:
        return Side(count(self.steps, "step")), Side(count(min(self.rows, self.steps), "step"))


class AxisBeyond(Fact, frozen=True):
    """``layer`` works along ``axis``, its argument ``key``, which ``shape`` does not have."""

    layer: Who
    key: str
    axis: int
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} works along axis {self.axis}, but receives {show_shape(self.shape)}: it has no such axis."

    def why(self) -> str:
        return f"Axes are counted from 0, the batch: here they are 0 to {len(self.shape) - 1}. The last axis is -1, whatever the rank."

    def sides(self) -> Sides:
        return Side(f"axis {self.axis}"), Side(show_shape(self.shape))
