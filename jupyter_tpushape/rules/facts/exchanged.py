"""The fact about labels of two outputs in each other's place."""

from __future__ import annotations

from ...flow import Fact, KeyPath, Shape, Who, show_shape
from ...flow.paths import show
from ..words import named


class LabelsExchanged(Fact, frozen=True):
    """``loss`` reads numbers of ``path`` as probabilities of classes for ``classes``, and ``other`` compares the one-hot vectors ``beside`` with ``numbers``."""

    classes: Who
    loss: str
    numbers: Who
    other: str
    path: KeyPath
    beside: KeyPath
    shape: Shape

    def message(self) -> str:
        return (
            f"{self.loss} reads the labels {show(self.path)} as classes of {named(self.classes)}, but their rows do not sum to 1. "
            f"{self.other} compares one-hot vectors with {named(self.numbers)}."
        )

    def why(self) -> str:
        return f"Both labels have the shape {show_shape(self.shape)}, so no error is raised. The labels of the two outputs are probably in the wrong order."
