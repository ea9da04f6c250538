"""Why two tensors are incompatible in an operation, as the batch axis or a hard-coded size shows it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...flow import Location, Shape, Who, elements, show_shape
from ..words import count, listed, many, placed


class Reason(msgspec.Struct, frozen=True):
    """The base class of reasons: values, and their wording."""

    def words(self) -> str:
        """The reason in a sentence or two."""
        raise NotImplementedError


class WholeOnly(Reason, frozen=True):
    """A matrix over all ``whole`` rows is combined with a batch of ``rows``."""

    whole: int
    rows: int | None

    def words(self) -> str:
        cut = f"batches of {self.rows}" if self.rows is not None else "batches"
        return (
            f"The data has {self.whole} rows. fit splits them into {cut}, but a table with {self.whole} of them (such as the adjacency matrix of "
            f"a graph) needs all rows at once. Feed them as one batch: batch_size={self.whole} and shuffle=False, or Dataset.from_tensors((x, y))."
        )


class NoAxis(Reason, frozen=True):
    """An operation works along ``axis``, which a tensor of shape ``shape`` does not have; ``new``: it puts in an axis there."""

    axis: int
    shape: Shape
    new: bool = False

    def words(self) -> str:
        if self.new:
            return f"A new axis of {show_shape(self.shape)} can be axis 0 to {len(self.shape)}, but not {self.axis}."
        last = len(self.shape) - 1
        which = f"its axes are 0 to {last}" if last > 0 else "its only axis is 0" if last == 0 else "it is a scalar"
        return f"There is no axis {self.axis} in {show_shape(self.shape)}: {which}."


class RowsWanted(Reason, frozen=True):
    """``function`` takes the number of samples, but gets ``name``, a tensor of shape ``shape``."""

    function: str
    name: str
    shape: Shape

    def words(self) -> str:
        return f"{self.function} expects the batch size, a number, in Keras 3. It receives {self.name}, a tensor of shape {show_shape(self.shape)}."


class Reversed(Reason, frozen=True):
    """``name`` of ``shape``, of more than two axes, is turned around by ``text``, ``where`` that is another line: all its axes are."""

    name: str
    text: str
    shape: Shape
    where: Location | None = None

    def words(self) -> str:
        turned, at = show_shape(self.shape[::-1]), f" at {self.where}" if self.where is not None else ""
        return f"{self.text}{at} reverses all axes of {show_shape(self.shape)}, including the batch, and gives {turned}. Swap the last two only: swapaxes({self.name}, -1, -2)."


class PairOfVectors(Reason, frozen=True):
    """One value for each of ``rows`` rows meets one for each of the ``number`` rows of ``matrix``."""

    rows: int | None
    number: int
    matrix: str

    def words(self) -> str:
        return (
            f"One operand has a value for each {'row' if self.rows is None else f'of {self.rows} rows'}, the other for each of the {self.number} rows of {self.matrix}. "
            "For a value for each pair, give the first an axis of size 1: x[:, None]."
        )


class EachRow(Reason, frozen=True):
    """A tensor of ``shape`` meets ``name``, a weight whose vectors are as long as its last axis; as ``spread``, it meets each of them."""

    shape: Shape
    name: str
    spread: Shape

    def words(self) -> str:
        return (
            f"The other operand is {self.name}: a table of vectors, without a batch axis. "
            f"For the difference from each vector, {show_shape(self.shape)} needs an axis of size 1: {show_shape(self.spread)}."
        )


class WrittenRows(Reason, frozen=True):
    """The program hard-codes ``number``, but the batch has ``rows``."""

    number: int
    rows: int | None

    def words(self) -> str:
        has = f"this batch has {self.rows}" if self.rows is not None else "a batch may have any number"
        return f"One operand was created for {self.number} rows, but {has}. Take the number of rows from the tensor instead."


class PairsBeside(Reason, frozen=True):
    """``table`` has a value for each pair of positions or states, and ``each`` one for each of them, in each sample."""

    table: Shape
    each: Shape

    def words(self) -> str:
        rows, size = self.each[0], self.table[0]
        either = " or ".join(show_shape(shape) for shape in ((rows, 1, size), (rows, size, 1)))
        return (
            f"{show_shape(self.table)} has one value for each pair of {size}, and {show_shape(self.each)} has one for each of them in every sample. "
            f"Insert an axis of size 1: with {either}, each sample has its own pairs."
        )


class StackedAhead(Reason, frozen=True):
    """``stack`` puts its ``parts`` tensors in a new axis before the batch axis of ``shape``, in place of at ``axis``."""

    stack: Who
    parts: int
    shape: Shape
    axis: int

    def words(self) -> str:
        return f"{self.stack.name} puts the axis of its {self.parts} tensors before the batch axis, which is axis 1 of {show_shape(self.shape)}. Stack along axis {self.axis} instead."


class AxisDropped(Reason, frozen=True):
    """Keras removed the last axis of ``predictions`` before it called a custom loss or metric, whose line compares them with another rank."""

    predictions: Shape

    def words(self) -> str:
        return (
            f"Keras squeezes the last axis of the predictions {show_shape(self.predictions)} before it calls a loss, if the labels have one dimension "
            f"fewer. The function receives {show_shape(self.predictions[:-1])}."
        )


class OneElsewhere(Reason, frozen=True):
    """``shape`` has its axes of size 1 at ``axes``; as ``moved``, it broadcasts to ``other``."""

    shape: Shape
    axes: tuple[int, ...]
    moved: Shape
    other: Shape

    def words(self) -> str:
        at = f"axis of size 1 at axis {self.axes[0]}" if len(self.axes) == 1 else f"axes of size 1 at axes {listed(tuple(map(str, self.axes)))}"
        return (
            f"{show_shape(self.shape)} has its {at}, so its values are aligned with the wrong axis of {show_shape(self.other)}. "
            f"With shape {show_shape(self.moved)} they are broadcast to it."
        )


class ScanRows(Reason, frozen=True):
    """A loop steps through the batch axis of ``shape``."""

    shape: Shape

    def words(self) -> str:
        return f"scan steps through the first axis of {show_shape(self.shape)}, which is the batch. Swap batch and steps before scan, and swap them back in its result."


class PerClass(Reason, frozen=True):
    """``classes`` values, one per class, are combined with one value for each sample, or for each position of it (``positions``).

    ``added``: the values are a metric's, to which those of the samples are added.
    """

    classes: int
    positions: bool = False
    added: bool = False

    def words(self) -> str:
        each = "position" if self.positions else "sample"
        told = f"({self.classes},) has one value for each of {self.classes} classes, but the other operand has one per {each}, and no axis of classes. "
        return told + (
            "Multiply the one-hot labels by it first, and sum over axis 0, the samples."
            if self.added
            else "Select the weight of each label's class first. For one-hot labels, sum y_true times the weights over the last axis; "
            "for integer labels, use gather."
        )


class ClassIndices(Reason, frozen=True):
    """A product multiplies ``labels`` that are class indices with ``values`` that have one for each class."""

    labels: Shape
    values: Shape

    def words(self) -> str:
        return (
            f"The labels {show_shape(self.labels)} are class indices, and {show_shape(self.values)} has one value for each class. "
            "The number of a class is no factor: convert the labels to one-hot vectors."
        )


class PickedOverBatch(Reason, frozen=True):
    """``operation`` picks an index along the batch axis of ``whole``, which leaves one for each of its columns."""

    operation: str
    whole: Shape

    def words(self) -> str:
        return (
            f"{self.operation} of {show_shape(self.whole)} compares the samples, and leaves one index for each of {self.whole[-1]} columns. "
            "Axis 0 is the batch; use the last axis."
        )


class ClassesSummed(Reason, frozen=True):
    """A metric has a value for each of ``classes``, and a reduction of ``whole`` left one for each sample."""

    classes: int
    whole: Shape

    def words(self) -> str:
        return (
            f"The metric has one value for each of {self.classes} classes, but the reduction of {show_shape(self.whole)} left one per sample. "
            "Reduce over axis 0, the samples."
        )


class Flattened(Reason, frozen=True):
    """``labels`` and ``predictions`` were flattened, and have different numbers of values."""

    labels: Shape
    predictions: Shape

    def words(self) -> str:
        return (
            f"The labels are {show_shape(self.labels)} and the predictions {show_shape(self.predictions)}. Flattened, they have "
            f"{many(elements(self.labels))} and {many(elements(self.predictions))} values, but each label needs one prediction."
        )


class InARow(Reason, frozen=True):
    """``row`` has all values of ``other``, flattened with the batch."""

    row: Shape
    other: Shape

    def words(self) -> str:
        return f"{show_shape(self.row)} is flattened, and {show_shape(self.other)} is not. They have as many values: flatten both, or neither."


class Column(Reason, frozen=True):
    """``column`` has one value in each row, and as many rows as the last axis of ``other``."""

    column: Shape
    other: Shape

    def words(self) -> str:
        number = self.column[0]
        return (
            f"{show_shape(self.column)} is a column, so its {number} values are aligned with the samples of {show_shape(self.other)}. "
            f"With shape ({number},) they align with its last axis, the same for every sample."
        )


class LacksAxis(Reason, frozen=True):
    """Both have a batch axis, and ``short`` lacks an axis that ``long`` has. ``through``: the layer whose inner axes ``long`` still has.

    ``joins``: they are concatenated. ``matrix``: the shape in which the values of each row of ``short`` can be multiplied.
    """

    short: Shape
    long: Shape
    product: bool
    through: str = ""
    joins: bool = False
    matrix: Shape = ()

    @property
    def spare(self) -> int | None:
        """The axis of size 1 between others without which ``long`` has the other's shape, of several axes."""
        fits = (at for at, size in enumerate(self.long[:-1]) if at and size == 1 and (*self.long[:at], *self.long[at + 1 :]) == self.short)
        return next(fits, None) if not self.product and not self.joins and len(self.short) > 1 else None

    def words(self) -> str:
        if self.through:
            return (
                f"The inner axes of {self.through} are never flattened or pooled. Dense works only on the last axis, so {show_shape(self.long)} has one "
                f"result per position instead of one per sample. Add Flatten before the first Dense."
            )
        if self.spare is not None:
            return f"{show_shape(self.long)} has an axis of size 1 that {show_shape(self.short)} lacks: axis {self.spare}. Shapes are aligned from the right, so squeeze it."
        if self.matrix:
            add = f"The {self.short[-1]} values of each sample are a matrix of {self.matrix[0]} × {self.matrix[1]}: reshape them to {show_shape((*self.short[:1], *self.matrix))}."
        elif self.joins:
            add = f"Concatenated tensors need the same rank: x[:, None] has shape {show_shape((*self.short[:1], 1, *self.short[1:]))}."
        elif self.product and len(self.short) > 2:
            add = f"The axes before the matrices must match: x[:, None] has shape {show_shape((*self.short[:1], 1, *self.short[1:]))}."
        elif self.product:
            add = f"A matrix product requires a column: expand_dims(x, -1) has shape {show_shape((*self.short, 1))}."
        else:
            lacks = len(self.long) - len(self.short)
            axes = "an axis" if lacks == 1 else f"{lacks} axes"
            add = f"Shapes are aligned from the right, so its batch axis is aligned with an inner axis. Insert {axes} of size 1 where it lacks {'one' if lacks == 1 else 'them'}."
        return f"{show_shape(self.short)} lacks an inner axis of {show_shape(self.long)}. {add}"


