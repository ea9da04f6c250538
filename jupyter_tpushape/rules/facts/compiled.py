"""Facts about the arguments of compile, labels and weights, compared with the model's outputs."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, show_shape
from ..words import count, listed, pair

What = Literal["loss", "metrics", "labels", "weights"]
Apart = Literal["missing", "number", "order", "all"]
_NAMED = {"loss": "The loss dict in compile", "metrics": "The metrics dict in compile", "labels": "The dict of labels", "weights": "The dict of sample weights"}
_SINGLE = {"loss": "loss in the list", "metrics": "entry in metrics", "labels": "array of labels", "weights": "array of sample weights"}
_COUNTED = {"loss": "losses", "metrics": "entries in metrics", "labels": "labels", "weights": "sample weights"}


class UnknownOutputs(Fact, frozen=True):
    """A dict names ``unknown`` outputs; the model has ``outputs``."""

    what: What
    unknown: tuple[str, ...]
    outputs: tuple[str, ...]

    def message(self) -> str:
        return f"{_NAMED[self.what]} has the {'keys' if len(self.unknown) > 1 else 'key'} {listed(self.unknown)}, but the model's outputs are {listed(self.outputs)}."

    def why(self) -> str:
        return "The name of an output is its key in the dict that the model returns, or the name of its layer (name=...)."

    def sides(self) -> Sides:
        return Side(", ".join(self.outputs)), Side(", ".join(self.unknown))


class LabelsInDict(Fact, frozen=True):
    """Labels in a dict with the keys ``given`` for a model with one ``output``, which is not the only one of them."""

    given: tuple[str, ...]
    output: str

    def message(self) -> str:
        return f"The labels are a dict with the {'keys' if len(self.given) > 1 else 'key'} {listed(self.given)}, but the model has one output{f', {self.output}' * bool(self.output)}."

    def why(self) -> str:
        return "Keras matches a dict of labels with the outputs by name. A model with one output takes the array of its labels."

    def sides(self) -> Sides:
        return Side("one array"), Side(", ".join(self.given))


class OutputsWithoutLoss(Fact, frozen=True):
    """The loss dict has an entry for some of the ``outputs`` only, and the model returns them in a list."""

    given: tuple[str, ...]
    outputs: tuple[str, ...]

    def message(self) -> str:
        missing = tuple(name for name in self.outputs if name not in self.given)
        return f"The loss dict in compile has no entry for {listed(missing)}, but the model returns {count(len(self.outputs), 'output')} in a list."

    def why(self) -> str:
        return "For outputs in a list, Keras 3 needs a loss for each. Outputs in a dict, {name: output}, may go without: those are not trained, and need no labels."

    def sides(self) -> Sides:
        return Side(", ".join(self.outputs)), Side(", ".join(self.given))


class NamelessOutputs(Fact, frozen=True):
    """A dict names outputs, but the model returns ``count`` of them in a tuple or list, without names."""

    what: What
    names: tuple[str, ...]
    count: int

    def message(self) -> str:
        return f"{_NAMED[self.what]} has the keys {listed(self.names)}, but the model returns {self.count} outputs in a tuple, without names."

    def why(self) -> str:
        first = self.names[0] if self.names else "a"
        return (
            "Only a functional model names its outputs after its layers. Return a dict from call, "
            f"{{'{first}': ..., ...}}, or pass losses and labels as lists in the order of the outputs."
        )

    def sides(self) -> Sides:
        return Side("named outputs"), Side(f"{self.count} outputs in a tuple")


class WrongNumber(Fact, frozen=True):
    """``given`` losses, metrics, labels or weights in a list, for the outputs ``outputs``.

    ``untrained``: the other outputs are left out. ``shared``: one array has the labels of all, and each output is compared with all of it.
    """

    what: What
    given: int
    outputs: tuple[str, ...]
    untrained: bool = False
    shared: bool = False

    def message(self) -> str:
        have = count(len(self.outputs), "output")
        if self.given == 1:
            return f"There is one {_SINGLE[self.what]}, but the model has {have}: {listed(self.outputs)}."
        return f"There are {self.given} {_COUNTED[self.what]}, but the model has {have}: {listed(self.outputs)}."

    def why(self) -> str:
        if self.what == "metrics":
            return "With several outputs, pass one entry per output, [['mae'], ['accuracy']], or a dict keyed by output name."
        if self.shared:
            return "No error is raised: the array has the labels of all outputs on axis 1, and each output is compared with all of them."
        if self.untrained:
            return f"Keras matches them in order, so nothing trains {listed(self.outputs[self.given :])}. Pass one loss for each output, or None on purpose."
        return "Keras matches a list with the outputs in order, and a dict by output name."

    def sides(self) -> Sides:
        return Side(f"one for each of {len(self.outputs)} outputs"), Side(str(self.given))


class LossWeightsApart(Fact, frozen=True):
    """``loss_weights`` that Keras cannot match with the losses of ``outputs``, or matches with others than the program means.

    ``given``: their keys; empty for a list. ``losses``: the keys of the losses; empty for a list. ``count``: how many losses there are.
    ``order``: for each weight as the program has them, the output that gets it.
    """

    kind: Apart
    given: tuple[str, ...]
    losses: tuple[str, ...]
    outputs: tuple[str, ...]
    count: int
    weights: int
    order: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(name for name in self.outputs if name not in self.given)

    @property
    def unknown(self) -> tuple[str, ...]:
        return tuple(name for name in self.given if name not in self.outputs)

    def message(self) -> str:
        if self.kind == "missing":
            return f"loss_weights in compile has no entry for {listed(self.missing)}; its keys are {listed(self.given)}."
        if self.kind == "number":
            return f"compile receives {count(self.weights, 'loss weight')} for {count(self.count, 'loss', 'losses')}."
        if self.kind == "all":
            return f"Keras applies the loss weight of {self.given[0]} to the loss of every output."
        named = self.given or self.losses
        moved = next((name, to) for name, to in zip(named, self.order, strict=True) if name != to)
        return f"Keras applies the loss weight of {moved[0]} to {moved[1]}."

    def why(self) -> str:
        if self.kind == "missing":
            return "Keras 3 needs a loss weight for each output, under the output's name."
        if self.kind == "number":
            if len(self.outputs) < 2:
                return "A loss weight belongs to an output, and there is one. Weights of classes are the class_weight of fit."
            alone = "One loss for all outputs counts as one. " if self.count == 1 and not self.losses else ""
            return f"Keras 3 needs as many loss weights as losses. {alone}Pass a loss and a weight for each output."
        if self.kind == "all":
            return "One loss for all outputs takes one weight, whatever its key. Pass a loss and a weight for each output."
        beside = "a dict of weights beside a list of losses" if self.given else "a list of weights beside a dict of losses"
        return f"For {beside}, Keras 3 sorts the keys and then matches by position. Pass both as lists, or both as dicts with the same keys."

    def sides(self) -> Sides:
        return Side(", ".join(self.outputs)), Side(", ".join(self.order or self.given) or str(self.weights))


class LossesSorted(Fact, frozen=True):
    """A list of losses for the outputs ``written`` in a dict, which Keras matches with them in another ``order``; ``weights``: those, too."""

    written: tuple[str, ...]
    order: tuple[str, ...]
    weights: bool

    def message(self) -> str:
        moved = next((name, to) for name, to in zip(self.written, self.order, strict=True) if name != to)
        return f"compile has a list of losses, but the outputs are a dict: Keras applies the loss meant for {moved[0]} to {moved[1]}."

    def why(self) -> str:
        return "Keras sorts the keys of the outputs and then matches by position. Pass the losses in a dict with the same keys."

    def sides(self) -> Sides:
        return Side(", ".join(self.written)), Side(", ".join(self.order))


class MetricReads(Fact, frozen=True):
    """``metric`` receives class indices and vectors of probabilities. ``classes``: it expects class indices on both sides; else vectors on both.

    ``silent``: it does not raise, since it takes the argmax of the indices.
    """

    metric: str
    labels: Shape
    predictions: Shape
    classes: bool
    silent: bool = False

    def message(self) -> str:
        reads = (
            "expects class indices on both sides"
            if self.classes
            else "expects one-hot labels"
            if self.silent
            else "compares labels and predictions value by value"
        )
        return (
            f"The metric {self.metric} {reads}, but receives class indices {show_shape(self.labels)} and vectors of "
            f"{self.predictions[-1]} values {show_shape(self.predictions)}."
        )

    def why(self) -> str:
        if self.classes:
            return "This metric does not take the argmax of the predictions itself. Pass sparse_y_pred=False to it, or take the argmax in a custom metric."
        if self.silent:
            return (
                "It takes the argmax of the labels over their last axis, which is no axis of classes, so its value has no meaning. Training itself is "
                "not affected. Use the metric of the same name for class indices, which begins with Sparse."
            )
        two = " For two classes, one sigmoid unit with binary_crossentropy also works." if self.predictions[-1] == 2 else ""
        return (
            "The sparse loss accepts class indices, but this metric does not. Use one-hot labels with categorical_crossentropy, or a "
            f"metric for class indices (sparse_categorical_accuracy, 'accuracy').{two}"
        )

    def sides(self) -> Sides:
        return pair(self.predictions[:-1] if self.classes else self.predictions, self.labels, names=False)


class TextLabels(Fact, frozen=True):
    """Labels that are text; ``numbers``: the dtype of the numbers that the text writes, if it does."""

    path: str
    loss: str
    numbers: str = ""

    def message(self) -> str:
        what = "numbers stored as text" if self.numbers else "text"
        return f"The labels {self.path} are {what}, but {self.loss} compares numbers."

    def why(self) -> str:
        if self.numbers:
            return f'Convert them before fit: y.astype("{self.numbers}") for an array, or tf.strings.to_number in ds.map.'
        return "Convert the class names to indices before fit: StringLookup in ds.map, or np.unique(y, return_inverse=True)[1] for an array."

    def sides(self) -> Sides:
        return Side("numbers"), Side("text")


class ColourMasks(Fact, frozen=True):
    """Label masks that are color images, but ``head`` predicts one class per position."""

    head: str
    loss: str
    labels: Shape
    predictions: Shape

    def message(self) -> str:
        return (
            f"The masks {show_shape(self.labels)} are images with {self.labels[-1]} color channels, but {self.head} predicts one of "
            f"{self.predictions[-1]} classes per position: {show_shape(self.predictions)}."
        )

    def why(self) -> str:
        return f"{self.loss} expects a class for each position. Map each color to its class index first, then use sparse_categorical_crossentropy or one-hot labels."

    def sides(self) -> Sides:
        return pair(self.predictions, self.labels, names=False)
