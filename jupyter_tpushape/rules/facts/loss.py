"""What is found of losses and metrics against the labels."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, elements, show_shape
from ...flow.paths import show
from ...graph import Cause
from ..words import because, named, pair, placed

Through = Literal["sequences", "tokens", "grid", "input"]


class SurplusAxes(Fact, frozen=True):
    """Inner axes of ``through`` survive to the loss. ``wanted`` is the labels' shape as the loss would read the predictions."""

    cause: Through
    through: Who
    loss: str
    predictions: Shape
    labels: Shape
    wanted: Shape

    @property
    def surplus(self) -> int:
        return len(self.predictions) - len(self.wanted)

    def message(self) -> str:
        meet = f"the predictions are {show_shape(self.predictions)}, the labels {show_shape(self.labels)}."
        if self.cause == "sequences":
            return f"{named(self.through)} returns one vector for every time step, and there is one label a sample: {meet}"
        if self.cause == "tokens":
            return f"{named(self.through)} gives one vector for every token, and there is one label a sample: {meet}"
        axes = "axis" if self.surplus == 1 else "axes"
        through = f"The inner {axes} of {named(self.through)}" if self.cause == "grid" else f"The input's inner {axes}"
        return f"{through} survive{'s' if self.surplus == 1 else ''} to {self.loss}: {meet}"

    def why(self) -> str:
        if self.cause == "sequences":
            return (
                f"Dense works on the last axis and lets the time axis through, so the two meet at {self.loss}. "
                "return_sequences=False keeps only the last step; pooling over time keeps them all."
            )
        if self.cause == "tokens":
            return "Of BERT's outputs sequence_output has one vector a token, and pooled_output one a sentence. Take that, or pool over the tokens."
        return (
            "Dense works on the last axis and lets all others through. A Flatten or a global pooling before it leaves one vector a sample."
        )

    def sides(self) -> Sides:
        return pair(self.wanted, self.predictions, names=False)


class LastStepOnly(Fact, frozen=True):
    """``layer`` returns its last step, and there is a label for every step."""

    layer: Who
    predictions: Shape
    labels: Shape

    def message(self) -> str:
        return (
            f"{named(self.layer)} returns only its last step, and there is one label for every step: "
            f"the predictions are {show_shape(self.predictions)}, the labels {show_shape(self.labels)}."
        )

    def why(self) -> str:
        return "A recurrent layer gives one vector a sample unless return_sequences=True asks for one at each step."

    def sides(self) -> Sides:
        return pair((*self.labels[:2], *self.predictions[1:]), self.predictions, names=False)


class SingleValues(Fact, frozen=True):
    """One value a label, and the loss reads a row of ``predictions[-1]``.

    ``values``: what was seen of them; ``""``: nothing. ``reads``: one-hot rows, or rows that are compared value by value.
    """

    loss: str
    labels: Shape
    predictions: Shape
    values: Literal["", "classes", "numbers"] = ""
    reads: Literal["one-hot", "values"] = "one-hot"

    def message(self) -> str:
        what = {"": "hold one value each", "classes": "are class numbers", "numbers": "are single numbers, and not those of classes"}
        labels, count = show_shape(self.labels), self.predictions[-1]
        if self.reads == "values":
            return f"The labels {labels} {what[self.values]}, and {self.loss} compares each with the {count} values that the model gives for it."
        return f"The labels {labels} {what[self.values]}, and {self.loss} reads one-hot rows of {count}."

    def why(self) -> str:
        if self.values == "numbers":
            return "A categorical loss compares shares of classes. Numbers are compared by a loss such as mse, with one unit for each."
        if self.reads == "values":
            return "As one-hot rows the labels have one value for each class, as the predictions do: to_categorical turns the numbers into rows."
        return "sparse_categorical_crossentropy is the same loss for class numbers; to_categorical turns the numbers into rows."

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class RowsOfValues(Fact, frozen=True):
    """A row of values a label, and the loss reads one class number.

    ``values``: what was seen of the rows: ``one-hot``, ``shares`` that sum to 1, ``marks`` of several classes, nothing but ``zeros``, other
    ``numbers``, or ``""`` where none was seen.
    """

    loss: str
    labels: Shape
    predictions: Shape
    values: Literal["", "one-hot", "shares", "marks", "zeros", "numbers"] = ""

    def message(self) -> str:
        count = self.labels[-1]
        what = {
            "": f"hold {count} values each", "one-hot": "are one-hot rows", "shares": "are rows of probabilities", "zeros": f"are rows of {count} zeros",
            "marks": "mark several classes in a row", "numbers": f"are rows of {count} numbers",
        }  # fmt: skip
        return f"The labels {show_shape(self.labels)} {what[self.values]}, and {self.loss} reads one class number a sample."

    def why(self) -> str:
        if self.values == "marks":
            return "Where a sample may be of several classes, one sigmoid a class and binary_crossentropy is the usual loss."
        if self.values == "numbers":
            return "A loss over classes reads a class number or a row of shares. Numbers are compared by a loss such as mse."
        if self.values == "shares":
            return "categorical_crossentropy is the same loss for rows of probabilities."
        return "categorical_crossentropy is the same loss for one-hot rows; argmax over the last axis turns the rows into numbers."

    def sides(self) -> Sides:
        return pair(self.predictions[:-1], self.labels, names=False)


