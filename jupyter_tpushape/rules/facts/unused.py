"""Facts about results that nothing uses."""

from __future__ import annotations

from ...flow import Fact, Location, Side, Sides, Who
from ..words import named


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
        who = (
            names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if len(names) < 4 else f"These {len(names)} layers"
        )
        if not self.inside:
            return (
                f"{who} {'is' if len(names) == 1 else 'are'} not part of the model: none of its outputs depends on what is computed there."
            )
        verb = "has" if len(names) == 1 else "have"
        untrained = ", and the weights are not trained" if self.trained else ""
        return f"{who} {verb} no effect on the predictions{untrained}. No error is raised."

    def sides(self) -> Sides:
        return Side("a result that the loss depends on"), Side("a result that nothing reads")
