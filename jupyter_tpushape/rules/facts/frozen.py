"""Facts about weights that a compiled function has as constants."""

from __future__ import annotations

from ...flow import Fact, Side, Sides
from ..words import listed


class FrozenWeights(Fact, frozen=True):
    """``function`` of ``cls`` is a ``tf.function`` that has the weights of ``layers`` as constants; ``alone``: no other weight is trained."""

    cls: str
    function: str
    layers: tuple[str, ...]
    alone: bool

    def message(self) -> str:
        return f"{self.cls}.{self.function} is a tf.function that keeps the first weights of {listed(self.layers)} as constants."

    def why(self) -> str:
        follows = (
            "fit raises `No gradients provided for any variable`."
            if self.alone
            else "These weights are never trained, and no error is raised."
        )
        return (
            f"Keras 3 compiles it while it infers shapes, before the weights have values. {follows} fit compiles the whole step by itself."
        )

    def sides(self) -> Sides:
        return Side("weights that the step reads"), Side("constants")
