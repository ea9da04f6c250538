"""Facts about branches that are merged: shapes that differ, swapped axes, and a Dot along axes of other sizes."""

from __future__ import annotations

import msgspec

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ...graph import Cause
from ..words import because, listed, named, pair
from .reasons import Exchanged


class DotAxes(Fact, frozen=True):
    """A Dot sums over axis ``axes[0]`` of its first input and ``axes[1]`` of its second, whose sizes differ.

    ``fitting``: the pair of axes of equal size, if there is only one, or one that keeps an axis as written.
    """

    layer: Who
    givers: tuple[str, str]
    shapes: tuple[Shape, Shape]
    axes: tuple[int, int]
    fitting: tuple[int, int] | None = None

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        return self.shapes[0][self.axes[0]], self.shapes[1][self.axes[1]]

    def message(self) -> str:
        one, other = (f"axis {axis} of {giver} {show_shape(shape)}" for axis, giver, shape in zip(self.axes, self.givers, self.shapes, strict=True))
        return f"{named(self.layer)} sums over {one} and {other}, but these axes have {self.sizes[0]} and {self.sizes[1]} values."

    def why(self) -> str:
        what = f"Axes {self.fitting[0]} and {self.fitting[1]} have the same size." if self.fitting is not None else ""
        return f"Dot multiplies the two inputs along one axis of each, given by axes=, and both must have the same size. {what}".strip()

    def sides(self) -> Sides:
        return Side(str(self.sizes[0])), Side(str(self.sizes[1]))


class SwappedBranch(Fact, frozen=True):
    """``layer`` merges ``shapes``, of which the second has axes ``axis`` and ``place`` swapped: the data's axis ``axis`` is at ``place``."""

    layer: Who
    givers: tuple[str, str]
    shapes: tuple[Shape, Shape]
    axis: int
    place: int

    def message(self) -> str:
        one, other = (f"{giver} {show_shape(shape)}" for giver, shape in zip(self.givers, self.shapes, strict=True))
        return f"{named(self.layer)} cannot merge {one} with {other}: axes {self.axis} and {self.place} are swapped."

    def why(self) -> str:
        first, second = self.givers
        return f"Axis {self.axis} of the data is still axis {self.axis} in {first}, but axis {self.place} in {second}. Transpose {second}."

    def sides(self) -> Sides:
        return pair(*self.shapes, names=False)


class Branch(msgspec.Struct, frozen=True):
    """One merged tensor: the node that it comes from, and its shape."""

    giver: Who
    shape: Shape | None


class UnlikeBranches(Fact, frozen=True):
    """``layer`` merges branches with incompatible shapes. ``axis``: the axis of a Concatenate; ``odd``: the branch that differs.

    ``cause``: where the odd branch got its size; ``made``: otherwise, the arguments or folded axes behind the sizes; ``asked``: the
    attention that one of them comes from; ``gate``: the vector that is to weight the channels of the map it was pooled from.
    """

    layer: Who
    branches: tuple[Branch, ...]
    odd: int
    axis: int | None = None
    cause: Cause | None = None
    made: tuple[str, ...] = ()
    asked: Exchanged | None = None
    gate: str = ""

    @property
    def longer(self) -> tuple[Branch, ...]:
        """Branches with a higher rank than the others. A table without a batch axis is not one to reduce to: it is added to every sample."""
        firsts = [one.shape[0] for one in self.branches if one.shape]
        if self.axis is None and None in firsts and any(size is not None and size > 1 for size in firsts):
            return ()
        least = min(len(one.shape or ()) for one in self.branches)
        return tuple(one for one in self.branches if len(one.shape or ()) > least)

    @property
    def two(self) -> tuple[Branch, Branch]:
        """One branch to compare with, and the odd branch."""
        return next(one for i, one in enumerate(self.branches) if i != self.odd), self.branches[self.odd]

    def message(self) -> str:
        one, other = self.two
        return f"{named(self.layer)} cannot merge {one.giver.name} {show_shape(one.shape)} with {other.giver.name} {show_shape(other.shape)}."

    def why(self) -> str:
        rule = "An element-wise merge requires equal shapes, or size 1 on an axis to broadcast."
        if self.axis is not None:
            rule = f"Concatenate joins along axis {self.axis}; all other axes must have equal sizes in every branch."
        sizes = f"{'; '.join(self.made)}." if self.made else ""
        scalar = [one.giver.name for one in self.branches if one.shape == ()]
        if scalar:
            return f"{listed(tuple(scalar))} is a single number for the whole batch: a sum or mean without axis= reduces over the samples too. {rule}"
        single = [one.giver.name for one in self.branches if one.shape is not None and len(one.shape) == 1]
        if single and len(single) < len(self.branches):
            return f"{listed(tuple(single))} {'has' if len(single) == 1 else 'have'} one number per sample and no axis for features: (batch,) instead of (batch, 1). {rule}"
        rows = [one.giver.name for one in self.branches if one.shape and one.shape[0] == 1]
        if rows and any(one.shape and one.shape[0] is None for one in self.branches):
            return f"{listed(tuple(rows))} has one row for the whole batch, and the others have one per sample. Repeat it for each sample, in a custom layer."
        longer = self.longer
        if self.gate:
            whole = longer[0]
            return (
                f"{self.gate} weights the channels of {whole.giver.name}, so it needs {whole.shape[-1] if whole.shape else '?'} values for each sample. {rule}"
            )
        if longer and len(longer) < len(self.branches):
            names = listed(tuple(one.giver.name for one in longer))
            embeds = any(one.giver.op == "Embedding" for one in longer)
            adds = " An Embedding returns a vector for each id, which adds an axis." if embeds else ""
            has, each = ("has", "it") if len(longer) == 1 else ("have", "each")
            ranks = {len(one.shape or ()) for one in self.branches}
            repeated = ", or repeat the vectors for each step" if ranks == {2, 3} else ""
            return f"{names} {has} more dimensions than the other branches.{adds} Add Flatten or a pooling layer after {each}{repeated}. {rule}"
        return " ".join(filter(None, [because(self.cause), self.asked.words() if self.asked is not None else "", sizes, rule]))

    def sides(self) -> Sides:
        one, other = self.two
        return pair(one.shape, other.shape, names=False)
