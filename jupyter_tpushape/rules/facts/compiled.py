"""What is found of the arguments of compile, and of labels and weights, against the model's outputs."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, show_shape
from ..words import count, listed, pair

What = Literal["loss", "metrics", "labels", "weights"]
_NAMED = {
    "loss": "The loss dict of compile",
    "metrics": "The metrics dict of compile",
    "labels": "The dict of labels",
    "weights": "The dict of sample weights",
}
_SINGLE = {"loss": "loss in the list", "metrics": "entry in metrics", "labels": "array of labels", "weights": "array of sample weights"}
_COUNTED = {"loss": "losses", "metrics": "entries in metrics", "labels": "labels", "weights": "sample weights"}


class UnknownOutputs(Fact, frozen=True):
    """A dict names ``unknown`` outputs; the model's own are ``outputs``."""

    what: What
    unknown: tuple[str, ...]
    outputs: tuple[str, ...]

    def message(self) -> str:
        return f"{_NAMED[self.what]} names {listed(self.unknown)}, and the model's outputs are {listed(self.outputs)}."

    def why(self) -> str:
        return "An output is called by its key in the dict that the model returns, or by the name of the layer that makes it (name=...)."

    def sides(self) -> Sides:
        return Side(", ".join(self.outputs)), Side(", ".join(self.unknown))


class NamelessOutputs(Fact, frozen=True):
    """A dict names outputs, and the model returns ``count`` of them in a tuple or list, without names."""

    what: What
    names: tuple[str, ...]
    count: int

    def message(self) -> str:
        return (
            f"{_NAMED[self.what]} names {listed(self.names)}, and the model returns {self.count} outputs in a tuple, which have no names."
        )

    def why(self) -> str:
        first = self.names[0] if self.names else "a"
        return (
            "Only a functional model names the outputs of a list, after its layers. Let call return a dict, "
            f"{{'{first}': ..., ...}}, or give losses and labels as lists in the order of the outputs."
        )

    def sides(self) -> Sides:
        return Side("outputs with names"), Side(f"{self.count} outputs in a tuple")


class WrongNumber(Fact, frozen=True):
    """``given`` losses, metrics, labels or weights in a list, for the outputs ``outputs``."""

    what: What
    given: int
    outputs: tuple[str, ...]

    def message(self) -> str:
        have = count(len(self.outputs), "output")
        if self.given == 1:
            return f"There is one {_SINGLE[self.what]}, and the model has {have}: {listed(self.outputs)}."
        return f"There are {self.given} {_COUNTED[self.what]}, and the model has {have}: {listed(self.outputs)}."

    def why(self) -> str:
        if self.what == "metrics":
            return "With several outputs a list of metrics has one entry for each output: [['mae'], ['accuracy']], or a dict by the outputs' names."
        return "A list is matched with the outputs one by one, in their order; a dict by the outputs' names."

    def sides(self) -> Sides:
        return Side(f"one for each of {len(self.outputs)} outputs"), Side(str(self.given))


class MetricReads(Fact, frozen=True):
    """``metric`` is given class numbers and a row of probabilities each. ``classes``: it reads class numbers on both sides; else rows on both."""

    metric: str
    labels: Shape
    predictions: Shape
    classes: bool

    def message(self) -> str:
        reads = "class numbers on both sides" if self.classes else "labels and predictions value by value"
        return (
            f"The metric {self.metric} reads {reads}, and gets class numbers {show_shape(self.labels)} with rows of "
            f"{self.predictions[-1]} values {show_shape(self.predictions)}."
        )

    def why(self) -> str:
        if self.classes:
            return "The loss takes the class with the most probability by itself, this metric does not: say sparse_y_pred=False (Keras), or take argmax in a metric of your own."
        two = " For two classes, one sigmoid unit with binary_crossentropy suits it as well." if self.predictions[-1] == 2 else ""
        return (
            "The sparse loss turns class numbers into rows by itself, this metric does not. Either one-hot labels with categorical_crossentropy, or a "
            f"metric for class numbers (sparse_categorical_accuracy, 'accuracy').{two}"
        )

    def sides(self) -> Sides:
        return pair(self.predictions[:-1] if self.classes else self.predictions, self.labels, names=False)


class TextLabels(Fact, frozen=True):
    """Labels that are text."""

    path: str
    loss: str

    def message(self) -> str:
        return f"The labels {self.path} are text, and {self.loss} compares numbers."

    def why(self) -> str:
        return "Give each class a number before fit: a StringLookup over the class names in ds.map, or np.unique(y, return_inverse=True)[1] for an array."

    def sides(self) -> Sides:
        return Side("numbers"), Side("text")


class ColourMasks(Fact, frozen=True):
    """Label masks that are pictures of ``channels`` colours, where ``head`` chooses one of ``classes`` classes."""

    head: str
    loss: str
    labels: Shape
    predictions: Shape

    def message(self) -> str:
        return (
            f"The masks {show_shape(self.labels)} are pictures of {self.labels[-1]} colour channels, and {self.head} gives each position one of "
            f"{self.predictions[-1]} classes: {show_shape(self.predictions)}."
        )

    def why(self) -> str:
        return (
            f"{self.loss} wants a class for each position. Turn each colour into its class number first (a table of colours), "
            "and use sparse_categorical_crossentropy, or one-hot it."
        )

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)
