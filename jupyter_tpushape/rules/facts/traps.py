"""Facts about numbers that go wrong without an error on JAX: gradients, random numbers, their keys, and dtypes."""

from __future__ import annotations

import textwrap

from ...flow import Fact, Location, Shape, Side, Sides, Who, show_shape
from ..words import placed


class SlopeHidden(Fact, frozen=True):
    """``step`` hides the value of ``function`` where its argument is zero, and not its gradient."""

    function: str
    step: Who

    def message(self) -> str:
        return f"{self.step.op}{placed(self.step)} hides the value of {self.function} where its argument is 0, but not its gradient, which is NaN there."

    def why(self) -> str:
        return (
            f"The gradient of the branch that is not taken is 0, and the slope of {self.function} at 0 is not finite: 0 times infinity is NaN. "
            "All weights that it reaches become NaN. Replace the argument as well, with a second where inside the function."
        )

    def sides(self) -> Sides:
        return Side("a finite gradient"), Side("NaN")


class Cancelled(Fact, frozen=True):
    """``step`` adds and subtracts the same tensor, beside what no gradient passes."""

    step: Who

    def message(self) -> str:
        return f"The gradient cancels at {self.step.op}{placed(self.step)}: the same tensor is added and subtracted, and the other term has no gradient."

    def why(self) -> str:
        return (
            "A straight-through estimator keeps the difference inside: z + stop_gradient(q - z). As it is written, "
            "no gradient reaches the layers that z comes from, and no error is raised."
        )

    def sides(self) -> Sides:
        return Side("z + stop_gradient(q - z)"), Side("z + stop_gradient(q) - z")


class BackwardRaises(Fact, frozen=True):
    """The backward function ``function`` of a custom_vjp with ``arguments`` raises ``said``."""

    function: str
    said: str
    arguments: int

    def message(self) -> str:
        return f"The backward function {self.function} raises an error when fit computes the gradients."

    def why(self) -> str:
        gives = f"It must return a tuple with one gradient for each of the {self.arguments} arguments, or None for one without a gradient. "
        return f"{gives if self.arguments > 1 else ''}The error: {textwrap.shorten(self.said, 200, placeholder='...').rstrip('.')}."


class SameInLoop(Fact, frozen=True):
    """Each step of a loop draws random numbers of ``shape`` from one key."""

    shape: Shape

    def message(self) -> str:
        return f"Every step of the loop draws the same random numbers {show_shape(self.shape)}, because the key comes from outside of the loop."

    def why(self) -> str:
        return (
            "On JAX, a key always gives the same numbers. Pass a key for each step, such as jax.random.split(key, steps) as xs of scan, "
            "or use jax.random.fold_in(key, step) in the loop."
        )

    def sides(self) -> Sides:
        return Side("a key for each step"), Side("one key for all steps")


class AcrossSamples(Fact, frozen=True):
    """``step`` shifts or reverses all axes of a tensor of ``shape``; ``function``: what was called."""

    function: str
    shape: Shape
    step: Who

    @property
    def shifts(self) -> bool:
        return self.function == "roll"

    def message(self) -> str:
        how = "shifts the flattened batch" if self.shifts else "reverses all axes"
        return f"Without an axis, {self.step.op}{placed(self.step)} {how} {show_shape(self.shape)}: values move from one sample to another."

    def why(self) -> str:
        return f"{self.function} has no default axis: without one it {'flattens the tensor first' if self.shifts else 'reverses the samples too'}. Pass axis=1."

    def sides(self) -> Sides:
        return Side("an axis of each sample"), Side("all axes")


class Wraps(Fact, frozen=True):
    """``step`` subtracts two tensors of the unsigned ``dtype``."""

    dtype: str
    step: Who

    def message(self) -> str:
        return f"The {self.dtype} difference of {self.step.op}{placed(self.step)} cannot be negative: 3 - 5 is {2 ** int(self.dtype[4:]) - 2}."

    def why(self) -> str:
        return "Unsigned integers wrap around below 0, and no error is raised. Cast both tensors to float32 before the subtraction."

    def sides(self) -> Sides:
        return Side("float32"), Side(self.dtype)


class WrapsInData(Fact, frozen=True):
    """``text`` at ``line`` computes in the unsigned ``dtype``: ``left`` and ``right`` give ``made`` instead of ``meant``. ``array``: the operand to cast."""

    text: str
    array: str
    dtype: str
    line: int
    left: int
    right: int
    made: int
    meant: int

    def message(self) -> str:
        text = textwrap.shorten(self.text, 60, placeholder="...")
        return f"{text} at line {self.line} wraps around in {self.dtype}: with {self.left} and {self.right}, it is {self.made} instead of {self.meant}."

    def why(self) -> str:
        return (
            "NumPy computes in the dtype of the arrays and raises no error. A cast after this line keeps the wrong values. Cast the array to float32 before it."
        )

    def sides(self) -> Sides:
        return Side("float32"), Side(self.dtype)


class Rounded(Fact, frozen=True):
    """Indices of ``rows`` rows were floats of ``dtype``, which count by ones up to ``exact``."""

    dtype: str
    rows: int
    exact: int
    step: Who

    def message(self) -> str:
        return f"The indices of {self.step.op}{placed(self.step)} were {self.dtype}, which is exact only up to {self.exact}; the table has {self.rows} rows."

    def why(self) -> str:
        return (
            "Larger indices are rounded, so they read other rows, and no error is raised. Keras casts float inputs of a layer to "
            "its compute dtype, unless the layer has autocast=False."
        )

    def sides(self) -> Sides:
        return Side("int32"), Side(self.dtype)


class KeyReused(Fact, frozen=True):
    """A function draws random numbers of ``shape`` from a key from which it drew as many of the same distribution at ``first``."""

    shape: Shape
    first: Location | None

    def message(self) -> str:
        at = f" at {self.first}" if self.first is not None else ""
        return f"The random numbers {show_shape(self.shape)} use the same key as those drawn{at}, so both are the same numbers or depend on each other."

    def why(self) -> str:
        return (
            "On JAX, a key always gives the same numbers. To draw different ones, derive a key for each draw: jax.random.split(key), "
            "jax.random.fold_in(key, 1), or another call of next() on the seed generator."
        )

    def sides(self) -> Sides:
        return Side("a key for each draw"), Side("one key for two draws")


class NoiseShared(Fact, frozen=True):
    """Noise of shape ``drawn`` is scaled, at ``line``, by a tensor of shape ``each``, which has a row for each sample."""

    drawn: Shape
    each: Shape
    line: Location | None

    def message(self) -> str:
        at = f" at {self.line}" if self.line is not None else ""
        return f"The noise {show_shape(self.drawn)} has no batch axis, so all samples of {show_shape(self.each)} get the same random numbers{at}."

    def why(self) -> str:
        return "A key gives the same numbers each time. Draw noise of the shape of the whole tensor; under vmap, split the key and map over the keys."

    def sides(self) -> Sides:
        return Side(show_shape(self.each)), Side(show_shape(self.drawn))