class Unsplit(Reason, frozen=True):
    """An axis of ``size``, which ``giver`` gives, is split into ``parts`` of equal size."""

    size: int
    parts: int
    giver: str

    def words(self) -> str:
        rest = f"{count(self.size, 'value')}{f' of {self.giver}' if self.giver else ''}"
        return f"The {rest} cannot be split into {self.parts} equal parts: {self.size} is not a multiple of {self.parts}."


class Pieces(Reason, frozen=True):
    """An axis of ``size``, which ``giver`` gives, is split into ``pieces`` that do not add up to it."""

    size: int
    pieces: tuple[int, ...]
    giver: str

    def words(self) -> str:
        total = f"{' + '.join(map(str, self.pieces))} = {sum(self.pieces)}"
        return f"The pieces have {total} values, but the axis has {self.size}{f', the output of {self.giver}' if self.giver else ''}."


class Blocks(NamedTuple):
    """An axis that a reshape cuts into ``parts`` blocks of ``block``, which leaves a remainder."""

    axis: int
    size: int
    parts: int
    block: int

    def words(self) -> str:
        whole = self.parts * self.block
        return f"{self.size} is not a multiple of {self.block}: {self.parts} × {self.block} = {whole}, which leaves {self.size - whole} over."


def cut_blocks(shape: Shape, target: Shape) -> list[Blocks]:
    """The axes of ``shape``, in order, that neighboring sizes of ``target`` cut unevenly."""
    found, start = [], 0
    for axis, size in enumerate(shape[1:], 1):
        for place in range(start, len(target) - 1):
            parts, block = target[place] or 0, target[place + 1] or 0
            if size and parts > 0 and block > 1 and size // block == parts and size % block:
                found.append(Blocks(axis, size, parts, block))
                start = place + 2
                break
    return found


