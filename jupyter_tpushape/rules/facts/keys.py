"""Facts about keys of random numbers."""

from __future__ import annotations

from ...flow import Fact, Location, Shape, Side, Sides, show_shape


class KeyReused(Fact, frozen=True):
    """A function draws random numbers of ``shape`` from a key from which it drew the same numbers at ``first``."""

    shape: Shape
    first: Location | None

    def message(self) -> str:
        at = f" at {self.first}" if self.first is not None else ""
        return f"The random numbers {show_shape(self.shape)} are the same as those drawn{at}: both use the same key."

    def why(self) -> str:
        return (
            "On JAX, a key always gives the same numbers. To draw different ones, derive a key for each draw: jax.random.split(key), "
            "jax.random.fold_in(key, 1), or another call of next() on the seed generator."
        )

    def sides(self) -> Sides:
        return Side("a key for each draw"), Side("one key for two draws")
