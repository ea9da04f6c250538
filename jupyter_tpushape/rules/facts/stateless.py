"""Facts about training steps that hand their state on: gradients, the optimizer, and what a step returns."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, placed


class Underived(Fact, frozen=True):
    """The gradient of the loss passes through a loop (``operation``) whose number of steps JAX does not know."""

    operation: Who

    def message(self) -> str:
        return f"The gradient of the loss passes through {self.operation.op}{placed(self.operation)}, which JAX cannot differentiate."

    def why(self) -> str:
        return (
            "JAX raises ValueError: Reverse-mode differentiation does not work for lax.while_loop. Use a loop with a fixed number of steps: "
            "ops.fori_loop with Python integers as bounds, or ops.scan. If no gradient is needed, pass ops.stop_gradient(...) to the loop."
        )


class StatefulPair(Fact, frozen=True):
    """The pair that ``stateless_call`` returns, predictions and new state, is used as the predictions."""

    def message(self) -> str:
        return "The loss receives the pair that stateless_call returns: the predictions and the new non-trainable variables."

    def why(self) -> str:
        return "Unpack it, y_pred, non_trainable = self.stateless_call(...), and return the second value with the state."

    def sides(self) -> Sides:
        return Side("y_pred"), Side("(y_pred, non_trainable_variables)")


# What comes first, and what second.
_RESULTS = {"stateless_call": ("the predictions", "the new non-trainable variables"), "value_and_grad": ("the value", "the gradients")}


class ResultsExchanged(Fact, frozen=True):
    """The two results of ``function`` are unpacked into each other's names, or into more ``names`` than two."""

    function: Literal["stateless_call", "value_and_grad"]
    names: int = 2

    def message(self) -> str:
        if self.names > 2:
            return f"This line unpacks {self.names} results, but {self.function} returns two."
        return f"The two results of {self.function} are unpacked in the wrong order."

    def why(self) -> str:
        if self.names > 2:
            return "With has_aux=True, the first result is a pair: (value, aux), gradients."
        return f"It returns {_RESULTS[self.function][0]} first and then {_RESULTS[self.function][1]}."

    def sides(self) -> Sides:
        one, other = _RESULTS[self.function]
        if self.names > 2:
            return Side(f"({one}, aux), {other}"), Side(f"{self.names} names")
        return Side(f"({one}, {other})"), Side(f"({other}, {one})")


class StateMisplaced(Fact, frozen=True):
    """A ``train_step`` returns tensors of other shapes in place of one ``group`` of its state."""

    group: str

    def message(self) -> str:
        return f"train_step returns other tensors in place of the {self.group} variables: their number or shapes differ."

    def why(self) -> str:
        return (
            "fit writes them into the variables and passes them to the next step. Return the groups in the order in which the step receives them: "
            "trainable, non-trainable, optimizer, metrics."
        )

    def sides(self) -> Sides:
        return Side(f"the {self.group} variables"), Side("other tensors")


class StateUnchanged(Fact, frozen=True):
    """A ``train_step`` returns the trainable variables that it received."""

    def message(self) -> str:
        return "train_step returns the trainable variables unchanged, so the model does not learn."

    def why(self) -> str:
        return "stateless_apply changes nothing in place. It returns new values, which the step must return: trainable, optimizer = stateless_apply(...)."

    def sides(self) -> Sides:
        return Side("new trainable variables"), Side("the same trainable variables")


class StateDropped(Fact, frozen=True):
    """A step returns the non-trainable variables that it received, although the model returned new values of ``variables``."""

    variables: tuple[str, ...]
    step: str = "train_step"

    def message(self) -> str:
        return f"{self.step} returns the non-trainable variables that it received, not those that stateless_call returned."

    def why(self) -> str:
        more = len(self.variables) - 1
        first = f"{self.variables[0]} and {count(more, 'more variable')} keep their" if more else f"{self.variables[0]} keeps its"
        return (
            f"{first} first value: a BatchNormalization never updates its statistics, and a Dropout repeats its mask in every step. "
            "Return the second value of stateless_call with the state."
        )

    def sides(self) -> Sides:
        return Side("new non-trainable variables"), Side("the same non-trainable variables")


