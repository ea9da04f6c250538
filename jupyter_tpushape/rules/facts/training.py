"""Facts about what training changes: weights that no gradient or update reaches, models that are spent, metrics, results and data that are left out."""

from __future__ import annotations

from ...flow import Fact, Location, Shape, Side, Sides, Who, show_shape
from ...trace.applied import How
from ..words import count, listed, named, placed


class NeverTrained(Fact, frozen=True):
    """No gradient reaches ``weights`` of ``layer``, because ``step`` has no slope. ``layer`` is ``None`` for those of the model itself."""

    weights: tuple[str, ...]
    layer: Who | None
    step: Who

    @property
    def chooses(self) -> bool:
        """Whether the step gives the place of a value, by which the program chooses."""
        return "arg" in self.step.op.lower()

    def message(self) -> str:
        return (
            f"{_of(self.weights, self.layer)} get{'s' if len(self.weights) == 1 else ''} no gradient: the loss depends on "
            f"{'it' if len(self.weights) == 1 else 'them'} only through {self.step.op}{placed(self.step)}."
        )

    def why(self) -> str:
        how = (
            "To train the choice, multiply its result by the probability of what was chosen."
            if self.chooses
            else "Use a smooth function instead, or set trainable=False if this is meant."
        )
        return f"Integers and comparisons have no gradient, so these weights keep their initial values, and no error is raised. {how}"

    def sides(self) -> Sides:
        return Side("a gradient"), Side("no gradient")


class ZeroProduct(Fact, frozen=True):
    """``weights`` of ``layer`` start at zero, and the loss depends on them only through their product in ``step``."""

    weights: tuple[str, ...]
    layer: Who | None
    step: Who

    def message(self) -> str:
        return (
            f"{_of(self.weights, self.layer)} {'all ' if len(self.weights) > 2 else 'both ' if len(self.weights) == 2 else ''}"
            f"start{'s' if len(self.weights) == 1 else ''} at zero and never change{'s' if len(self.weights) == 1 else ''}: "
            f"{self.step.op}{placed(self.step)} multiplies by zeros."
        )

    def why(self) -> str:
        return (
            "The gradient of one factor of a product is a multiple of the other factor, so all gradients are zero, and no error is raised. "
            "Initialize one of the factors randomly; the product still starts at zero."
        )

    def sides(self) -> Sides:
        return Side("one factor that is not zero"), Side("zeros only")


class SumOfShares(Fact, frozen=True):
    """The loss depends on ``weights`` of ``layer`` only through what ``step`` sums along an axis where it always adds up to one."""

    weights: tuple[str, ...]
    layer: Who | None
    step: Who

    def message(self) -> str:
        return (
            f"{_of(self.weights, self.layer)} get{'s' if len(self.weights) == 1 else ''} no gradient: {self.step.op}{placed(self.step)} sums "
            "the result of a softmax along its own axis."
        )

    def why(self) -> str:
        return (
            "A softmax adds up to 1 along its axis, whatever its scores are, so the result does not depend on them. No error is raised. "
            "Multiply by the other tensor along that axis, and sum then."
        )

    def sides(self) -> Sides:
        return Side("a gradient"), Side("no gradient")


def _of(weights: tuple[str, ...], layer: Who | None) -> str:
    return f"{listed(weights)} of {named(layer)}" if layer is not None else listed(weights)


class UpdateRefused(Fact, frozen=True):
    """``function`` of an optimizer raises for what a step passes it; ``how``: for which reason.

    ``gradient`` and ``weight`` are shapes. ``variable``: the name of the weight, ``known``: how many the optimizer was built for.
    """

    how: How
    optimizer: str
    function: str
    variable: str = ""
    gradient: Shape | None = None
    weight: Shape | None = None
    known: int = 0

    def message(self) -> str:
        if self.how == "apart":
            return f"{self.optimizer} receives a gradient of shape {show_shape(self.gradient)} for {self.variable}, which has shape {show_shape(self.weight)}."
        if self.how == "unknown":
            return f"{self.optimizer} cannot update {self.variable}: it was built for {self.known} other{'s' if self.known != 1 else ''}."
        if self.how == "exchanged":
            return f"{self.optimizer}.{self.function} receives the variables as gradients and the gradients as variables."
        if self.how == "tensors":
            return f"{self.optimizer}.{self.function} receives tensors in place of the variables that it updates."
        if self.how == "unbuilt":
            return f"{self.optimizer}.apply receives gradients without their variables."
        if self.how in ("loss", "model"):
            made = "The loss is computed" if self.how == "loss" else "The model is called"
            return f"{made} outside of the block of its GradientTape, so every gradient is None."
        return f"{self.optimizer}.apply_gradients expects pairs of a gradient and a variable, but receives other values."

    def why(self) -> str:
        if self.how == "apart":
            return "Gradients and variables are paired by position. Pass the variables for which the tape computed them, in the same order."
        if self.how == "unknown":
            return (
                "An optimizer is built for the variables of its first update and accepts no others afterwards. "
                "Build it for all variables first, or use one optimizer per network."
            )
        if self.how == "unbuilt":
            return "The optimizer is not built yet, so it does not know which variables the gradients belong to."
        if self.how in ("loss", "model"):
            return f"A tape records only what runs inside its block. {self.optimizer}.{self.function} raises an error."
        if self.function == "apply":
            return "apply takes the gradients first, then their variables."
        return "zip(gradients, variables) makes the pairs: the gradient comes first."

    def sides(self) -> Sides:
        if self.how == "apart":
            return Side(show_shape(self.weight)), Side(show_shape(self.gradient))
        if self.how == "unknown":
            return Side("a variable that it was built for"), Side(self.variable)
        found = {"exchanged": "pairs of a variable and a gradient", "tensors": "tensors", "unbuilt": "gradients alone"}
        return Side("pairs of a gradient and a variable"), Side(found.get(self.how, "other values"))


