"""Facts about ``padded_batch``: shapes to pad to that are not those of the elements."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, show_shape


class PaddedApart(Fact, frozen=True):
    """``padded_shapes`` names the shape ``given`` for a part of each element that has shape ``row``.

    ``how``: the numbers of axes differ (``rank``), the parts do (``parts``), or an element is longer (``short``).
    """

    how: Literal["rank", "parts", "short"]
    given: Shape = ()
    row: Shape = ()

    def message(self) -> str:
        if self.how == "parts":
            return "The padded_shapes of padded_batch() do not have the structure of the elements."
        if self.how == "short":
            return "An element is longer than the padded_shapes of padded_batch() allow."
        return f"The padded_shapes of padded_batch() contain {show_shape(self.given)} for a part of each element that has shape {show_shape(self.row)}."

    def why(self) -> str:
        if self.how == "parts":
            return "An element is a tuple with inputs and labels, so padded_shapes is a tuple, too, with a list of sizes for each part: ([None], [])."
        if self.how == "short":
            return "padded_batch() adds values and never cuts. None pads to the longest element of each batch; for a fixed length, cut the elements first."
        return "Padding keeps the rank. A single number, such as a label, has no axes: []."

    def sides(self) -> Sides:
        return (Side(show_shape(self.row)), Side(show_shape(self.given))) if self.how == "rank" else (None, None)
