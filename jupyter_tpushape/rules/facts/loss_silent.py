"""Facts about losses that run and compute something else than meant, or cannot be computed for want of labels."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Shape, Side, Sides, Who, elements, show_shape
from ...flow.paths import show
from ..words import named, pair, placed
from .loss import Through


class RowsLost(Fact, frozen=True):
    """``maker`` receives as many rows as there are labels, but outputs a different number."""

    maker: Who
    labels: Shape
    predictions: Shape

    def message(self) -> str:
        return f"The model receives {self.labels[0]} samples but outputs {self.predictions[0]} predictions: {named(self.maker)}{placed(self.maker)} changes the batch size."

    def why(self) -> str:
        return "The first axis is the batch, and each label needs one prediction. Reshapes and reductions must not change that axis."

    def sides(self) -> Sides:
        return pair(self.labels, self.predictions, names=False)


class BatchBehind(Fact, frozen=True):
    """``maker`` receives the batch first and returns it as another ``axis`` of ``shape``, so that predictions are no longer those of the samples."""

    maker: Who
    shape: Shape
    axis: int
    labels: Shape
    predictions: Shape

    def message(self) -> str:
        returns = f"{named(self.maker)}{placed(self.maker)} returns {show_shape(self.shape)}, with the batch as axis {self.axis}"
        if self.labels[0] == self.predictions[0]:
            return f"The predictions are not one for each sample, although their number is the same by chance: {returns}."
        return f"The model receives {self.labels[0]} samples but outputs {self.predictions[0]} predictions: {returns}."

    def why(self) -> str:
        return f"What follows takes the first axis for the batch. Move it back before the result is used: swapaxes(x, 0, {self.axis})."

    def sides(self) -> Sides:
        return pair(self.labels, self.predictions, names=False)


class NoLoss(Fact, frozen=True):
    """There are labels, but no loss."""

    def message(self) -> str:
        return "The data has labels, but the model has no loss."

    def why(self) -> str:
        return "Shapes were traced to the model's outputs. Pass compile(loss=...) or --loss to check the labels too."


class NoLabels(Fact, frozen=True):
    """A loss, but no labels. ``alike``: the outputs have the inputs' shape, as in an autoencoder.

    ``dropped``: the function of the pipeline that is given labels and returns none.
    """

    alike: bool
    dropped: str = ""

    def message(self) -> str:
        return "The data has no labels, but the compiled loss needs them."

    def why(self) -> str:
        if self.dropped:
            return f"The pipeline passes pairs (x, y) to {self.dropped}, which returns only one value. It must return both."
        if self.alike:
            return "fit() expects pairs. To compare the outputs with the inputs, pass each batch as its own label: (x, x)."
        return "fit() expects pairs (x, y). Without labels the loss receives None."


class Crosswise(Fact, frozen=True):
    """A loss that broadcasts its inputs to one shape. ``cause``: why their axes differ, and ``blamed`` is the node behind it."""

    loss: str
    predictions: Shape
    labels: Shape
    blamed: Who
    cause: Literal["", "last", "width", "values"] | Through = ""

    @property
    def _values(self) -> int:
        return elements(self.labels[1:]) or 0

    def message(self) -> str:
        return (
            f"{self.loss} broadcasts predictions {show_shape(self.predictions)} against labels {show_shape(self.labels)}: "
            "no error is raised, but this is not the loss you intended."
        )

    def why(self) -> str:
        hint = {
            "": "",
            "sequences": f" {named(self.blamed)} returns one vector per time step.",
            "tokens": f" {named(self.blamed)} returns one vector per token.",
            "product": f" {named(self.blamed)} multiplies every value with every other, because it sums over an axis of size 1.",
            "last": f" {named(self.blamed)} returns only its last step, but there is one label per step.",
            "grid": f" The inner axes of {named(self.blamed)} are never flattened or pooled.",
            "input": " The inner axes of the input are never flattened.",
            "width": f" {named(self.blamed)} outputs {self.predictions[-1]} values at each position, but a label has one: it needs one unit.",
            "values": f" {named(self.blamed)} outputs one value, but a label has {self._values}: it needs {self._values} units.",
        }[self.cause]
        if self.labels == self.predictions[1:]:
            return f"The labels have no batch axis, so every prediction is compared with the same label.{hint}"
        if self.cause == "values":
            return f"Broadcasting repeats an axis of size 1, so one prediction is compared with every value of a label.{hint}"
        return f"Broadcasting repeats an axis of size 1, so each label is compared with predictions for other labels.{hint}"

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)


class PairsPredicted(Fact, frozen=True):
    """A loss compares labels of samples with predictions for pairs of them, which ``operation`` makes. ``silent``: by broadcasting."""

    loss: str
    predictions: Shape
    labels: Shape
    operation: Who
    silent: bool

    def message(self) -> str:
        return (
            f"{self.operation.op}{placed(self.operation)} combines every sample with every other, so {self.loss} compares predictions "
            f"{show_shape(self.predictions)} for pairs of samples with labels {show_shape(self.labels)}."
        )

    def why(self) -> str:
        broadcast = " Broadcasting repeats each label for all pairs, so no error is raised." if self.silent else ""
        return (
            f"A product with a transposed matrix has one value for each pair of rows.{broadcast} Multiply each sample's own rows instead: sum(a * b, axis=-1)."
        )

    def sides(self) -> Sides:
        return pair(self.labels, self.predictions, names=False)


class RowsConvolvedAlone(Fact, frozen=True):
    """A convolution that slides over the axes ``names`` and treats further axes of ``shape`` as batch axes."""

    layer: Who
    names: tuple[str, ...]
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} slides over one axis, but the data {show_shape(self.shape)} has {len(self.shape) - 2}: each row is convolved separately."

    def why(self) -> str:
        return "The layer treats an extra axis as a batch axis. For images, Conv2D convolves over both height and width."

    def sides(self) -> Sides:
        return Side(f"({', '.join(self.names)})", self.names), Side(show_shape(self.shape))


class LabelsInterpolated(Fact, frozen=True):
    """``function`` of the pipeline resizes the class indices at ``path`` by interpolation, in ``line``; 0 if that is unknown. ``loss`` reads them."""

    function: str
    path: KeyPath
    loss: str
    line: int = 0

    def message(self) -> str:
        where = f" at line {self.line}" if self.line else ""
        return f"{self.function}{where} resizes the class indices {show(self.path)} by interpolation, but {self.loss} reads each one as a class."

    def why(self) -> str:
        return "Between classes 1 and 5, an interpolation gives 2, 3 and 4, which are other classes. Resize labels with method='nearest'."

    def sides(self) -> Sides:
        return Side("nearest"), Side("interpolated")


class LossOrder(Fact, frozen=True):
    """A loss that is called with the predictions of ``model`` for its labels, and with the labels for its predictions.

    ``constant``: the labels are numbers of the program's own. ``count``: how many losses of the line are called so; 0 if others are not.
    """

    loss: str
    model: Who
    shape: Shape
    constant: bool = False
    count: int = 1

    def message(self) -> str:
        second = "constants" if self.constant else "the labels"
        return f"{self.loss} is called with the predictions of {named(self.model)} first and {second} second; it takes (y_true, y_pred)."

    def why(self) -> str:
        return (
            "A crossentropy takes the logarithm of its second argument. Here that is the label, so the loss and its gradients are not those of the predictions."
        )

    def sides(self) -> Sides:
        return Side("(y_true, y_pred)"), Side("(y_pred, y_true)")


class MarginOfSums(Fact, frozen=True):
    """``margin`` compares tensors of a shape ``made`` without the samples; the ``totals`` they come from add up ``wholes`` over the samples."""

    totals: tuple[Who, ...]
    wholes: tuple[Shape, ...]
    margin: Who
    made: Shape = ()

    def message(self) -> str:
        return (
            f"{self.totals[0].op}{placed(self.totals[0])} adds up {show_shape(self.wholes[0])} over all samples, "
            f"so {self.margin.op}{placed(self.margin)} has one number for {'each feature' if self.made else 'the whole batch'}."
        )

    def why(self) -> str:
        first = "Axis 0 is the batch." if self.made else "A sum without an axis runs over every axis, the batch included."
        return f"{first} The margin must hold for each sample: sum over the inner axes, axis=-1."

    def sides(self) -> Sides:
        return pair(self.wholes[0][:1], self.made, names=False)


class DistanceOverBatch(Fact, frozen=True):
    """``total`` adds up the squares of ``whole`` along the batch, and a root is taken of it: a distance that mixes the samples."""

    total: Who
    whole: Shape

    def message(self) -> str:
        return f"{self.total.op}{placed(self.total)} adds up the squared differences {show_shape(self.whole)} over the batch: the distance mixes all samples."

    def why(self) -> str:
        return "The first axis is the batch. For one distance per sample, sum over the last axis: axis=-1."

    def sides(self) -> Sides:
        return Side(show_shape(self.whole[:1])), Side(show_shape(self.whole[1:]))


class WeightsAsOne(Fact, frozen=True):
    """``product`` multiplies a value of ``shape`` by ``weights`` constants, and ``total`` adds the results up. ``channels``: of the predictions."""

    loss: str
    product: Who
    total: Who
    shape: Shape
    weights: int
    channels: int

    def message(self) -> str:
        return (
            f"{self.loss} multiplies {show_shape(self.shape)} by {self.weights} constants{placed(self.product)} "
            f"and {'adds up' if self.total.op.lower().endswith('sum') else 'averages'} the results: they act as one number."
        )

    def why(self) -> str:
        reason = "Broadcasting repeats the single value for each of them, so every class has the same weight."
        if self.channels == 1:
            return f"{reason} The predictions have one channel: choose the weight of each value by its label, such as w1 * y_true + w0 * (1 - y_true)."
        return f"{reason} Keep the axis of the classes until the weights are multiplied."

    def sides(self) -> Sides:
        return Side(f"{self.weights} values on the last axis"), Side(show_shape(self.shape))


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
    """``loss`` compares predictions with the steps ``labels``, the slice ``cut`` of a sequence or of the data; the model reads the same slice of it, ``fed``.

    ``column``: that of the input at ``path`` which holds the labels.
    """

    loss: str
    fed: Who
    labels: Who
    cut: str
    path: KeyPath = ()
    column: int = 0

    def message(self) -> str:
        if self.path:
            return f"{self.loss} compares the predictions with values that the model receives: the labels are {self.cut}."
        both = {":-1": "the sequence without its last step", "1:": "the sequence without its first step"}.get(self.cut, self.cut)
        return f"{self.loss} compares the predictions with the steps that the model receives: both are {both}."

    def why(self) -> str:
        if self.path:
            return "The observed values are equal: the model can copy its labels from its input. Leave them out of the inputs."
        if self.cut not in (":-1", "1:"):
            return "The observed values are equal: the model can copy its input. To predict the next step, take labels one step later."
        return (
            f"The model receives the slice{placed(self.fed)}, and the labels are the slice{placed(self.labels)}. Each position can copy its own input. "
            "To predict the next step, use [:, :-1] as the input and [:, 1:] as the labels."
        )

    def sides(self) -> Sides:
        if self.path:
            return Side("inputs without the labels"), Side(self.cut)
        return Side("the next step of each position"), Side("the same step")


class StepsTold(Fact, frozen=True):
    """``loss`` is told that the logits of ``shape`` have ``told`` steps."""

    loss: Who
    shape: Shape
    told: int

    def message(self) -> str:
        return (
            f"{self.loss.op}{placed(self.loss)} is told that each sample has {self.told} steps, but its logits {show_shape(self.shape)} have {self.shape[1]}."
        )

    def why(self) -> str:
        classes = f" {self.told} is the number of classes, on the last axis." if self.told == self.shape[2] else ""
        return f"The lengths count the steps of the logits, which are on axis 1.{classes} No error is raised."

    def sides(self) -> Sides:
        return Side(f"{self.shape[1]} steps"), Side(f"{self.told} steps")
