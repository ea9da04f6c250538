"""Facts about models that reproduce their inputs."""

from __future__ import annotations

from ...flow import Fact, Shape, Sides, show_shape
from ..words import pair


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