def no_room(steps: Who, shape: Shape, target: Shape) -> str:
    """A recurrent layer returns all steps to a reshape with room for one."""
    count = (elements(shape) or 0) // (elements(target) or 1)
    return f"{steps.name} returns all {count} steps because return_sequences=True, and the target has room for one of them."


class Uneven(Reason, frozen=True):
    """A reshape of ``shape`` to ``target`` leaves a remainder; ``None`` in the target is inferred.

    ``steps``: the recurrent layer that returns as many steps as there are values too many.
    """

    shape: Shape
    target: Shape
    steps: Who | None = None

    def words(self) -> str:
        if self.steps is not None:
            return no_room(self.steps, self.shape, self.target)
        tail = [n for n in self.target[self.target.index(None) + 1 :] if n is not None] if None in self.target else []
        product = 1
        for n in tail:
            product *= n
        text = f"The values do not divide evenly into the target shape {show_shape(self.target)}."
        have, need = elements(self.shape[1:]), elements(self.target[1:])
        if have and need and self.target[0] is None:
            text = f"{text.removesuffix('.')}: each sample has {have:,}, and each row of the target has {need:,}."
        if cuts := cut_blocks(self.shape, self.target):
            return cuts[0].words()
        if len(tail) == 2 and self.shape and self.shape[-1] not in (None, product):
            return (
                f"{text} {tail[0]} × {tail[1]} = {product}, but the last dimension is {self.shape[-1]}. A dimension splits into heads only if it "
                f"is a multiple of their number ({self.shape[-1]} mod {tail[0]} = {(self.shape[-1] or 0) % tail[0]})."
            )
        return text