class WrongUnits(Fact, frozen=True):
    """``head`` gives another number of values than a label has.

    ``giver``: the node that gives what the loss takes for labels, where that is not the data; ``made``: what made the two sizes.
    """

    head: Who
    loss: str
    predictions: Shape
    labels: Shape
    giver: Who | None = None
    made: tuple[str, ...] = ()

    def message(self) -> str:
        given = self.predictions[-1]
        if self.giver is not None:
            return (
                f"{self.loss} compares {show_shape(self.labels)} from {named(self.giver)} with {show_shape(self.predictions)} from "
                f"{named(self.head)}: {self.labels[-1]} values a sample against {given}."
            )
        return f"{named(self.head)} gives {given} value{'s' * (given != 1)} a sample, and each label has {self.labels[-1]}."

    def why(self) -> str:
        if self.giver is not None:
            return " ".join(filter(None, [f"{'; '.join(self.made)}." if self.made else "", "It compares them one by one."]))
        return f"{self.loss} compares them one by one, so the last layer needs as many units as a label has values."

    def sides(self) -> Sides:
        return pair(self.labels, self.predictions, names=False)


class LabelRank(Fact, frozen=True):
    """Labels and predictions with another number of axes. ``folded``: a layer that folded the axis which the labels still have."""

    loss: str
    labels: Shape
    predictions: Shape
    said: str
    folded: Who | None = None

    def message(self) -> str:
        return (
            f"{self.loss} compares labels {show_shape(self.labels)} with predictions {show_shape(self.predictions)}: "
            f"{len(self.labels)} axes against {len(self.predictions)}."
        )

    def why(self) -> str:
        if self.folded is not None:
            return f"{named(self.folded)} folds the {self.labels[1]} steps into one row, and the labels have one for each of them."
        row = self.labels[1:]
        if len(self.predictions) == 2 and len(row) == 2 and self.predictions[1] in row and None not in row:
            numbers = f"a label has {row[0]} × {row[1]} = {elements(row)} numbers"
            return f"A sample gets one row of {self.predictions[1]} numbers, and {numbers}: the last layer needs as many, in that shape. It says: {self.said}"
        return f"It says: {self.said}"

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class GridApart(Fact, frozen=True):
    """Predictions and labels of one rank whose inner sizes differ, first at ``axis``.

    ``cause``: where the predictions' size comes from; ``made``: else the argument that it is written in.
    """

    head: Who
    loss: str
    labels: Shape
    predictions: Shape
    axis: int
    cause: Cause | None
    made: str = ""

    def message(self) -> str:
        return (
            f"{named(self.head)} gives {self.predictions[self.axis]} on axis {self.axis}, and the labels have {self.labels[self.axis]}: "
            f"{show_shape(self.predictions)} against {show_shape(self.labels)}."
        )

    def why(self) -> str:
        rule = f"{self.loss} compares them position by position, so the two must be of one size."
        return because(self.cause) or (f"{self.made}. {rule}" if self.made else rule)

    def sides(self) -> Sides:
        return pair(self.labels, self.predictions, names=False)


