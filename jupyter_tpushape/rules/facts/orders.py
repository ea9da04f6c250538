"""Facts about the order of rows."""

from __future__ import annotations

from ...flow import Fact, Side, Sides


class OrdersApart(Fact, frozen=True):
    """An expression, ``done``, puts the rows of ``one`` in another order, but not those of ``other``. ``alone``: ``other`` is not reordered at all."""

    one: str
    other: str
    done: str
    line: int
    alone: bool

    def message(self) -> str:
        rows = f"The rows of {self.one} and {self.other} are in different orders"
        if self.alone:
            return f"{rows}: `{self.done}` at line {self.line} reorders {self.one}, but not {self.other}."
        return f"{rows}: each array is reordered on its own, {self.one} by `{self.done}` at line {self.line}."

    def why(self) -> str:
        return "Row i of each array must be the same sample. Training runs, but most samples have the label of another one."

    def sides(self) -> Sides:
        return Side("one order for all arrays"), Side("a different order for each array")
