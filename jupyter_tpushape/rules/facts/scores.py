"""Facts about what the last layer returns, and whether a loss can learn from it."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import named, placed, side


class NoPath(Fact, frozen=True):
    """No gradient leaves ``loss``: ``step`` is in its only way to the predictions. ``alone``: nothing else trains the model.

    ``dtype``: the integers that the step returns, where it is the model's last layer. ``inside``: the operation inside the step.
    ``term``: only a term of the loss has none.
    """

    loss: str
    step: Who
    alone: bool
    dtype: str = ""
    inside: str = ""
    term: bool = False

    def message(self) -> str:
        if self.dtype:
            return f"{self.loss} has no gradient: {named(self.step)} returns {self.dtype}, and integers have no gradient."
        if self.inside and self.inside != self.step.op:
            return f"{self.loss} has no gradient: {named(self.step)} uses {self.inside} on its way to the weights, and no gradient passes through it."
        return f"{'A term of ' * self.term}{self.loss} has no gradient: {self.step.op}{placed(self.step)} does not change when its input changes a little."

    def why(self) -> str:
        follows = "fit raises `No gradients provided for any variable`." if self.alone else "The weights are not trained by it, and no error is raised."
        return f"{follows} Compute the loss from the probabilities or scores themselves; indices and comparisons belong in a metric."


class NoWeights(Fact, frozen=True):
    """``loss`` is computed without any of the weights that are trained."""

    loss: str

    def message(self) -> str:
        return f"{self.loss} does not depend on any trainable weight."

    def why(self) -> str:
        return "TensorFlow raises `No gradients provided for any variable`, and on JAX no weight changes. Call the layers with trainable weights on the way from the inputs to the outputs."


class LogitsTwice(Fact, frozen=True):
    """``head`` ends in an activation that the loss applies again. ``kept``: the loss takes the values before it instead."""

    head: Who
    loss: str
    activation: str
    kept: bool = False

    def message(self) -> str:
        if self.kept:
            return f"{named(self.head)} already applies {self.activation}, but {self.loss} has from_logits=True."
        return f"{named(self.head)} already applies {self.activation}, and {self.loss} with from_logits=True applies it again."

    def why(self) -> str:
        if self.kept:
            return (
                f"The two contradict each other. On TensorFlow, Keras warns and takes the values before the {self.activation}. "
                f"On JAX, or with a layer in between, the {self.activation} is applied twice."
            )
        return "from_logits=True expects raw values (logits). Applied twice, the activation shrinks the gradients, and the model hardly learns."

    def sides(self) -> Sides:
        return Side("raw values (no activation)"), Side(self.activation)


class LogitsMissing(Fact, frozen=True):
    """``head`` has no activation, but the loss expects probabilities."""

    head: Who
    loss: str

    def message(self) -> str:
        return f"{named(self.head)} has no activation, but {self.loss} expects probabilities."

    def why(self) -> str:
        return "Values outside 0 to 1 are clipped. Add a softmax or sigmoid activation, or set from_logits=True on the loss."


class ScoresOfOne(Fact, frozen=True):
    """A softmax of ``shape`` inside a model over its last axis, which has the single value that ``maker`` computes for each position.

    ``axis``: that of the positions.
    """

    softmax: Who
    maker: Who
    shape: Shape
    axis: int = 1

    def message(self) -> str:
        return f"{named(self.softmax)} computes a softmax over the axis of size 1 of {show_shape(self.shape)}: a softmax over one value is always 1."

    def why(self) -> str:
        return f"{self.maker.name} returns one score per position. Weights over the positions need a softmax over their axis, axis={self.axis}."

    def sides(self) -> Sides:
        return Side("a softmax over an axis with several values"), Side(show_shape(self.shape))


class SingleUnit(Fact, frozen=True):
    """A softmax over a single unit, which is always 1, or a categorical loss over one, which is always 0."""

    head: Who
    softmax: bool

    def message(self) -> str:
        always = "softmax over one value is always 1" if self.softmax else "categorical cross-entropy over one value is always 0"
        return f"{named(self.head)} has a single unit, and {always}."

    def why(self) -> str:
        return "No error is raised, but nothing is learned. For two classes, use a sigmoid and binary_crossentropy; for more, use one unit per class."

    def sides(self) -> Sides:
        return Side("one unit per class, or a sigmoid"), Side("one unit")


class NoClassAxis(Fact, frozen=True):
    """``loss`` reads a score per class, and the ``predictions`` are one number per sample."""

    loss: str
    predictions: Shape

    def message(self) -> str:
        return f"{self.loss} expects a score for each class, but the predictions {show_shape(self.predictions)} have no axis of classes."

    def why(self) -> str:
        return "The labels are class indices, so the model must return one value per class: the number of classes is the number of units of the last layer."

    def sides(self) -> Sides:
        return Side(f"({', '.join(map(str, self.predictions))}, classes)"), side(self.predictions)


class LogitsCut(Fact, frozen=True):
    """``metric`` counts the logits of ``head`` above ``threshold`` as label 1, although ``loss`` takes them for logits."""

    metric: str
    head: Who
    loss: str
    threshold: float

    def message(self) -> str:
        return f"The metric {self.metric} compares logits of {named(self.head)} with the threshold {self.threshold:g}, which is meant for probabilities."

    def why(self) -> str:
        return (
            f"{self.loss} has from_logits=True, so the model returns raw values, and a probability of 0.5 is the logit 0. "
            "Training is correct, but the reported value is not the accuracy of the model."
        )

    def sides(self) -> Sides:
        return Side("a threshold of 0"), Side(f"a threshold of {self.threshold:g}")


class PickedElsewhere(Fact, frozen=True):
    """``softmax`` sums over ``axis`` of ``shape``, and ``reader`` takes one value of it along ``along``, or adds up its products with labels or another softmax."""

    softmax: Who
    shape: Shape
    axis: int
    along: int
    reader: Who

    def message(self) -> str:
        return (
            f"{self.softmax.op}{placed(self.softmax)} runs over axis {self.axis} of {show_shape(self.shape)}, "
            f"but {self.reader.op}{placed(self.reader)} {'adds up its products' if self.reader.op == 'Sum' else 'takes one value'} along axis {self.along}."
        )

    def why(self) -> str:
        return f"The values along axis {self.along} do not sum to 1, so they are no probabilities of classes. Compute the softmax along axis {self.along}."


class SharesOfSamples(Fact, frozen=True):
    """``softmaxes`` over the samples of ``shape``, whose results ``loss`` compares as probabilities of classes."""

    softmaxes: tuple[Who, ...]
    shape: Shape
    loss: str

    def message(self) -> str:
        first = self.softmaxes[0]
        return f"{first.op}{placed(first)} runs over the batch axis of {show_shape(self.shape)}, but {self.loss} compares the values on the last axis."

    def why(self) -> str:
        return (
            f"Its values sum to 1 over the samples of a batch, so the {self.shape[-1]} values of a sample are no probabilities of classes. "
            "Compute the softmax along the last axis."
        )

    def sides(self) -> Sides:
        return Side("the last axis"), Side("the batch axis")


class SeveralMarked(Fact, frozen=True):
    """``head`` ends in a softmax over ``classes``, and ``loss`` compares it with labels that mark several classes of a sample.

    ``categorical``: the loss is a categorical cross-entropy, for which one class alone is right, whatever ``head`` ends in.
    ``axis``: that of labels of ``shape`` along which there is one 1 alone.
    """

    head: Who
    loss: str
    classes: int
    categorical: bool = False
    shape: Shape = ()
    axis: int = 0

    def message(self) -> str:
        if self.axis:
            return f"The labels {show_shape(self.shape)} have their classes on axis {self.axis}, but {self.loss} expects them on the last axis."
        if self.categorical:
            return f"The labels mark several classes per sample, but {self.loss} expects one class among the {self.classes} of {named(self.head)}."
        return f"The labels mark several classes per sample, but the softmax of {named(self.head)} shares a sum of 1 among {self.classes} classes."

    def why(self) -> str:
        if self.axis:
            return f"The values of each label add up to 1 along axis {self.axis} only, so the one-hot vectors lie along that axis."
        if self.categorical:
            return "The classes then compete for a sum of 1. Use a sigmoid and binary_crossentropy, so that each class has its own probability."
        return f"{self.loss} then asks for several values near 1, which a softmax cannot return. Use a sigmoid, so that each class has its own probability."

    def sides(self) -> Sides:
        if self.axis:
            return Side("classes on the last axis"), Side(f"classes on axis {self.axis}")
        return Side("one probability per class (sigmoid)"), Side("probabilities that sum to 1")
