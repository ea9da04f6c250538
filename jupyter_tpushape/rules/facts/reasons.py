"""Why two tensors do not go together in an operation, where the batch axis or a written number tells it."""

from __future__ import annotations

import msgspec

from ...flow import Shape, elements, show_shape


class Reason(msgspec.Struct, frozen=True):
    """The base of the reasons: values, and words made of them."""

    def words(self) -> str:
        """The reason in a sentence or two."""
        raise NotImplementedError


class WholeOnly(Reason, frozen=True):
    """A matrix of all ``whole`` rows meets a batch of ``rows``."""

    whole: int
    rows: int | None

    def words(self) -> str:
        cut = f"batches of {self.rows}" if self.rows is not None else "batches"
        return (
            f"There are {self.whole} rows in all, and fit cuts them into {cut}, while a matrix of {self.whole} by {self.whole} (the adjacency of a "
            f"graph) needs all rows at once. Feed them as one batch: batch_size={self.whole} and shuffle=False, or Dataset.from_tensors((x, y))."
        )


class WrittenRows(Reason, frozen=True):
    """``number`` stands in the program where the batch has ``rows``."""

    number: int
    rows: int | None

    def words(self) -> str:
        has = f"this batch has {self.rows}" if self.rows is not None else "a batch may have any number"
        return f"One side was made for {self.number} rows, and {has}: take the number of rows from the tensor, tf.shape(x)[0]."


class PerClass(Reason, frozen=True):
    """``classes`` numbers, one for each class, meet one number for each of ``rows`` samples."""

    classes: int
    rows: int | None

    def words(self) -> str:
        return (
            f"({self.classes},) holds one number for each of {self.classes} classes, and the other side one for each sample: the axis of the classes is gone "
            "there, since a cross-entropy sums over it. Give each sample the number of its own class: the sum of y_true times these numbers over the "
            "last axis for one-hot labels, or a gather by class number."
        )


class Flattened(Reason, frozen=True):
    """``labels`` and ``predictions`` were put in a row each, and hold different numbers of values."""

    labels: Shape
    predictions: Shape

    def words(self) -> str:
        return (
            f"The labels are {show_shape(self.labels)} and the predictions {show_shape(self.predictions)}; in a row each they have "
            f"{elements(self.labels)} and {elements(self.predictions)} values, where one belongs to one."
        )


class Column(Reason, frozen=True):
    """``column`` holds one number in each of its rows, as many as the last axis of ``other`` has."""

    column: Shape
    other: Shape

    def words(self) -> str:
        number = self.column[0]
        return (
            f"{show_shape(self.column)} is a column, so its {number} numbers meet the rows of {show_shape(self.other)}, which are samples. "
            f"As a row, ({number},), they meet the {number} of its last axis, the same for every sample."
        )


class LacksAxis(Reason, frozen=True):
    """Both carry the batch, and ``short`` lacks an axis that ``long`` has. ``through``: the layer whose inner axes came along to ``long``."""

    short: Shape
    long: Shape
    product: bool
    through: str = ""

    def words(self) -> str:
        if self.through:
            return (
                f"The inner axes of {self.through} are never flattened or pooled, and Dense works on the last axis only, so {show_shape(self.long)} has one "
                f"result for each of them where one a sample is meant. A Flatten before the first Dense makes it one."
            )
        if self.product:
            add = f"A matrix product wants it as a column: tf.expand_dims(x, -1), {show_shape((*self.short, 1))}."
        else:
            lacks = len(self.long) - len(self.short)
            add = f"Shapes are matched from the right, so its batch meets an inner axis: give it {'an axis' if lacks == 1 else f'{lacks} axes'} of size 1 where it has none."
        return f"{show_shape(self.short)} has no axis for the inner one of {show_shape(self.long)}. {add}"


class Uneven(Reason, frozen=True):
    """A reshape of ``shape`` to ``target`` leaves a rest; ``None`` in the target is worked out."""

    shape: Shape
    target: Shape

    def words(self) -> str:
        tail = [n for n in self.target[self.target.index(None) + 1 :] if n is not None] if None in self.target else []
        product = 1
        for n in tail:
            product *= n
        text = f"The target is {show_shape(self.target)}, and the numbers do not fill whole rows of it."
        if (cut := self._cut()) is not None:
            size, parts, block = cut
            return f"{size} is no multiple of {block}: {parts} × {block} = {parts * block}, and {size - parts * block} would be left over."
        if len(tail) == 2 and self.shape and self.shape[-1] not in (None, product):
            return (
                f"{text} {tail[0]} × {tail[1]} = {product}, and the last axis has {self.shape[-1]}: a width is split into heads only where it "
                f"divides by their number ({self.shape[-1]} by {tail[0]} leaves {(self.shape[-1] or 0) % tail[0]})."
            )
        return text

    def _cut(self) -> tuple[int, int, int] | None:
        """An axis that is cut into blocks and leaves a rest: its size, the number of blocks, and how long one is."""
        for size in self.shape[1:]:
            for parts, block in zip(self.target, self.target[1:], strict=False):
                if size and parts and block and block > 1 and size // block == parts and size % block:
                    return size, parts, block
        return None


class Lengths(Reason, frozen=True):
    """Two sizes that were to be equal: ``left`` comes from ``first``, ``right`` from ``second``; ``""`` for a number of the program."""

    left: int
    right: int
    first: str
    second: str

    def words(self) -> str:
        def told(number: int, source: str) -> str:
            return (
                f"{number} comes from {source}"
                if source
                else f"{number} is a size of the program's own (a table, a constant or a written number)"
            )

        return f"{told(self.left, self.first)}, and {told(self.right, self.second)}; the two must be equal there, or one of them 1."
