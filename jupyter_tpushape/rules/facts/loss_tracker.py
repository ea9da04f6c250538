"""Facts about the metric in which Keras 3 keeps the mean loss."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, show_shape
from ..words import listed


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