class WrongWeights(Fact, frozen=True):
    """Sample weights of another shape than the loss has values: one for each of ``values``, or one a sample."""

    loss: str
    weights: Shape
    values: Shape

    def message(self) -> str:
        one = "one weight a sample" if len(self.values) == 1 else f"one weight a sample, or one for each of {show_shape(self.values)}"
        return f"The sample weights are {show_shape(self.weights)}, and {self.loss} takes {one}."

    def why(self) -> str:
        return "A loss averages over the last axis first, so what is left to be weighted has one axis less than the predictions."

    def sides(self) -> Sides:
        return pair(self.values, self.weights, names=False)


class LossRaised(Fact, frozen=True):
    """A loss or a ``metric`` raises on labels and predictions; ``None`` where their shapes are not known."""

    name: str
    metric: bool
    labels: Shape | None
    predictions: Shape | None
    said: str

    def message(self) -> str:
        what = "these labels and predictions"
        if self.labels is not None and self.predictions is not None:
            what = f"labels {show_shape(self.labels)} and predictions {show_shape(self.predictions)}"
        return f"{'The metric' if self.metric else 'The loss'} {self.name} raises on {what}."

    def why(self) -> str:
        return f"It says: {self.said}"

    def sides(self) -> Sides:
        y, p = self.labels, self.predictions
        return pair(p, y, names=False) if p is not None and y is not None and y not in (p, p[:-1]) else (None, None)


class RowsLost(Fact, frozen=True):
    """As many rows as there are labels reach ``maker``, and another number comes out."""

    maker: Who
    labels: Shape
    predictions: Shape

    def message(self) -> str:
        return (
            f"{self.labels[0]} samples go in and {self.predictions[0]} predictions come out: "
            f"{named(self.maker)}{placed(self.maker)} does not keep the batch axis."
        )

    def why(self) -> str:
        return "The first axis is the batch, and each label needs one prediction. Reshapes and reductions must leave that axis as it is."

    def sides(self) -> Sides:
        return pair(self.labels, self.predictions, names=False)


class NoLoss(Fact, frozen=True):
    """Labels, and nothing that compares them."""

    def message(self) -> str:
        return "The data has labels, and the model has no loss to compare them with."

    def why(self) -> str:
        return "Shapes were followed to the model's outputs. compile(loss=...) or --loss takes them to the end."


class NoLabels(Fact, frozen=True):
    """A loss, and batches of inputs alone. ``alike``: the outputs have the inputs' shape, as an autoencoder's do."""

    alike: bool

    def message(self) -> str:
        return "The data has no labels, and the compiled loss compares the outputs with labels."

    def why(self) -> str:
        if self.alike:
            return "fit() takes pairs: to compare the outputs with the inputs themselves, give each batch as its own label, (x, x)."
        return "fit() takes pairs (x, y); without labels the loss gets None."


class Crosswise(Fact, frozen=True):
    """A loss that only a broadcast brings to one shape. ``cause``: what upstream let the axes differ, where ``blamed`` is that node."""

    loss: str
    predictions: Shape
    labels: Shape
    blamed: Who
    cause: Literal["", "sequences", "tokens", "grid", "input", "last", "width"] = ""

    def message(self) -> str:
        return (
            f"{self.loss} compares predictions {show_shape(self.predictions)} with labels {show_shape(self.labels)} crosswise: "
            "nothing raises and the model learns something else."
        )

    def why(self) -> str:
        hint = {
            "": "",
            "sequences": f" {named(self.blamed)} returns one vector for every time step.",
            "tokens": f" {named(self.blamed)} gives one vector for every token.",
            "last": f" {named(self.blamed)} returns only its last step, and there is one label for every step.",
            "grid": f" The inner axes of {named(self.blamed)} are never flattened or pooled.",
            "input": " The inner axes of the input are never flattened.",
            "width": f" {named(self.blamed)} gives {self.predictions[-1]} values at each position, and a label has one there: one unit is wanted.",
        }[self.cause]
        return f"An axis of size 1 is repeated until the shapes match, so each label is held against values that are not its own.{hint}"

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class LogitsTwice(Fact, frozen=True):
    """``head`` ends in an activation that the loss applies again."""

    head: Who
    loss: str
    activation: str

    def message(self) -> str:
        return f"{named(self.head)} ends in a {self.activation}, and {self.loss} with from_logits=True applies it a second time."

    def why(self) -> str:
        return "from_logits=True expects raw values. Twice squashed, the gradients shrink and the model hardly learns."

    def sides(self) -> Sides:
        return Side("raw values (no activation)"), Side(self.activation)


