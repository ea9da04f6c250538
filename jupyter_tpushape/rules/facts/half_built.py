"""Facts about a model that an earlier training call left so that no other can run."""

from __future__ import annotations

from ...flow import Fact


class HalfBuilt(Fact, frozen=True):
    """The training step was compiled by a call of ``fit`` that raised, before it had created all of its variables."""

    def message(self) -> str:
        return "An earlier fit raised an error and left the model half built, so the next fit raises too, with any data."

    def why(self) -> str:
        return (
            "A compiled training step can create variables in its first call only, and that call raised an error. "
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
