"""Facts about layers that a program calls and its model does not hold."""

from __future__ import annotations

from ...flow import Fact, Side, Sides, Who
from ..words import listed, named


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
            "fit trains and saves only the weights that the model lists: those of the layers in its attributes and in theirs. "
            f"No error is raised. {how}, or set trainable=False if this is meant."
        )

    def sides(self) -> Sides:
        return Side("layers of the model"), Side("a layer that the model does not contain")

    @property
    def _them(self) -> str:
        return "it" if len(self.layers) == 1 else "them"
