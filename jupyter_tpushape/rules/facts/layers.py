"""What is found of layers and operations that cannot take what they are given."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...examine.heard import Bound
from ...flow import Fact, Shape, Side, Sides, Who, elements, show_shape
from ...graph import Cause
from ...trace.axes import RECURRENT
from ..words import axes_of, because, count, differing, listed, named, pair, placed, side
from .reasons import Reason


class WrongRank(Fact, frozen=True):
    """``layer`` reads ``wanted`` axes (or ``bound``: at least or at most so many) and gets ``shape``.

    ``lost``: code of the user's own above it from which the batch axis does not come out; ``ended``: a recurrent layer in front of that code
    which returns its last step only. ``batched``: how often the pipeline batches, where that is more than once.
    """

    layer: Who
    wanted: int
    given: int
    shape: Shape | None
    givers: tuple[str, ...]
    bound: Bound = ""
    lost: str = ""
    ended: str = ""
    batched: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """What the layer calls its axes; ``"axis"`` where it has no name for one."""
        names = axes_of(self.layer.op)
        if len(names) == self.wanted:
            return names
        return () if self.bound else ("batch", *["axis"] * (self.wanted - 1))

    def _wants(self) -> str:
        bound = {"min": "at least ", "max": "at most ", "": ""}[self.bound]
        return f"({', '.join(self.names)})" if self.names and "axis" not in self.names else f"{bound}{self.wanted} axes"

    def message(self) -> str:
        gap = self.given - self.wanted
        lacks = f"{abs(gap)} {'axis' if abs(gap) == 1 else 'axes'} too {'many' if gap > 0 else 'few'}"
        shape = show_shape(self.shape)
        return f"{named(self.layer)} wants {self._wants()}, and {f'{listed(self.givers)} gives' if self.givers else 'it gets'} {shape}: {lacks}."

    def why(self) -> str:
        names = axes_of(self.layer.op)
        if self.batched:
            return f"The pipeline calls batch() {self.batched} times, and each call adds an axis. One is enough."
        if self.lost:
            last = (
                f" {self.ended} in front of it returns its last step alone; return_sequences=True would give it the sequence."
                if self.ended
                else ""
            )
            return f"{self.lost} does not keep the batch: its first axis is a number of its own, whatever number of rows goes in.{last}"
        if self.layer.op in RECURRENT:
            return "A recurrent layer reads a sequence of vectors. " + (
                "Say which axis is time and fold the others into the features; Flatten or a global pooling alone would leave no time axis."
                if self.given > self.wanted
                else "Each sample needs a time axis and a feature axis."
            )
        return f"The layer slides over {', '.join(names[1:-1])} and reads channels on the last axis." if names else ""

    def sides(self) -> Sides:
        surplus = tuple(range(1, 1 + self.given - self.wanted))
        return Side(self._wants(), self.names), Side(show_shape(self.shape), side(self.shape).axes, surplus)


class WrongWidth(Fact, frozen=True):
    """``layer`` was built for ``wanted`` on the last axis of ``shape``."""

    layer: Who
    wanted: int
    shape: Shape
    givers: tuple[str, ...]
    cause: Cause | None = None

    def message(self) -> str:
        source = listed(self.givers) or "its input"
        return f"{named(self.layer)} has weights for {self.wanted} on the last axis, and {source} gives {self.shape[-1]}."

    def why(self) -> str:
        built = "The layer was built for another width before, by an earlier call, loaded weights or a layer taken from another model."
        return f"{because(self.cause)} {built}".strip()

    def sides(self) -> Sides:
        return pair((*self.shape[:-1], self.wanted), self.shape)


class Branch(msgspec.Struct, frozen=True):
    """One tensor that is merged: what it comes from, and its shape."""

    giver: Who
    shape: Shape | None


class Exchanged(msgspec.Struct, frozen=True):
    """``attention`` gives one vector for each of the ``steps`` of its ``query``; the ``other`` branch has those of its ``value``."""

    attention: Who
    query: str
    value: str
    steps: int
    other: int


class UnlikeBranches(Fact, frozen=True):
    """``layer`` merges branches whose shapes do not fit. ``axis``: the one that a Concatenate joins along; ``odd``: the branch that differs.

    ``cause``: where the odd one's size parted; ``made``: else what arguments or folded axes made the sizes; ``asked``: the attention that made one.
    """

    layer: Who
    branches: tuple[Branch, ...]
    odd: int
    axis: int | None = None
    cause: Cause | None = None
    made: tuple[str, ...] = ()
    asked: Exchanged | None = None

    @property
    def longer(self) -> tuple[Branch, ...]:
        """Branches that have more axes than others."""
        least = min(len(one.shape or ()) for one in self.branches)
        return tuple(one for one in self.branches if len(one.shape or ()) > least)

    @property
    def two(self) -> tuple[Branch, Branch]:
        """The odd branch behind one that it is held against."""
        return next(one for i, one in enumerate(self.branches) if i != self.odd), self.branches[self.odd]

    def message(self) -> str:
        one, other = self.two
        return (
            f"{named(self.layer)} cannot merge {one.giver.name} {show_shape(one.shape)} with {other.giver.name} {show_shape(other.shape)}."
        )

    def why(self) -> str:
        rule = "Element by element, both branches must have the same shape, or 1 on an axis that is to be repeated."
        if self.axis is not None:
            rule = f"Concatenate joins along axis {self.axis}; every other axis must be the same in all branches."
        sizes = f"{'; '.join(self.made)}." if self.made else ""
        longer = self.longer
        if longer and len(longer) < len(self.branches):
            names = listed(tuple(one.giver.name for one in longer))
            embeds = any(one.giver.op == "Embedding" for one in longer)
            adds = " An Embedding gives a vector for each id, so a column of ids gets an axis more." if embeds else ""
            return f"{names} {'has' if len(longer) == 1 else 'have'} more axes than the other branches.{adds} A Flatten or a pooling behind each takes them away. {rule}"
        return " ".join(filter(None, [because(self.cause), self._asked(), sizes, rule]))

    def _asked(self) -> str:
        if self.asked is None:
            return ""
        return (
            f"{self.asked.attention.name} gives one vector for each step of its query, its first argument: that is {self.asked.query}, "
            f"with {count(self.asked.steps, 'step')}. {self.asked.value} has the {count(self.asked.other, 'step')} of the other branch."
        )

    def sides(self) -> Sides:
        one, other = self.two
        return pair(one.shape, other.shape, names=False)


class WrongCount(Fact, frozen=True):
    """A reshape to ``target`` of ``given``, which has another number of elements. ``per_sample``: the batch axis is not counted."""

    layer: Who
    target: tuple[int, ...]
    given: Shape
    per_sample: bool
    made: str = ""

    def _asked(self) -> str:
        if -1 in self.target:
            return f"a multiple of {abs(elements(self.target) or 0)} numbers"
        return f"{elements(self.target)} numbers"

    def message(self) -> str:
        what = "a sample" if self.per_sample else "the tensor"
        return (
            f"{named(self.layer)} asks for {self.target}, {self._asked()}, and {what} {show_shape(self.given)} has {elements(self.given)}."
        )

    def why(self) -> str:
        made = f"{self.made}; {self._asked()} there would fill it. " if self.made else ""
        return f"{made}A reshape keeps every number; only the axes change."

    def sides(self) -> Sides:
        return Side(f"{self.target} = {self._asked()}"), Side(f"{show_shape(self.given)} = {elements(self.given)} numbers")


class WindowTooLarge(Fact, frozen=True):
    """A window slides over less than its own size. ``window``: empty where it is not known."""

    layer: Who
    window: tuple[int, ...]
    shape: Shape | None
    givers: tuple[str, ...]

    def message(self) -> str:
        shown = self.window[0] if len(self.window) == 1 else self.window
        window = f"a window of {shown}" if self.window else "its window"
        source = f" from {listed(self.givers)}" if self.givers else ""
        return f"{named(self.layer)} slides {window} over {show_shape(self.shape)}{source}, which is smaller than the window."

    def why(self) -> str:
        return (
            "Each convolution without padding and each pooling shrinks height and width; here nothing is left. "
            'padding="same", a smaller window or fewer poolings keep it alive.'
        )

    def sides(self) -> Sides:
        return Side("at least as large as the window"), side(self.shape)


class UnknownAxis(Fact, frozen=True):
    """``layer`` makes weights for an axis of ``shape`` that has no size."""

    layer: Who
    shape: Shape | None
    axis: int = -1

    def message(self) -> str:
        if self.axis != -1:
            return f"{named(self.layer)} makes its weights for axis {self.axis} of {show_shape(self.shape)}, which has no size."
        return f"{named(self.layer)} needs to know the last axis of its input, and gets {show_shape(self.shape)}."

    def why(self) -> str:
        if self.axis != -1:
            return f"Channels stand last here: axis=-1 has {show_shape((self.shape or (None,))[-1:]).strip('(),')} of them, and axis {self.axis} is a place in the picture."
        return "Its weights are made for a fixed size. Declare the axis, or pool over the unknown axes before."

    def sides(self) -> Sides:
        return Side("a known last axis" if self.axis == -1 else "axis=-1"), side(self.shape)


class WrongMask(Fact, frozen=True):
    """An attention mask of ``shape``, where ``wanted`` says which value steps each query step may see."""

    layer: Who
    wanted: Shape
    shape: Shape | None

    def message(self) -> str:
        fits = ", ".join(str(n) for n in self.wanted[1:])
        return f"{named(self.layer)} gets a mask {show_shape(self.shape)} where (batch, {fits}) fits: query steps by value steps."

    def why(self) -> str:
        mask, (batch, target, source) = self.shape or (), self.wanted
        says = "The mask says for each query step (target) which value steps (source) it may see."
        if len(mask) == 2 and mask[-1] == source and mask[0] in (batch, None):
            return f"{says} A padding mask (batch, source) says it for all query steps at once: mask[:, tf.newaxis, :]."
        if len(mask) > 3 and mask[-1] == source and set(mask[1:-1]) == {1}:
            return f"{says} The axis of the heads is added by the layer itself: (batch, 1, source) is enough."
        if mask[-1:] == (target,) and target != source:
            return f"{says} This one has the query's {target} steps on its last axis too, as for self-attention; the values have {source}."
        return says

    def sides(self) -> Sides:
        return pair(self.wanted, self.shape, names=False)


class WrongParts(Fact, frozen=True):
    """Query, value, key of an attention that do not fit together: ``(what, shape)`` each."""

    layer: Who
    parts: tuple[tuple[str, Shape | None], ...]
    said: str

    def message(self) -> str:
        parts = ", ".join(f"{label} {show_shape(shape)}" for label, shape in self.parts)
        return f"{named(self.layer)} gets parts that do not fit together: {parts}."

    def why(self) -> str:
        return f"It says: {self.said}"


class OperationRaised(Fact, frozen=True):
    """An operation that cannot work on ``shapes``: one of the flow's own (``node``), or one inside of ``layer``.

    ``cause``: where the size of one of them parted from the others'.
    """

    operation: str
    shapes: tuple[Shape | None, ...]
    said: str
    node: Who | None = None
    layer: Who | None = None
    reason: Reason | None = None
    cause: Cause | None = None

    @property
    def apart(self) -> tuple[tuple[int, int], ...]:
        """Sizes of the second tensor, each with one of the first that it might have been meant to be: of the axes that differ."""
        if len(self.shapes) < 2 or self.shapes[0] is None or self.shapes[1] is None:
            return ()
        first, second = self.shapes[0], self.shapes[1]
        off = differing(first, second)
        return tuple((b, a) for i in off if (a := first[i]) is not None for b in second if b is not None)

    def message(self) -> str:
        given = " and ".join(show_shape(shape) for shape in self.shapes) or "its inputs"
        if self.layer is not None:
            return f"{self.operation} inside {named(self.layer)} cannot work on {given}."
        return f"The operation {self.operation}{placed(self.node) if self.node is not None else ''} cannot work on {given}."

    def why(self) -> str:
        return because(self.cause) or (self.reason.words() if self.reason is not None else f"It says: {self.said}")

    def sides(self) -> Sides:
        return pair(self.shapes[0], self.shapes[1], names=False) if len(self.shapes) > 1 else (None, None)


class LayerRaised(Fact, frozen=True):
    """``layer`` raises an error of its own, given ``shapes``; ``inner`` names the part of it that did."""

    layer: Who
    shapes: tuple[Shape | None, ...]
    said: str
    inner: str = ""

    def message(self) -> str:
        given = f" given {' and '.join(map(show_shape, self.shapes))}" if self.shapes else ""
        return f"{named(self.layer)} raises{given}{f': {self.said}' if len(self.said) <= 120 else ''}."

    def why(self) -> str:
        inner = f"It happens in {self.inner}, inside the layer." if self.inner else ""
        return inner if len(self.said) <= 120 else f"{inner} It says: {self.said}".strip()


class ArraysApart(Fact, frozen=True):
    """A line of the program's own gives NumPy two arrays that do not fit."""

    how: Literal["put", "combined", "multiplied"]
    first: Shape
    second: Shape

    def message(self) -> str:
        first, second = show_shape(self.first), show_shape(self.second)
        if self.how == "put":
            return f"A line puts an array of shape {first} where one of shape {second} fits."
        if self.how == "multiplied":
            return f"A line multiplies arrays of shapes {first} and {second}, whose inner axes differ."
        return f"A line works on arrays of shapes {first} and {second}, which cannot be broadcast together."

    def why(self) -> str:
        if self.how == "multiplied":
            return f"The rows of the first have {self.first[-1]} numbers, and the second has {self.second[0]} rows."
        size = min(len(self.first), len(self.second))
        first, second = self.first[len(self.first) - size :], self.second[len(self.second) - size :]
        off = [(i - size, a, b) for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b and 1 not in (a, b)]
        if len(off) != 1:
            return "NumPy aligns shapes at their last axes, and sizes there must be equal or 1."
        axis, a, b = off[0]
        one = " Sizes that are one apart often come from every second position of an odd number." if a and b and abs(a - b) == 1 else ""
        return f"They differ on axis {axis}: {a} and {b}.{one}"

    def sides(self) -> Sides:
        return Side(show_shape(self.second)), Side(show_shape(self.first))


class LineRaised(Fact, frozen=True):
    """A line of the program outside of any layer raises."""

    said: str

    def message(self) -> str:
        return "A line outside of any layer raises."

    def why(self) -> str:
        return f"It says: {self.said}"


class TooDeep(Fact, frozen=True):
    """A line nests calls deeper than Python allows; ``means`` and ``todo`` are the catalogue's words for that message."""

    means: str
    todo: str

    def message(self) -> str:
        return "A line calls deeper than Python lets it."

    def why(self) -> str:
        return f"{self.means} {self.todo}"
