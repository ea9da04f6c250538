"""Facts about layers that are called as for a prediction where a model is trained."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import count, listed, named, placed


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
