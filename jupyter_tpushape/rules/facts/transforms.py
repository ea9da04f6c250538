"""What is found of JAX's own functions: loops, branches, maps, gradients, and what they ask of shapes and dtypes."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, placed


class CarryApart(Fact, frozen=True):
    """The state ``name`` of a loop (``operation``) comes out of one step as ``after`` and went in as ``before``; or with other dtypes."""

    operation: str
    name: str
    before: Shape
    after: Shape
    was: str = ""
    becomes: str = ""

    @property
    def shapes(self) -> bool:
        """Whether it is the shape that changes, and not the dtype alone."""
        return self.before != self.after

    def message(self) -> str:
        which = f"The state {self.name}" if self.name else "A state"
        return f"{which} of {self.operation} starts as {self._of(self.before, self.was)} and becomes {self._of(self.after, self.becomes)} in one step."

    def why(self) -> str:
        kept = "shape" if self.shapes else "dtype"
        rows = ", batch axis included" if self.shapes else ""
        return f"A compiled loop keeps the {kept} of its state: start with the {kept} that a step returns{rows}."

    def sides(self) -> Sides:
        return Side(self._of(self.before, self.was)), Side(self._of(self.after, self.becomes))

    def _of(self, shape: Shape, dtype: str) -> str:
        return show_shape(shape) if self.shapes or not dtype else dtype


class BranchesApart(Fact, frozen=True):
    """The branches of a condition return ``first`` and ``second``; where the shapes are equal, of two ``dtypes``."""

    operation: Who
    first: Shape
    second: Shape
    dtypes: tuple[str, str]

    def message(self) -> str:
        left, right = self._both()
        return f"The branches of {self.operation.op}{placed(self.operation)} return {left} and {right}."

    def why(self) -> str:
        what = "shape" if self.first != self.second else "dtype"
        return f"Both are compiled, and what follows them is compiled once: they have to return the same structure, with the same {what}."

    def sides(self) -> Sides:
        left, right = self._both()
        return Side(left), Side(right)

    def _both(self) -> tuple[str, str]:
        return (show_shape(self.first), show_shape(self.second)) if self.first != self.second else self.dtypes


class MappedApart(Fact, frozen=True):
    """A function is mapped over axes of several sizes: of each argument the size, the axis and the name."""

    operation: Who
    axes: tuple[tuple[int | None, int, str], ...]

    def message(self) -> str:
        parts = ", and along ".join(
            f"axis {axis} of {name or 'an argument'}, which is {self._size(size)}" for size, axis, name in self.axes
        )
        return f"{self.operation.op}{placed(self.operation)} goes along {parts}."

    def why(self) -> str:
        return "Every argument gives one entry a turn. What is the same in each turn is not mapped: None at its place in in_axes, as in jax.vmap(f, in_axes=(0, None))."

    def sides(self) -> Sides:
        first, last = self.axes[0][0], self.axes[-1][0]
        return Side(self._size(first)), Side(self._size(last))

    @staticmethod
    def _size(size: int | None) -> str:
        return "as long as the batch" if size is None else f"{size} long"


class GradientOf(Fact, frozen=True):
    """A gradient is asked of a function that returns several values, or one of ``shape``."""

    operation: Who
    several: bool
    shape: Shape = ()

    def message(self) -> str:
        what = "several values" if self.several else f"{show_shape(self.shape)} rather than one number"
        return f"The function whose gradient is asked for{placed(self.operation)} returns {what}."

    def why(self) -> str:
        if self.several:
            return "With has_aux=True, jax.grad and jax.value_and_grad take the first value as the loss and hand the others on."
        return "A gradient is that of one number: take the mean or the sum of the loss first."

    def sides(self) -> Sides:
        return Side("one number"), Side("several values" if self.several else show_shape(self.shape))


class FractionalSize(Fact, frozen=True):
    """``operation`` is given ``size``, a float, as the size of an axis."""

    operation: Who
    size: float

    @property
    def whole(self) -> bool:
        """Whether the number comes out even."""
        return self.size == int(self.size)

    def message(self) -> str:
        return f"{self.operation.op}{placed(self.operation)} is given {self.size} as the size of an axis, and it is a float."

    def why(self) -> str:
        even = "In Python / gives a float even where it comes out even; // gives a whole number."
        return even if self.whole else "The sizes of axes are whole numbers, and what was divided does not come out even."

    def sides(self) -> Sides:
        return Side("a whole number"), Side(repr(self.size))


class FractionalIndex(Fact, frozen=True):
    """``operation`` uses a tensor of ``dtype`` as indices."""

    operation: Who
    dtype: str

    def message(self) -> str:
        return f"{self.operation.op}{placed(self.operation)} is given indices of dtype {self.dtype or 'float'}, and only whole numbers count places."

    def why(self) -> str:
        return 'Keras casts what it feeds to the dtype of the Input, float32 by default: declare Input(..., dtype="int32"), or cast the indices where they are used.'

    def sides(self) -> Sides:
        return Side("int32"), Side(self.dtype or "float32")


class PutApart(Fact, frozen=True):
    """A place of a tensor, ``place``, is set to a ``value`` that cannot be spread over it."""

    operation: Who
    value: Shape
    place: Shape

    def message(self) -> str:
        return f"{self.operation.op}{placed(self.operation)} puts {show_shape(self.value)} where {show_shape(self.place)} is."

    def why(self) -> str:
        return "Counted from the right, each axis of the new value is as long as that of the place, or of size 1."

    def sides(self) -> Sides:
        return Side(show_shape(self.place)), Side(show_shape(self.value))


class StatefulPair(Fact, frozen=True):
    """What ``stateless_call`` returns, the predictions and the new state, is handed on as if it were the predictions."""

    def message(self) -> str:
        return "The loss is given what stateless_call returns, and that is a pair: the predictions and the new non-trainable variables."

    def why(self) -> str:
        return "Take it apart: y_pred, non_trainable = self.stateless_call(...), and return the second one with the state."

    def sides(self) -> Sides:
        return Side("y_pred"), Side("(y_pred, non_trainable_variables)")


class StepReturns(Fact, frozen=True):
    """A ``train_step`` returns no pair of logs and state, or a state of ``parts`` groups of variables."""

    parts: int | None

    def message(self) -> str:
        if self.parts is None:
            return "train_step does not return (logs, state), which fit on JAX takes apart."
        return f"train_step returns a state of {count(self.parts, 'part')}, and fit on JAX takes four of them back."

    def why(self) -> str:
        return (
            "return logs, (trainable_variables, non_trainable_variables, optimizer_variables, metrics_variables): the same four lists that "
            "the step was given, with new values where it made some."
        )

    def sides(self) -> Sides:
        return Side("(logs, state of 4)"), Side("no pair" if self.parts is None else f"(logs, state of {self.parts})")