class GradientOfOther(Fact, frozen=True):
    """``stateless_apply`` receives one gradient of ``shape`` for ``weights`` trainable variables; ``like``: the data that has this shape."""

    shape: Shape
    weights: int
    like: str = ""

    def message(self) -> str:
        what = f", the shape of {self.like}," if self.like else ""
        return f"stateless_apply receives one gradient of shape {show_shape(self.shape)}{what} for {count(self.weights, 'trainable variable')}."

    def why(self) -> str:
        return (
            "jax.grad and jax.value_and_grad differentiate by the first argument of the function. "
            "Pass the trainable variables first, or give their position: argnums=2 for the third argument."
        )

    def sides(self) -> Sides:
        return Side(count(self.weights, "gradient")), Side(show_shape(self.shape))


class OptimizerBeside(Fact, frozen=True):
    """A ``train_step`` gives the optimizer in ``attribute`` variables that are not in the state of the step."""

    attribute: str

    def message(self) -> str:
        return f"self.{self.attribute} starts from the same state in every step: its variables are not in the state that fit passes."

    def why(self) -> str:
        return (
            "Momentum and the step count are constants of the compiled step. Only the variables of self.optimizer are in the state by themselves. "
            f"Assign the others to the model after build, self.slots = [*self.{self.attribute}.variables]: they are then part of the non-trainable "
            "variables. Pass and return their values there."
        )

    def sides(self) -> Sides:
        return Side("values from the state"), Side(f"self.{self.attribute}.variables")


class OptimizerPart(Fact, frozen=True):
    """A ``train_step`` gives the optimizer in ``attribute`` other weights than it was ``built`` for: those of ``part``, as far as that is known.

    ``built`` is 0 for an optimizer that was not built at all.
    """

    attribute: str
    given: int
    built: int
    part: str

    def message(self) -> str:
        if not self.built:
            return f"self.{self.attribute} is not built, so it has no state for stateless_apply."
        return f"self.{self.attribute} receives {self.given} variables, but it was built for {self.built}."

    def why(self) -> str:
        part = self.part or "part"
        who = "fit builds only self.optimizer, and for all trainable variables of the model. " if self.attribute == "optimizer" or not self.built else ""
        return (
            f"{who}Build an optimizer for the variables that it updates, at the end of compile: self.{self.attribute}.build(self.{part}.trainable_variables)."
        )

    def sides(self) -> Sides:
        return Side(f"{self.given} variables"), Side(f"{self.built} variables" if self.built else "not built")


class OtherVariables(Fact, frozen=True):
    """``stateless_call`` receives a value of shape ``got`` for the variable ``path``, which has another."""

    path: str
    want: Shape
    got: Shape

    def message(self) -> str:
        return f"stateless_call receives a value {show_shape(self.got)} for the variable {self.path} {show_shape(self.want)}: the list holds other variables."

    def why(self) -> str:
        return "trainable_variables follow the order in which the layers were assigned to the model. Split the list in that order."

    def sides(self) -> Sides:
        return Side(show_shape(self.want)), Side(show_shape(self.got))


class StepReturns(Fact, frozen=True):
    """A ``train_step`` does not return a pair of logs and state, or returns a state of ``parts`` groups of variables."""

    parts: int | None

    def message(self) -> str:
        if self.parts is None:
            return "train_step does not return (logs, state), which fit expects on JAX."
        return f"train_step returns a state of {count(self.parts, 'part')}, but fit on JAX expects four."

    def why(self) -> str:
        return (
            "Return a dict of logs, and (trainable_variables, non_trainable_variables, optimizer_variables, metrics_variables): the four lists that "
            "the step received, with updated values."
        )

    def sides(self) -> Sides:
        return Side("(logs, state of 4)"), Side("no pair" if self.parts is None else f"(logs, state of {self.parts})")
