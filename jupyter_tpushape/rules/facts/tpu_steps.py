"""What is found of a training step of the user's own."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides


def much(times: float) -> str:
    return f"{times:g} times too large" if times > 1 else f"{1 / times:g} times too small"


class GradientScale(Fact, frozen=True):
    """Gradients that are ``times`` too large. ``by``: divided by what a ``mask`` leaves, or seen where they are not clipped (``clip``).

    ``averaged``: the step averages what it reports over the replicas.
    """

    times: float
    replicas: int
    by: Literal["", "mask", "clip"] = ""
    averaged: bool = False

    def message(self) -> str:
        size = much(self.times)
        said = {
            "": f"The gradients are {size}",
            "mask": f"The gradients are about {size}",
            "clip": f"Where they are not clipped, the gradients are {size}",
        }
        return f"{said[self.by]} on {self.replicas} replicas, and nothing raises."

    def why(self) -> str:
        adds = f"and the optimizer adds the {self.replicas} replicas' gradients"
        if self.times < 1:
            return f"The loss is divided by the {self.replicas} replicas once too often. A Keras 3 loss object already does it under a strategy."
        if self.by == "mask":
            return (
                f"Each replica divides by what the mask leaves of its own rows, {adds}. Divide by the "
                "mask's sum over all of them: tf.distribute.get_replica_context().all_reduce('sum', ...)."
            )
        shown = " What is shown is then reduced by SUM." if self.averaged else ""
        return (
            f"Each replica takes the mean over its own rows, {adds}. Divide by the whole batch: "
            f"tf.nn.compute_average_loss(per_row_loss, global_batch_size=...).{shown}"
        )

    def sides(self) -> Sides:
        twice = "divided by each replica's rows" if self.times > 1 else "divided twice"
        return Side("the sum over the rows, divided by the whole batch"), Side(twice)


class WeightLossScale(Fact, frozen=True):
    """A loss of the weights that every replica adds."""

    times: float
    replicas: int

    def message(self) -> str:
        return f"The loss of the weights counts {self.times:g} times on {self.replicas} replicas."

    def why(self) -> str:
        return "Every replica adds the whole of it, and gradients are added up: tf.nn.scale_regularization_loss divides it."

    def sides(self) -> Sides:
        return Side(f"divided by {self.replicas}"), Side("added by each replica")


class ReportedScale(Fact, frozen=True):
    """The loss that ``strategy.reduce`` gives by ``reduced`` is ``times`` off."""

    times: float
    reduced: str

    @property
    def other(self) -> str:
        return "MEAN" if self.reduced == "SUM" else "SUM"

    def message(self) -> str:
        return f"The loss that strategy.reduce gives is {much(self.times)}: only what is shown, not what is learned."

    def why(self) -> str:
        return f"Reduce it by {self.other}."

    def sides(self) -> Sides:
        return Side(f"ReduceOp.{self.other}"), Side(f"ReduceOp.{self.reduced}")


class LossReduction(Fact, frozen=True):
    """A tf_keras loss object with its default reduction, in a step."""

    def message(self) -> str:
        return "A tf_keras loss object with its default reduction raises in a custom step under a strategy."

    def why(self) -> str:
        return "It says `Please use tf.keras.losses.Reduction.SUM or .NONE`. Give it reduction='none' and take tf.nn.compute_average_loss."

    def sides(self) -> Sides:
        return Side("reduction='none'"), Side("the default reduction")


class NextInside(Fact, frozen=True):
    """``next(iterator)`` inside of ``strategy.run``."""

    def message(self) -> str:
        return "next(iterator) is called inside strategy.run, where there is one replica and no iterator."

    def why(self) -> str:
        return (
            "It raises `next(iterator) should be called from outside of replica_fn`. "
            "Take the batch before: strategy.run(step, args=(next(iterator),))."
        )

    def sides(self) -> Sides:
        return Side("next outside strategy.run"), Side("next inside")


class EagerStep(Fact, frozen=True):
    """A plain function calls ``strategy.run``."""

    step: str

    def message(self) -> str:
        return f"{self.step} is no tf.function and calls strategy.run with a plain function: called as it is, TPUStrategy refuses it."

    def why(self) -> str:
        return "It raises `TPUStrategy.run(fn, ...) does not support pure eager execution`. Put @tf.function over it."

    def sides(self) -> Sides:
        return Side("@tf.function"), Side("a plain function")


class LambdaStep(Fact, frozen=True):
    """A ``tf.function`` made of a lambda calls ``strategy.run``."""

    def message(self) -> str:
        return "The tf.function that calls strategy.run is made of a lambda, whose name is no name for a TPU's scope."

    def why(self) -> str:
        return "It raises `'cluster_<lambda>/pivot' is not a valid root scope name`. Write it with def."

    def sides(self) -> Sides:
        return Side("def step(...)"), Side("a lambda")


class VariableArgument(Fact, frozen=True):
    """A variable for ``*args``."""

    def message(self) -> str:
        return "A variable is handed to strategy.run for a function that takes *args."

    def why(self) -> str:
        return (
            "It raises `TPUStrategy.run() cannot handle Variables passed to *args`. Name the parameter, or use the variable from outside."
        )

    def sides(self) -> Sides:
        return Side("a named parameter"), Side("*args")


class NestedRun(Fact, frozen=True):
    """``strategy.run`` inside of ``strategy.run``."""

    def message(self) -> str:
        return "strategy.run is called inside strategy.run, where there is one replica and nothing to distribute."

    def why(self) -> str:
        return "It raises `Method requires being in cross-replica context`. Call the inner function directly."

    def sides(self) -> Sides:
        return Side("a plain call"), Side("strategy.run")


class StaticOnly(Fact, frozen=True):
    """``strategy.run`` takes static shapes only, and the batch axis is unknown."""

    replicas: int

    def message(self) -> str:
        return "strategy.run is told to take static shapes only, and the batch axis of each replica is unknown."

    def why(self) -> str:
        return (
            "TensorFlow's documentation rules it out; what a TPU says is not verified. Leave the option out, or make every batch of one size: "
            f"drop_remainder=True and a multiple of {self.replicas}."
        )

    def sides(self) -> Sides:
        return Side("static shapes"), Side("an unknown batch axis")


class VariableMade(Fact, frozen=True):
    """The step makes a variable in every call."""

    def message(self) -> str:
        return "The step makes a tf.Variable in every call."

    def why(self) -> str:
        return "It raises `tf.function only supports singleton tf.Variables created on the first call`. Make it before, in the scope."

    def sides(self) -> Sides:
        return Side("made once, outside the step"), Side("made in the step")
