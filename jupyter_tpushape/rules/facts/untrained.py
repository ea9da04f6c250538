"""Facts about weights that training never changes."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import listed, named, placed


class NeverTrained(Fact, frozen=True):
    """No gradient reaches ``weights`` of ``layer``, because ``step`` has no slope. ``layer`` is ``None`` for those of the model itself."""

    weights: tuple[str, ...]
    layer: Who | None
    step: Who

    @property
    def chooses(self) -> bool:
        """Whether the step gives the place of a value, by which the program chooses."""
        return "arg" in self.step.op.lower()

    def message(self) -> str:
        return (
            f"{_of(self.weights, self.layer)} get{'s' if len(self.weights) == 1 else ''} no gradient: the loss depends on "
            f"{'it' if len(self.weights) == 1 else 'them'} only through {self.step.op}{placed(self.step)}."
        )

    def why(self) -> str:
        how = (
            "To train the choice, multiply its result by the probability of what was chosen."
            if self.chooses
            else "Use a smooth function instead, or set trainable=False if this is meant."
        )
        return f"Integers and comparisons have no gradient, so these weights keep their initial values, and no error is raised. {how}"

    def sides(self) -> Sides:
        return Side("a gradient"), Side("no gradient")


class ZeroProduct(Fact, frozen=True):
    """``weights`` of ``layer`` start at zero, and the loss depends on them only through their product in ``step``."""

    weights: tuple[str, ...]
    layer: Who | None
    step: Who

    def message(self) -> str:
        return (
            f"{_of(self.weights, self.layer)} {'all ' if len(self.weights) > 2 else 'both ' if len(self.weights) == 2 else ''}"
            f"start{'s' if len(self.weights) == 1 else ''} at zero and never change{'s' if len(self.weights) == 1 else ''}: "
            f"{self.step.op}{placed(self.step)} multiplies by zeros."
        )

    def why(self) -> str:
        return (
            "The gradient of one factor of a product is a multiple of the other factor, so all gradients are zero, and no error is raised. "
            "Initialize one of the factors randomly; the product still starts at zero."
        )

    def sides(self) -> Sides:
        return Side("one factor that is not zero"), Side("zeros only")


class SumOfShares(Fact, frozen=True):
    """The loss depends on ``weights`` of ``layer`` only through what ``step`` sums along an axis where it always adds up to one."""

    weights: tuple[str, ...]
    layer: Who | None
    step: Who

    def message(self) -> str:
        return (
            f"{_of(self.weights, self.layer)} get{'s' if len(self.weights) == 1 else ''} no gradient: {self.step.op}{placed(self.step)} sums "
            "the result of a softmax along its own axis."
        )

    def why(self) -> str:
        return (
            "A softmax adds up to 1 along its axis, whatever its scores are, so the result does not depend on them. No error is raised. "
            "Multiply by the other tensor along that axis, and sum then."
        )

    def sides(self) -> Sides:
        return Side("a gradient"), Side("no gradient")


def _of(weights: tuple[str, ...], layer: Who | None) -> str:
    return f"{listed(weights)} of {named(layer)}" if layer is not None else listed(weights)
