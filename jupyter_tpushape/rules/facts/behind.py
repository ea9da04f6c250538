"""What lies behind a break, seen as if the layer that broke had got what it asks for."""

from __future__ import annotations

from ...flow import Fact, Sides


class Behind(Fact, frozen=True):
    """A second fault: what is found once ``mended`` has what it asks for."""

    mended: str
    fact: Fact

    def message(self) -> str:
        said = self.fact.message()
        return f"Then: {said}"

    def why(self) -> str:
        assumed = f"Behind the first fault, seen as if {self.mended} had what it asks for"
        why = self.fact.why()
        return f"{assumed}: {why}" if why else f"{assumed}."

    def sides(self) -> Sides:
        return self.fact.sides()