class Resting(Fact, frozen=True):
    """The training step calls ``model`` without ``training=True``, so that ``layers`` work as for a prediction. ``normalizes``: one of them has statistics."""

    model: Who
    layers: tuple[str, ...]
    normalizes: bool

    def message(self) -> str:
        more = len(self.layers) - 2
        names = listed(self.layers) if more <= 1 else f"{', '.join(self.layers[:2])} and {count(more, 'more layer')}"
        work = "works" if len(self.layers) == 1 else "work"
        return f"train_step calls {named(self.model)}{placed(self.model)} without training=True, so {names} {work} as in a prediction."

    def why(self) -> str:
        if self.normalizes:
            return "A batch normalization then uses its moving statistics, and the step never updates them. A dropout layer drops nothing."
        return "A dropout layer drops nothing unless training is True. Only Keras' own train_step sets it by itself."

    def sides(self) -> Sides:
        return Side("training=True"), Side("training not given")


class OutsideModel(Fact, frozen=True):
    """``layers`` have weights that are trained nowhere: ``caller``, or the model itself, calls them, and the model does not hold them."""

    layers: tuple[Who, ...]
    caller: Who | None

    def message(self) -> str:
        names = listed(tuple(named(one) for one in self.layers))
        if self.caller is None:
            return f"The weights of {names} are never trained: the model calls {self._them}, but does not contain {self._them}."
        return f"The weights of {names} are never trained: {named(self.caller)} calls {self._them}, but the model does not contain {self._them}."

    def why(self) -> str:
        how = f"Assign {self._them} to an attribute of the model" if self.caller is None else f"Call {self._them} where the model is built"
        return (
            "fit trains and saves only the weights of layers that are attributes of the model, or of one of its layers. "
            f"No error is raised. {how}, or set trainable=False if this is meant."
        )

    def sides(self) -> Sides:
        return Side("layers of the model"), Side("a layer that the model does not contain")

    @property
    def _them(self) -> str:
        return "it" if len(self.layers) == 1 else "them"


class FrozenWeights(Fact, frozen=True):
    """``function`` of ``cls`` is a ``tf.function`` that has the weights of ``layers`` as constants; ``alone``: no other weight is trained."""

    cls: str
    function: str
    layers: tuple[str, ...]
    alone: bool

    def message(self) -> str:
        return f"{self.cls}.{self.function} is a tf.function that keeps the first weights of {listed(self.layers)} as constants."

    def why(self) -> str:
        follows = "fit raises `No gradients provided for any variable`." if self.alone else "These weights are never trained, and no error is raised."
        return f"Keras 3 compiles it while it infers shapes, before the weights have values. {follows} fit compiles the whole step by itself."

    def sides(self) -> Sides:
        return Side("weights that the step reads"), Side("constants")


class HalfBuilt(Fact, frozen=True):
    """The training step was compiled by a call of ``fit`` that raised, before it had created all of its variables."""

    def message(self) -> str:
        return "An earlier call raised an error and left the model half built, so the next fit raises too, with any data."

    def why(self) -> str:
        return (
            "A compiled training step can create variables in its first call only, and that call raised an error. "
            "Run the code that creates and compiles the model again, then call fit."
        )


class LayersLeft(HalfBuilt, frozen=True):
    """A ``build`` that raised has given the model the input of its data."""

    def why(self) -> str:
        return (
            "A Sequential keeps the input shape of the call that raised, and some layers are built for it. "
            "Run the code that creates and compiles the model again, then call fit."
        )