class LogitsMissing(Fact, frozen=True):
    """``head`` has no activation, and the loss reads probabilities."""

    head: Who
    loss: str

    def message(self) -> str:
        return f"{named(self.head)} has no activation, and {self.loss} reads its values as probabilities."

    def why(self) -> str:
        return "Values outside 0 to 1 are clipped. Add a softmax or sigmoid, or say from_logits=True."


class SingleUnit(Fact, frozen=True):
    """A softmax over a single unit, which is always 1, or a categorical loss over one, which is always 0."""

    head: Who
    softmax: bool

    def message(self) -> str:
        always = "softmax over one value is always 1" if self.softmax else "categorical cross-entropy over one value is always 0"
        return f"{named(self.head)} has a single unit: a {always}."

    def why(self) -> str:
        return "The shapes agree, and nothing is learnt. For two classes a sigmoid with binary_crossentropy is usual; for more, one unit a class."

    def sides(self) -> Sides:
        return Side("one unit a class, or a sigmoid"), Side("one unit")


class OutOfRange(Fact, frozen=True):
    """Values of ``path`` from ``lowest`` to ``highest``, and ``layer`` has places for 0 to ``size - 1``."""

    layer: Who
    size: int
    lowest: int
    highest: int

    def sides(self) -> Sides:
        return Side(f"0 to {self.size - 1}"), Side(f"{self.lowest} to {self.highest}")


class LabelOutOfRange(OutOfRange, frozen=True):
    """Class numbers that the last layer has no unit for."""

    loss: str = ""
    path: KeyPath = ("y",)

    def message(self) -> str:
        bad = self.highest if self.highest >= self.size else self.lowest
        return f"A label is {bad}, and {named(self.layer)} has {self.size} units: classes 0 to {self.size - 1}."

    def why(self) -> str:
        return (
            f"{self.loss} refuses it on a CPU and turns the loss into NaN on a TPU. "
            f"{show(self.path)} was seen from {self.lowest} to {self.highest}."
        )


class IdOutOfRange(OutOfRange, frozen=True):
    """Ids that an embedding has no row for; ``nan``: the backend puts NaN where a row is missing."""

    nan: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} has {self.size} rows, and the data brings ids from {self.lowest} to {self.highest}."

    def why(self) -> str:
        return f"{_beyond(self.size, self.nan)} input_dim is the number of ids, the largest one plus 1."


class MadeOutOfRange(OutOfRange, frozen=True):
    """Ids that the program makes by itself, as one a position, and that an embedding has no row for; ``nan`` as above."""

    nan: bool = False

    def message(self) -> str:
        return f"{named(self.layer)} has {self.size} rows, and the program asks it for rows {self.lowest} to {self.highest}."

    def why(self) -> str:
        return (
            f"These ids come from the program itself, such as one for each position of a sequence: {self.highest + 1} positions need as many rows. "
            f"{_beyond(self.size, self.nan)}"
        )


def _beyond(size: int, nan: bool) -> str:
    if nan:
        return f"Nothing raises on JAX: the first id beyond {size - 1} gives NaN, and with it the loss."
    return f"A CPU raises at the first id beyond {size - 1}; a TPU silently takes the last row instead."


class RowsConvolvedAlone(Fact, frozen=True):
    """A convolution that slides over the axes ``names`` and reads further ones of ``shape`` as more batch."""

    layer: Who
    names: tuple[str, ...]
    shape: Shape

    def message(self) -> str:
        return (
            f"{named(self.layer)} slides over one axis, and the data {show_shape(self.shape)} has {len(self.shape) - 2}: "
            "each row of it is convolved alone."
        )

    def why(self) -> str:
        return "An extra axis is read as more batch. For images, Conv2D sees neighbours in both directions."

    def sides(self) -> Sides:
        return Side(f"({', '.join(self.names)})", self.names), Side(show_shape(self.shape))