class SamplesReduced(Reason, frozen=True):
    """``node`` reduces ``shape`` over its first axis, which are the samples, and what follows needs a row for each of them."""

    node: Who
    shape: Shape

    def words(self) -> str:
        return (
            f"{self.node.op}{placed(self.node)} reduces {show_shape(self.shape)} over axis 0, the samples. "
            f"What is left has no row for each of them; another axis keeps them."
        )


class OneSample(Reason, frozen=True):
    """``single`` has one row, or no axis for rows, and what it is joined with, ``rows``, has one a sample."""

    single: Shape
    rows: Shape

    def words(self) -> str:
        return (
            f"{show_shape(self.single)} has {'a single row' if len(self.single) == len(self.rows) else 'no batch axis'}, but {show_shape(self.rows)} has one for each sample. Joining does not broadcast: "
            f"repeat it for each sample first, with keras.ops.broadcast_to."
        )


class OneStep(Reason, frozen=True):
    """``single`` has size 1 on ``axis``, where ``many``, which it is joined with along another axis, has more."""

    single: Shape
    many: Shape
    axis: int

    def words(self) -> str:
        return (
            f"{show_shape(self.single)} has size 1 on axis {self.axis}, but {show_shape(self.many)} has {self.many[self.axis]}. "
            "Joining does not broadcast: repeat it along that axis first."
        )


class Columns(Reason, frozen=True):
    """Operands of ``shape``, one number for each sample on an axis of its own, of a function that takes others as well."""

    shape: Shape

    def words(self) -> str:
        return (
            f"{show_shape(self.shape)} holds one number for each sample on an axis of size 1. "
            f"Functions that take lengths or ids beside their data expect a vector, {show_shape(self.shape[:1])}."
        )


