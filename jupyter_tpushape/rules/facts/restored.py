"""Facts about models that reproduce their inputs."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import pair, placed


class LabelsNotInputs(Fact, frozen=True):
    """The outputs have the shape of the inputs, as those of an autoencoder, and the labels that ``loss`` compares them with are not inputs."""

    loss: str
    predictions: Shape
    labels: Shape

    def message(self) -> str:
        return (
            f"The model returns the shape of its input, as an autoencoder does, but {self.loss} compares predictions {show_shape(self.predictions)} "
            f"with labels {show_shape(self.labels)}."
        )

    def why(self) -> str:
        return "A model that reproduces its input has the input itself as its label: (x, x). A model for these labels needs another last layer."

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class SameSteps(Fact, frozen=True):
    """``loss`` compares predictions with the steps ``labels``, the slice ``cut`` of a sequence; the model embeds the same slice of it, ``fed``."""

    loss: str
    fed: Who
    labels: Who
    cut: str

    def message(self) -> str:
        without = "last" if self.cut == ":-1" else "first"
        return f"{self.loss} compares the predictions with the steps that the model receives: both are the sequence without its {without} step."

    def why(self) -> str:
        return (
            f"The model receives the slice{placed(self.fed)}, and the labels are the slice{placed(self.labels)}. Each position can copy its own input. "
            "To predict the next step, use [:, :-1] as the input and [:, 1:] as the labels."
        )

    def sides(self) -> Sides:
        return Side("the next step of each position"), Side("the same step")
