"""Facts about numbers that no size can be: None, and floats."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named


class NoneAsSize(Fact, frozen=True):
    """Code of a layer, loss or step uses ``text``, which is None: size ``axis`` of ``tensor``, or its whole ``shape``."""

    text: str
    tensor: str
    shape: Shape
    axis: int | None = None

    def message(self) -> str:
        if self.axis is None:
            return f"{self.text} is {show_shape(self.shape)}: sizes are missing that this line needs."
        if self.text.startswith("len("):
            return f"{self.text}: Python's len needs a value, and {self.tensor} {show_shape(self.shape)} is a symbolic tensor."
        which = "the batch size" if self.axis == 0 else f"the size of axis {self.axis}"
        return f"{self.text} is None: {which} of {self.tensor} {show_shape(self.shape)} is unknown before the model runs."

    def why(self) -> str:
        return "This line needs a number there. A static shape has only the sizes that are declared. tf.shape(x) and keras.ops.shape(x) give the others when the model runs."

    def sides(self) -> Sides:
        return Side("a number"), Side("None" if self.axis is not None and self.shape[self.axis] is None else show_shape(self.shape))


class FloatAsSize(Fact, frozen=True):
    """``text`` is a division whose result is the float ``value``, where an integer is needed."""

    text: str
    value: float | None

    def message(self) -> str:
        return f"{self.text} is the float {self.value}, but an integer is needed."

    def why(self) -> str:
        return "In Python, / always returns a float, even if there is no remainder. Use // to get an integer."

    def sides(self) -> Sides:
        return Side("an integer"), Side("a float" if self.value is None else repr(self.value))


class FloatArgument(Fact, frozen=True):
    """``layer`` was created with the float ``value`` in ``argument``, where an integer is needed."""

    layer: Who
    argument: str
    value: float

    def message(self) -> str:
        return f"{named(self.layer)} has the float {self.value} in {self.argument}, but an integer is needed."

    def why(self) -> str:
        return "In Python, / always returns a float, even if there is no remainder. Use // to get an integer."

    def sides(self) -> Sides:
        return Side("an integer"), Side(repr(self.value))