class SumsOverBatch(Reason, frozen=True):
    """A product of ``data`` and ``other`` sums over the batch axis of ``data``: ``data`` is transposed, or it is the ``second`` operand as it is.

    ``matrix``: ``other`` holds no samples.
    """

    data: Shape
    other: Shape
    second: bool = False
    matrix: bool = False

    @property
    def rows(self) -> tuple[int, int] | None:
        """The axes that each sample of ``data`` has values for, if ``other`` is to be multiplied by each sample."""
        wanted, given = self.other[-1], self.data[-1]
        return (wanted, given // wanted) if self.matrix and wanted and given and given > wanted and given % wanted == 0 else None

    def words(self) -> str:
        if self.matrix:
            told = f"The product sums over the first axis of its second operand {show_shape(self.data)}, which is its batch axis. "
            if self.rows is None:
                return f"{told}Each sample needs an axis of {self.other[-1]} after it."
            steps, each = self.rows
            return f"{told}The {self.data[-1]} values of a sample are {steps} × {each}: reshape them, so that each sample is multiplied by {show_shape(self.other)}."
        if self.second:
            return (
                f"The product sums over the first axis of its second operand {show_shape(self.data)}, which is its batch axis. "
                "Transpose the second operand to multiply every sample with every other."
            )
        return (
            f"{show_shape(self.data)} is transposed, so the product sums over its batch axis and needs {self.data[0]} rows in "
            f"{show_shape(self.other)}. Samples would be added up."
        )


class RowsMade(Reason, frozen=True):
    """A ``reshape`` of ``before`` to ``after`` makes several rows of each sample."""

    before: Shape
    after: Shape
    reshape: Who

    def words(self) -> str:
        times = (self.after[0] or 0) // (self.before[0] or 1)
        return (
            f"The reshape{placed(self.reshape)} makes {times} rows of each sample: {show_shape(self.before)} to {show_shape(self.after)}. "
            f"A sample has {elements(self.before[1:])} values, but the sizes after the batch axis hold {elements(self.after[1:])}."
        )


class Lengths(Reason, frozen=True):
    """Two sizes that must be equal: ``left`` comes from ``first``, ``right`` from ``second``; ``""`` for a constant of the program.

    ``summed``: the axes of both operands that a product sums over; empty for an operation that works element by element.
    ``joined``: both are joined along another axis.
    """

    left: int
    right: int
    first: str
    second: str
    summed: tuple[int, ...] = ()
    joined: bool = False

    def words(self) -> str:
        def told(number: int, source: str) -> str:
            return f"{number} comes from {source}" if source else f"{number} is a fixed size in the program (a table or a constant)"

        both = f"{told(self.left, self.first)}, and {told(self.right, self.second)}."
        if self.summed:
            return f"{both} The product sums over both, so they must be equal."
        return f"{both} They must be equal." if self.joined else f"{both} They must be equal, or one of them must be 1."


class PairOfEach(Reason, frozen=True):
    """A padding has ``pairs`` for a tensor of ``axes``."""

    axes: int
    pairs: int

    def words(self) -> str:
        return f"The padding has {self.pairs} pairs, but the tensor has {self.axes} axes. Each axis needs a pair, those of samples and channels too."


class Halves(Reason, frozen=True):
    """Every second position of an axis of odd ``size``: from the first on there is one more than from the second on."""

    size: int

    def words(self) -> str:
        return (
            f"{self.size} is odd: every second position from 0 on gives {self.size - self.size // 2}, from 1 on {self.size // 2}. "
            f"Use an even size, or pad the axis to {self.size + 1} first."
        )


class Exchanged(Reason, frozen=True):
    """``attention`` returns one vector for each of the ``steps`` of its ``query``; the ``other`` branch has the steps of its ``value``."""

    attention: Who
    query: str
    value: str
    steps: int
    other: int

    def words(self) -> str:
        return (
            f"{self.attention.name} returns one vector for each step of its query, the first argument: {self.query}, "
            f"with {count(self.steps, 'step')}. The other branch has the {count(self.other, 'step')} of {self.value}."
        )