class WeightsLost(Fact, frozen=True):
    """Variables of the model have no value: a training step that raised has taken it, or never given it."""

    def message(self) -> str:
        return "An earlier fit raised an error and left the model without the values of its weights, so the next fit raises too, with any data."

    def why(self) -> str:
        return (
            "While fit runs, the compiled training step holds the values of the weights. They are lost if its first call raises an error. "
            "Run the code that creates and compiles the model again, then call fit."
        )


class LossTracked(Fact, frozen=True):
    """A training step of the model's own gives ``labels`` and ``predictions`` to the metric that keeps the mean loss; ``raises``: it cannot take them."""

    labels: Shape
    predictions: Shape
    raises: bool

    def message(self) -> str:
        given = f"labels {show_shape(self.labels)} and predictions {show_shape(self.predictions)}"
        return f"train_step passes {given} to the metric loss, which expects the value of the loss."

    def why(self) -> str:
        result = "the predictions do not fit as weights" if self.raises else "fit then reports a mean of the labels as the loss"
        return f"In Keras 3, self.metrics contains the mean of the loss. It takes the labels as values and the predictions as weights: {result}."

    def sides(self) -> Sides:
        return Side("the loss"), Side("labels and predictions")


class MetricOfOneBatch(Fact, frozen=True):
    """A metric of the program's own replaces its ``states`` in each batch."""

    metric: str
    cls: str
    states: tuple[str, ...]

    def message(self) -> str:
        return f"{self.cls} assigns {listed(self.states)} in each batch, so {self.metric} is the value of the last batch and not of the epoch."

    def why(self) -> str:
        return "fit calls update_state once per batch, and result after the epoch. Add sums and counts with assign_add, and divide them in result."

    def sides(self) -> Sides:
        return Side("assign_add"), Side("assign")


class LogsUnread(Fact, frozen=True):
    """A training step of the model's own logs values under the ``names`` of metrics that it never updates."""

    names: tuple[str, ...]

    def message(self) -> str:
        return f"fit reports {listed(self.names)} as 0, because train_step does not update the metric{'s' if len(self.names) > 1 else ''} of that name."

    def why(self) -> str:
        return (
            "If the logs of a step have exactly the names of the model's metrics, Keras reads the metrics and ignores the logs. Update the metric "
            "with stateless_update_state, or log the value under a different name. Training itself is not affected."
        )


class MetricState(Fact, frozen=True):
    """A training step of the model's own gives the ``given`` variables of all metrics to ``metric``, which has ``has``."""

    metric: str
    given: int
    has: int

    def message(self) -> str:
        return f"train_step passes {self.given} metric variables to {self.metric}, which has {self.has}."

    def why(self) -> str:
        return (
            "The state holds the variables of all metrics of the model, and Keras adds the mean of the loss. "
            "Pass each metric its own variables, or list the metrics of the step in the property metrics."
        )

    def sides(self) -> Sides:
        return Side(f"{self.has} variables"), Side(f"{self.given} variables")


class ResultUnused(Fact, frozen=True):
    """The result of ``layers`` is lost at ``place``: ``name`` holds it, and ``how`` is what becomes of that (see ``examine.dead_names``).

    ``inside``: the model has the layers; a functional model does not have those that none of its outputs depends on.
    ``trained``: they train weights.
    """

    layers: tuple[Who, ...]
    name: str
    how: str
    by: int
    place: Location
    inside: bool = True
    trained: bool = True

    def message(self) -> str:
        who = named(self.layers[-1])
        if self.how == "dropped":
            return f"The result of {who} is not used: {self.place} assigns it to no name."
        if self.how == "repeated":
            return f"The result of {who} is not used: each iteration overwrites {self.name} without reading it."
        if self.how == "overwritten":
            return f"The result of {who} is not used: line {self.by} overwrites {self.name} before anything reads it."
        return f"The result of {who} is not used: nothing reads {self.name}."

    def why(self) -> str:
        names = [one.name for one in self.layers]
        who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if len(names) < 4 else f"These {len(names)} layers"
        if not self.inside:
            return f"{who} {'is' if len(names) == 1 else 'are'} not part of the model: none of its outputs depends on what is computed there."
        verb = "has" if len(names) == 1 else "have"
        untrained = ", and the weights are not trained" if self.trained else ""
        return f"{who} {verb} no effect on the predictions{untrained}. No error is raised."

    def sides(self) -> Sides:
        return Side("a result that the loss depends on"), Side("a result that nothing reads")


class HeldBack(Fact, frozen=True):
    """Added to another fact: it is one of the data that ``fit`` validates on, and the data that it trains on raises nothing."""

    def message(self) -> str:
        return "This concerns validation_data: the training data raises no error."
