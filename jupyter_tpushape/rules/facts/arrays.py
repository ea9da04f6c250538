"""Facts about NumPy code that makes the data."""

from __future__ import annotations

from ...flow import Fact, Side, Sides
from ..words import listed


class JoinedApart(Fact, frozen=True):
    """A line joins arrays of ``shapes`` along an axis, but they differ along ``axis``, where they have ``first`` and ``second`` entries.

    ``fits``: the only axis along which they differ.
    """

    code: str
    axis: int
    first: int
    second: int
    shapes: tuple[tuple[int | None, ...], ...] = ()
    fits: int | None = None

    def message(self) -> str:
        shapes = f" of shapes {listed(tuple(map(str, self.shapes)))}" if self.shapes else ""
        return f"{f'`{self.code}`' if self.code else 'The data code'} cannot join arrays{shapes}: they differ on axis {self.axis}."

    def why(self) -> str:
        if self.fits is not None:
            return f"Arrays can differ only on the axis along which they are joined. These can be joined along axis {self.fits}."
        return "Arrays can differ only on the axis along which they are joined."

    def sides(self) -> Sides:
        return Side(f"{self.first} on axis {self.axis}"), Side(f"{self.second} on axis {self.axis}")


class ClassBeyond(Fact, frozen=True):
    """Class indices ``labels`` from ``lowest`` to ``highest`` for one-hot vectors of ``count`` values."""

    labels: str
    count: int
    lowest: int
    highest: int

    def message(self) -> str:
        return f"The classes in {self.labels} are {self.lowest} to {self.highest}, but the one-hot vectors have {self.count} values, for classes 0 to {self.count - 1}."

    def why(self) -> str:
        if self.lowest > 0 and self.highest - self.lowest < self.count:
            return f"There are {self.count} classes, counted from {self.lowest}: subtract {self.lowest}."
        return f"{self.highest + 1} values are needed."

    def sides(self) -> Sides:
        return Side(f"classes 0 to {self.count - 1}"), Side(f"classes {self.lowest} to {self.highest}")


class ResultsApart(Fact, frozen=True):
    """An expression, ``code``, unpacks ``wanted`` results of a call that returns more of them, if ``many``, or fewer."""

    code: str
    wanted: int
    many: bool

    def message(self) -> str:
        return f"{f'`{self.code}`' if self.code else 'The data code'} unpacks {self.wanted} values, but there are {'more' if self.many else 'fewer'}."

    def why(self) -> str:
        return "Unpack as many values as the call returns."

    def sides(self) -> Sides:
        return Side(f"{self.wanted} values"), Side("more" if self.many else "fewer")


class RowBeyond(Fact, frozen=True):
    """An expression, ``code``, uses ``index`` on an axis with ``size`` entries."""

    code: str
    index: int
    size: int

    def message(self) -> str:
        return f"{f'`{self.code}`' if self.code else 'The data code'} uses index {self.index}, but the axis has {self.size} entries."

    def why(self) -> str:
        return f"The last index is {self.size - 1}."

    def sides(self) -> Sides:
        return Side(f"an index up to {self.size - 1}"), Side(str(self.index))


class ListsApart(Fact, frozen=True):
    """Lists of ids ``name`` of ``shortest`` to ``longest`` entries, of which a line makes one array."""

    name: str
    shortest: int
    longest: int

    def message(self) -> str:
        return f"The rows of {self.name} have {self.shortest} to {self.longest} ids, but one array needs rows of one length."

    def why(self) -> str:
        return "Pad the rows: keras.utils.pad_sequences."

    def sides(self) -> Sides:
        return Side("rows of one length"), Side(f"{self.shortest} to {self.longest} ids")
