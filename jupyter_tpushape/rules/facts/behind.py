"""Facts that hide after a first fault: found as if the failed layer had received what it expects."""

from __future__ import annotations

from ...flow import Fact, Sides


class Behind(Fact, frozen=True):
    """A second fault: found when ``mended`` is assumed to receive what it expects."""

    mended: str
    fact: Fact

    def message(self) -> str:
        said = self.fact.message()
        return f"After that: {said}"

    def why(self) -> str:
        assumed = f"assuming that {self.mended} receives what it expects"
        why = self.fact.why()
        return f"Found by {assumed}: {why}" if why else f"Found by {assumed}."

    def sides(self) -> Sides:
        return self.fact.sides()
