"""Facts about a custom training step."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides


def much(times: float) -> str:
    return f"{times:g} times too large" if times > 1 else f"{1 / times:g} times too small"


class GradientScale(Fact, frozen=True):
    """Gradients that are ``times`` too large. ``by``: divided by the sum of a ``mask``, or true only without clipping (``clip``).

    ``averaged``: the step averages the reported loss over the replicas.
    """

    times: float
    replicas: int
    by: Literal["", "mask", "clip"] = ""
    averaged: bool = False

    def message(self) -> str:
        size = much(self.times)
        said = {"": f"The gradients are {size}", "mask": f"The gradients are about {size}", "clip": f"Before clipping, the gradients are {size}"}
        return f"{said[self.by]} on {self.replicas} replicas, and no error is raised."

    def why(self) -> str:
        adds = f"and the optimizer adds the {self.replicas} replicas' gradients"
        if self.times < 1:
            return f"The loss is divided by the {self.replicas} replicas twice. A Keras 3 loss object already divides by them under a strategy."
        if self.by == "mask":
            return (
                f"Each replica divides by the mask's sum over its own rows, {adds}. Divide by the "
                "sum over all replicas: tf.distribute.get_replica_context().all_reduce('sum', ...)."
            )
        shown = " Then reduce the reported loss with SUM." if self.averaged else ""
        return f"Each replica averages over its own rows, {adds}. Divide by the global batch size: tf.nn.compute_average_loss(per_row_loss, global_batch_size=...).{shown}"

    def sides(self) -> Sides:
        twice = "divided by each replica's rows" if self.times > 1 else "divided twice"
        return Side("the sum over the rows, divided by the global batch size"), Side(twice)


class WeightLossScale(Fact, frozen=True):
    """A regularization loss that every replica adds."""

    times: float
    replicas: int

    def message(self) -> str:
        return f"The regularization loss counts {self.times:g} times on {self.replicas} replicas."

    def why(self) -> str:
        return "Every replica adds the full loss, and the gradients are summed. Divide it with tf.nn.scale_regularization_loss."

    def sides(self) -> Sides:
        return Side(f"divided by {self.replicas}"), Side("added by each replica")


class ReportedScale(Fact, frozen=True):
    """The loss that ``strategy.reduce`` returns with ``reduced`` is off by the factor ``times``."""

    times: float
    reduced: str

    @property
    def other(self) -> str:
        return "MEAN" if self.reduced == "SUM" else "SUM"

    def message(self) -> str:
        return f"The loss that strategy.reduce returns is {much(self.times)}, but training is not affected."

    def why(self) -> str:
        return f"Only the reported value is wrong. Reduce it with {self.other}."

    def sides(self) -> Sides:
        return Side(f"ReduceOp.{self.other}"), Side(f"ReduceOp.{self.reduced}")


class LossReduction(Fact, frozen=True):
    """A tf_keras loss object with its default reduction in a custom step."""

    def message(self) -> str:
        return "A tf_keras loss object with its default reduction raises an error in a custom step under a strategy."

    def why(self) -> str:
        return "The error: `Please use tf.keras.losses.Reduction.SUM or .NONE`. Set reduction='none' and use tf.nn.compute_average_loss."

    def sides(self) -> Sides:
        return Side("reduction='none'"), Side("the default reduction")


class NextInside(Fact, frozen=True):
    """``next(iterator)`` inside ``strategy.run``."""

    def message(self) -> str:
        return "next(iterator) is called inside strategy.run, in the code of one replica."

    def why(self) -> str:
        return "It raises `next(iterator) should be called from outside of replica_fn`. Get the batch first: strategy.run(step, args=(next(iterator),))."

    def sides(self) -> Sides:
        return Side("next outside strategy.run"), Side("next inside")


class EagerStep(Fact, frozen=True):
    """A plain function calls ``strategy.run``."""

    step: str

    def message(self) -> str:
        return f"{self.step} calls strategy.run with a plain function, but it is not a tf.function itself."

    def why(self) -> str:
        return "It raises `TPUStrategy.run(fn, ...) does not support pure eager execution`. Decorate it with @tf.function."

    def sides(self) -> Sides:
        return Side("@tf.function"), Side("a plain function")


class LambdaStep(Fact, frozen=True):
    """A ``tf.function`` that wraps a lambda calls ``strategy.run``."""

    def message(self) -> str:
        return "The tf.function that calls strategy.run wraps a lambda, whose name is not a valid TPU scope name."

    def why(self) -> str:
        return "It raises `'cluster_<lambda>/pivot' is not a valid root scope name`. Define the function with def."

    def sides(self) -> Sides:
        return Side("def step(...)"), Side("a lambda")


class VariableArgument(Fact, frozen=True):
    """A variable passed to ``*args``."""

    def message(self) -> str:
        return "strategy.run passes a variable to a function that takes *args."

    def why(self) -> str:
        return "It raises `TPUStrategy.run() cannot handle Variables passed to *args`. Use a named parameter, or capture the variable from outside."

    def sides(self) -> Sides:
        return Side("a named parameter"), Side("*args")


class NestedRun(Fact, frozen=True):
    """``strategy.run`` inside ``strategy.run``."""

    def message(self) -> str:
        return "strategy.run is called inside strategy.run, in the code of one replica."

    def why(self) -> str:
        return "It raises `Method requires being in cross-replica context`. Call the inner function directly."

    def sides(self) -> Sides:
        return Side("a plain call"), Side("strategy.run")


class StaticOnly(Fact, frozen=True):
    """``strategy.run`` is set to static shapes only, but the batch axis is unknown."""

    replicas: int

    def message(self) -> str:
        return "strategy.run is set to accept static shapes only, but the batch axis of each replica is unknown."

    def why(self) -> str:
        return (
            "TensorFlow's documentation rules this out; the error on a TPU is not verified. Remove the option, or use one batch size: "
            f"drop_remainder=True and a multiple of {self.replicas}."
        )

    def sides(self) -> Sides:
        return Side("static shapes"), Side("an unknown batch axis")


class VariableMade(Fact, frozen=True):
    """The step creates a variable in every call."""

    def message(self) -> str:
        return "The step creates a tf.Variable in every call."

    def why(self) -> str:
        return "It raises `tf.function only supports singleton tf.Variables created on the first call`. Create it before the step, in the scope."

    def sides(self) -> Sides:
        return Side("created once, outside the step"), Side("created in the step")
