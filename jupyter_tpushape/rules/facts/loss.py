"""Facts about losses and metrics, and the labels that they compare."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, elements, show_shape
from ...graph import Cause
from ..words import because, count, differing, many, named, pair, placed

Through = Literal["sequences", "tokens", "grid", "map", "product", "input"]


class SurplusAxes(Fact, frozen=True):
    """Inner axes of ``through`` reach the loss. ``wanted`` is the shape of the predictions that the labels call for."""

    cause: Through
    through: Who
    loss: str
    predictions: Shape
    labels: Shape
    wanted: Shape

    @property
    def surplus(self) -> int:
        return len(self.predictions) - len(self.wanted)

    @property
    def frames(self) -> bool:
        """Whether the labels are maps themselves, and only the axis of the steps is too many."""
        return self.cause == "grid" and self.surplus == 1 and len(self.wanted) > 3

    def message(self) -> str:
        meet = f"predictions {show_shape(self.predictions)}, labels {show_shape(self.labels)}."
        if self.cause == "sequences":
            return f"{named(self.through)} returns one vector per time step, but there is one label per sample: {meet}"
        if self.cause == "tokens":
            return f"{named(self.through)} returns one vector per token, but there is one label per sample: {meet}"
        if self.cause == "product":
            return f"{named(self.through)} multiplies every value with every other, but there is one label per sample: {meet}"
        if self.frames:
            return f"{named(self.through)} returns one prediction per step or slice, but there is one label per sample: {meet}"
        if self.cause == "map":
            return f"{named(self.through)} predicts values for each pixel of the input, but there is one label per sample: {meet}"
        axes = "axis" if self.surplus == 1 else "axes"
        through = f"The inner {axes} of {named(self.through)}" if self.cause == "grid" else f"The inner {axes} of the input"
        return f"{through} {'reaches' if self.surplus == 1 else 'reach'} {self.loss}: {meet}"

    def why(self) -> str:
        if self.cause == "sequences":
            return (
                f"Dense works on the last axis only, so the time axis reaches {self.loss}. "
                "Use return_sequences=False for the last step only, or pool over time to use all steps."
            )
        if self.cause == "tokens":
            return "BERT's sequence_output has one vector per token, its pooled_output one per sentence. Use pooled_output, or pool over the tokens."
        if self.cause == "map":
            return "To segment, the labels have to be maps as well: check what the data returns. To classify pictures, pool the map to one vector."
        if self.cause == "product":
            return "It sums over an axis of size 1, so nothing is summed. Flatten both inputs to vectors first, or sum over the last axis."
        if self.frames:
            return "Keep one step (return_sequences=False in the recurrent layer before it), pool that axis, or pass a label for each step."
        return "Dense works on the last axis only and keeps all others. Add Flatten or global pooling before it to get one vector per sample."

    def sides(self) -> Sides:
        return pair(self.wanted, self.predictions, names=False)


class RowsCut(Fact, frozen=True):
    """``reshape`` in the code of ``loss`` makes rows of another length: ``before`` becomes ``after``."""

    loss: str
    reshape: Who
    before: Shape
    after: Shape

    def message(self) -> str:
        have, want = self.before[-1], self.after[-1]
        return f"{named(self.reshape)}{placed(self.reshape)} cuts rows of {have} values into rows of {want}: {show_shape(self.before)} becomes {show_shape(self.after)}."

    def why(self) -> str:
        return f"{self.loss} then compares rows that belong to no position. Keep the last axis at {self.before[-1]}."


class LossVector(Fact, frozen=True):
    """What is left of the loss has a ``shape``. ``reduction``: the argument of the loss that keeps it; ``""`` where ``loss`` is a method."""

    loss: str
    shape: Shape
    reduction: str = ""

    def message(self) -> str:
        return f"{self.loss} returns shape {show_shape(self.shape)} instead of a scalar, and JAX computes gradients of scalars only."

    def why(self) -> str:
        if self.reduction:
            return f"reduction='{self.reduction}' keeps one value per sample. Remove the argument to use the mean over the batch."
        return "TensorFlow uses the sum without asking; JAX raises an error. Return the mean over the batch."

    def sides(self) -> Sides:
        return Side("()"), Side(show_shape(self.shape))


class LastStepOnly(Fact, frozen=True):
    """``layer`` returns only its last step, but there is a label for every step."""

    layer: Who
    predictions: Shape
    labels: Shape

    def message(self) -> str:
        return (
            f"{named(self.layer)} returns only its last step, but there is one label per step: "
            f"predictions {show_shape(self.predictions)}, labels {show_shape(self.labels)}."
        )

    def why(self) -> str:
        return "A recurrent layer returns only the output of its last step, unless return_sequences=True."

    def sides(self) -> Sides:
        return pair((*self.labels[:2], *self.predictions[1:]), self.predictions, names=False)


class StepsReduced(Fact, frozen=True):
    """``node`` takes one of the steps, or pools them, but there is a label for every step."""

    node: Who
    predictions: Shape
    labels: Shape

    def message(self) -> str:
        which = f"{named(self.node)} pools the {self.labels[1]} steps" if self.node.kind == "layer" else (
            f"{named(self.node)}{placed(self.node)} keeps one of {self.labels[1]} steps"
        )  # fmt: skip
        return f"{which}, but there is one label per step: predictions {show_shape(self.predictions)}, labels {show_shape(self.labels)}."

    def why(self) -> str:
        return "A label for each step needs a prediction for each step: the head must get the whole sequence."

    def sides(self) -> Sides:
        return pair((*self.labels[:2], *self.predictions[1:]), self.predictions, names=False)


class SingleValues(Fact, frozen=True):
    """Each label is one value, but the loss expects a vector of ``predictions[-1]``.

    ``values``: what the observed labels are; ``""`` if none were observed. ``reads``: one-hot vectors, or vectors compared value by value.
    """

    loss: str
    labels: Shape
    predictions: Shape
    values: Literal["", "classes", "numbers"] = ""
    reads: Literal["one-hot", "values"] = "one-hot"

    def message(self) -> str:
        what = {"": "have one value each", "classes": "are class indices", "numbers": "are single values that are not class indices"}
        labels, count = show_shape(self.labels), self.predictions[-1]
        if self.reads == "values":
            return f"The labels {labels} {what[self.values]}, but {self.loss} compares each with {count} predicted values."
        return f"The labels {labels} {what[self.values]}, but {self.loss} expects one-hot vectors of length {count}."

    def why(self) -> str:
        if self.values == "numbers":
            return "A categorical loss compares class probabilities. For other values, use a loss such as mse with one unit per value."
        if self.reads == "values":
            return "As one-hot vectors the labels have one value per class, as the predictions do. to_categorical converts class indices."
        return "sparse_categorical_crossentropy is the same loss for class indices; to_categorical converts them to one-hot vectors."

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class IndexInRow(Fact, frozen=True):
    """Each label is one class index in an axis of size 1, which a function of ``loss`` that reads class indices does not accept."""

    loss: str
    labels: Shape
    predictions: Shape

    def message(self) -> str:
        return f"The labels {show_shape(self.labels)} have a last axis of size 1, but {self.loss} reads one class index for each row of {show_shape(self.predictions)}."

    def why(self) -> str:
        return "Losses of Keras squeeze that axis, functions of TensorFlow do not. tf_keras also adds it to labels of shape (batch,) before it calls a loss."

    def sides(self) -> Sides:
        return Side(show_shape(self.labels[:-1])), Side(show_shape(self.labels))


class RowsOfValues(Fact, frozen=True):
    """Each label is a vector, but the loss expects one class index.

    ``values``: what the observed vectors are: ``one-hot``, ``shares`` that sum to 1, ``marks`` of several classes, only ``zeros``, other
    ``numbers``, or ``""`` if none were observed.
    """

    loss: str
    labels: Shape
    predictions: Shape
    values: Literal["", "one-hot", "shares", "marks", "zeros", "numbers"] = ""

    def message(self) -> str:
        count = self.labels[-1]
        what = {
            "": f"have {count} values each", "one-hot": "are one-hot vectors", "shares": "are vectors of probabilities",
            "zeros": f"are vectors of {count} zeros", "marks": "mark several classes per sample", "numbers": f"are vectors of {count} values",
        }  # fmt: skip
        return f"The labels {show_shape(self.labels)} {what[self.values]}, but {self.loss} expects one class index per sample."

    def why(self) -> str:
        if self.loss.startswith("ctc"):
            return "CTC expects sequences of class indices. argmax over the last axis converts one-hot vectors to class indices."
        if self.values == "marks":
            return "If a sample can belong to several classes, use a sigmoid unit per class and binary_crossentropy."
        if self.values == "numbers":
            return "A classification loss expects class indices or class probabilities. For other values, use a loss such as mse."
        if self.values == "shares":
            return "categorical_crossentropy is the same loss for vectors of probabilities."
        return "categorical_crossentropy is the same loss for one-hot vectors; argmax over the last axis converts them to class indices."

    def sides(self) -> Sides:
        return pair((self.labels if self.loss.startswith("ctc") else self.predictions)[:-1], self.labels, names=False)


class WrongUnits(Fact, frozen=True):
    """``head`` outputs a different number of values than a label has.

    ``giver``: the node that outputs what the loss uses as labels, if that is not the data; ``made``: where the two sizes come from.
    ``from_one``: the labels are one-hot vectors of classes counted from 1, so that no observed label is of class 0.
    ``listed``: each label lists the numbers of several classes. ``steps``: a label has one value for each time step.
    ``other``: the output that these labels fit, and whose labels fit this one.
    """

    head: Who
    loss: str
    predictions: Shape
    labels: Shape
    giver: Who | None = None
    made: tuple[str, ...] = ()
    from_one: bool = False
    listed: bool = False
    steps: bool = False
    other: str = ""

    def message(self) -> str:
        given = self.predictions[-1]
        if self.steps:
            return f"{named(self.head)} outputs {given} values at each of {self.predictions[1]} steps, but the labels {show_shape(self.labels[:-1])} have one for each step."
        if self.listed:
            return f"{named(self.head)} outputs one value for each of {given} classes, but each label lists {self.labels[-1]} class indices."
        if self.giver is not None:
            return (
                f"{self.loss} compares {show_shape(self.labels)} from {named(self.giver)} with {show_shape(self.predictions)} from "
                f"{named(self.head)}: {self.labels[-1]} values per sample against {given}."
            )
        return f"{named(self.head)} outputs {given} value{'s' * (given != 1)} per sample, but each label has {self.labels[-1]}."

    def why(self) -> str:
        if self.giver is not None:
            return " ".join(filter(None, [f"{'; '.join(self.made)}." if self.made else "", "It compares them one by one."]))
        if self.from_one:
            return (
                "The first value of every observed label is 0: the classes are numbered from 1, so the one-hot vectors have a position for class 0 "
                "that no sample uses. Number them from 0 before they are one-hot encoded."
            )
        if self.listed:
            return f"{self.loss} compares them one by one: a label needs a 0 or a 1 for each of the {self.predictions[-1]} classes."
        if self.other:
            return f"These labels have the shape of {self.other}, and its labels have the shape of {self.head.name}: they seem to be swapped."
        return f"{self.loss} compares them one by one. The last layer needs as many units as a label has values."

    def sides(self) -> Sides:
        return pair(self.labels, self.predictions, names=False)


class LabelRank(Fact, frozen=True):
    """Labels and predictions of different rank.

    ``folded``: a layer that folded an axis which the labels still have. ``twice``: the labels are one-hot vectors of the values of
    one-hot vectors. ``copied``: the input whose values the labels are.
    """

    loss: str
    labels: Shape
    predictions: Shape
    said: str
    folded: Who | None = None
    twice: bool = False
    copied: str = ""

    def message(self) -> str:
        return (
            f"{self.loss} compares labels {show_shape(self.labels)} with predictions {show_shape(self.predictions)}: "
            f"{count(len(self.labels), 'dimension')} against {len(self.predictions)}."
        )

    def why(self) -> str:
        if self.folded is not None:
            return f"{named(self.folded)} folds the {self.labels[1]} steps into one vector, but there is one label per step."
        row = self.labels[1:]
        if self.twice:
            return "The labels are one-hot encoded twice: the second encoding turned every 0 and 1 of the one-hot vectors into another vector."
        if self.copied:
            return (
                f"The labels are the values of the input {self.copied}. An autoencoder must output {show_shape(row)} per sample; "
                "for any other model, pass its own labels."
            )
        if len(self.predictions) == 2 and len(row) == 2 and self.predictions[1] in (1, *row) and elements(row) not in (None, self.predictions[1]):
            numbers = f"each label has {row[0]} × {row[1]} = {many(elements(row))}"
            return f"The model outputs {count(self.predictions[1] or 1, 'value')} per sample, but {numbers}. The last layer must output that shape. The error: {self.said}"
        if len(self.predictions) > 2 and self.predictions[2:] == tuple(row) and self.predictions[1] is not None:
            return f"The model predicts {count(self.predictions[1], 'step')} of {show_shape(tuple(row))}, but each label is a single step. Predict one step, or pass a label for each."
        if None not in self.labels and elements(self.labels) == elements(self.predictions):
            return f"Both have {many(elements(row))} values per sample, but on different axes."
        return f"The error: {self.said}"

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class GridApart(Fact, frozen=True):
    """Predictions and labels of the same rank whose inner sizes differ, first at ``axis``.

    ``cause``: where the predictions' size comes from; ``made``: otherwise, the argument that sets it. ``data``: the size of that axis in the
    data, where both are multiples of it. ``resized``: the stage of the pipeline that brought the inputs alone from the size of the labels to
    that of the predictions. ``moved``: the layer that put another axis in the place of the data's, which has the labels' size. ``turned``: the
    transpose that put two axes in another order than the data and the labels have; ``last``: the model ends with it. ``cut``: the slice that
    takes all steps but one of the sequence ``whole`` at line ``cut_at``; line ``whole_at`` uses all of it.
    """

    head: Who
    loss: str
    labels: Shape
    predictions: Shape
    axis: int
    cause: Cause | None
    made: str = ""
    data: int | None = None
    resized: str = ""
    moved: Who | None = None
    turned: Who | None = None
    last: bool = False
    cut: str = ""
    cut_at: int = 0
    whole: str = ""
    whole_at: int = 0

    @property
    def factors(self) -> tuple[int, int] | None:
        """How many times the size of the data the predictions and the labels have."""
        have, want = self.predictions[self.axis], self.labels[self.axis]
        return None if not self.data or have is None or want is None else (have // self.data, want // self.data)

    @property
    def channels_first(self) -> bool:
        """Whether the labels have the last axis of the predictions first."""
        return len(self.labels) > 2 and self.labels[1:] == (self.predictions[-1], *self.predictions[1:-1])

    def message(self) -> str:
        if self.channels_first:
            return f"The labels {show_shape(self.labels)} have the axis of size {self.labels[1]} first, but {named(self.head)} has it last: {show_shape(self.predictions)}."
        return (
            f"Axis {self.axis} of {named(self.head)} has size {self.predictions[self.axis]}, but in the labels it is {self.labels[self.axis]}: "
            f"{show_shape(self.predictions)} against {show_shape(self.labels)}."
        )

    def why(self) -> str:
        rule = f"{self.loss} compares them position by position, so both must have the same size."
        if self.cut:
            return f"Line {self.cut_at} uses {self.cut}, but line {self.whole_at} uses all of {self.whole}. {rule}"
        if self.turned is not None:
            does = "puts the axes of the predictions in this order" if self.last else "exchanges the axes, and nothing puts them back"
            return f"{named(self.turned)}{placed(self.turned)} {does}. The labels have the order of the data."
        if self.channels_first:
            return "The sizes are the same in another order. Transpose the labels; a reshape would mix their values."
        if self.moved is not None:
            size = self.labels[self.axis]
            return f"The labels have one entry for each of the {size} positions on axis {self.axis} of the data, but {self.moved.name} moves this axis to another place."
        if self.resized:
            return f"{self.resized} resizes the inputs from {self.labels[self.axis]} to {self.predictions[self.axis]}, but not the labels. {rule}"
        if self.factors is not None and self.factors[0] == self.factors[1]:
            have, want, times = self.predictions[self.axis], self.labels[self.axis], self.factors[0]
            return f"The model returns {times} times the {self.data} of the data: {have}. The labels have {want}, which is not a multiple of {times}. {rule}"
        if self.factors is not None and self.cause is None and not self.made:
            made, wanted = ("as many" if factor == 1 else f"{factor} times as many" for factor in self.factors)
            return f"The data has {self.data} there: the model returns {made}, but the labels have {wanted}."
        return because(self.cause, merged=False) or (f"{self.made}. {rule}" if self.made else rule)

    def sides(self) -> Sides:
        labels, predictions = pair(self.labels, self.predictions, names=False)
        if len(self.labels) == len(self.predictions) - 1:
            # The labels have no axis for the one value of each position.
            off = differing(self.labels, self.predictions[:-1])
            return Side(labels.text, labels.axes, off), Side(predictions.text, predictions.axes, off)
        return labels, predictions


class WrongWeights(Fact, frozen=True):
    """Sample weights at ``path`` whose shape does not match the loss values: one for each of ``values``, or one per sample."""

    loss: str
    weights: Shape
    values: Shape
    path: KeyPath

    def message(self) -> str:
        one = "one weight per sample" if len(self.values) == 1 else f"one weight per sample, or weights of shape {show_shape(self.values)}"
        return f"The sample weights are {show_shape(self.weights)}, but {self.loss} expects {one}."

    def why(self) -> str:
        return "The loss averages over the last axis first. The values to be weighted have one dimension fewer than the predictions."

    def sides(self) -> Sides:
        return pair(self.values, self.weights, names=False)


class LossRaised(Fact, frozen=True):
    """A loss or a ``metric`` raises on labels and predictions; ``None`` if their shapes are unknown.

    ``computed``: it makes these labels itself. ``argument``: with what a metric was told the number of values, ``told``.
    """

    name: str
    metric: bool
    labels: Shape | None
    predictions: Shape | None
    said: str
    computed: bool = False
    argument: str = ""
    told: int = 0
    takes: int | None = None

    def message(self) -> str:
        what = "these labels and predictions"
        if self.labels is not None and self.predictions is not None:
            what = f"labels {show_shape(self.labels)} and predictions {show_shape(self.predictions)}"
        return f"{'The metric' if self.metric else 'The loss'} {self.name} raises an error for {what}."

    def why(self) -> str:
        y, p = self.labels, self.predictions
        if self.takes is not None:
            return f"It is called with the labels and the predictions, but it takes {count(self.takes, 'argument') if self.takes else 'no argument'}."
        if y and p and self.computed and len(y) != len(p):
            return f"{self.name} computes labels with {len(y)} axes from those that it receives, but the predictions have {len(p)}."
        if y and p and self.computed:
            return f"{self.name} computes labels of {y[-1]} values, but each prediction has {p[-1]}."
        if y and p and None not in (y[0], p[0]) and y[0] != p[0]:
            return f"The labels have {y[0]} rows, but the predictions have {p[0]}: each prediction needs one label."
        if p and self.argument:
            return f"{self.name} is created with {self.argument}={self.told}, but each prediction has {p[-1]} values."
        return f"The error: {self.said}"

    def sides(self) -> Sides:
        y, p = self.labels, self.predictions
        return pair(p, y, names=False) if p is not None and y is not None and y not in (p, p[:-1]) else (None, None)
