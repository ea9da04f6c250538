"""Facts about keys of random numbers."""

from __future__ import annotations

from ...flow import Fact, Location, Shape, Side, Sides, show_shape


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
        return "Shapes are aligned from the right, so the same numbers scale each sample. Draw noise of the shape of the tensor that it scales."

    def sides(self) -> Sides:
        return Side(show_shape(self.each)), Side(show_shape(self.drawn))
