"""Facts about updates that an optimizer refuses."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, show_shape
from ...trace.applied import How


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
            return (
                f"{self.optimizer} receives a gradient of shape {show_shape(self.gradient)} for {self.variable}, "
                f"which has shape {show_shape(self.weight)}."
            )
        if self.how == "unknown":
            return f"{self.optimizer} cannot update {self.variable}: it was built for {self.known} other{'s' if self.known != 1 else ''}."
        if self.how == "exchanged":
            return f"{self.optimizer}.{self.function} receives the variables as gradients and the gradients as variables."
        if self.how == "tensors":
            return f"{self.optimizer}.{self.function} receives tensors in place of the variables that it updates."
        if self.how == "unbuilt":
            return f"{self.optimizer}.apply receives gradients without their variables."
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
