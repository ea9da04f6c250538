"""What a rule found, as typed values. Its words are made from it at the very end, and nothing reads them back."""

from __future__ import annotations

import msgspec

from .graph import Location, Node


class Side(msgspec.Struct, frozen=True, omit_defaults=True):
    """One side of a disagreement: words, and where it is a shape, its axes.

    ``axes`` holds the axes as shown, ``differs`` the indices of those that differ from the other side.
    """

    text: str
    axes: tuple[str, ...] = ()
    differs: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text


Sides = tuple[Side | None, Side | None]


class Who(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node, as a fact names it: not by its id, which is another one in the next trace. ``called``: the line that called it."""

    name: str
    op: str
    kind: str = "layer"
    called: Location | None = None

    @classmethod
    def of(cls, node: Node) -> Who:
        return cls(node.name, node.op, node.kind, node.called)


class Fact(msgspec.Struct, frozen=True):
    """The base of every kind of fact: plain, hashable fields, and methods that say them in words.

    Rules, repairs, hints and comparisons read the fields. Only :func:`say` calls the methods.
    """

    @property
    def planned(self) -> bool:
        """Whether it is true only of a distribution that the program does not set: what fit computes without one does not depend on it."""
        return False

    def message(self) -> str:
        """The fact in one sentence."""
        raise NotImplementedError

    def why(self) -> str:
        """Its reason, or what follows from it; ``""`` where the message says it all."""
        return ""

    def sides(self) -> Sides:
        """What was expected, and what was found, where the fact has two sides."""
        return None, None

    def expected(self) -> Side | None:
        return self.sides()[0]

    def found(self) -> Side | None:
        return self.sides()[1]


class Words(msgspec.Struct, frozen=True):
    """What a finding says."""

    message: str
    why: str
    expected: Side | None
    found: Side | None


def say(fact: Fact, beside: tuple[Fact, ...] = ()) -> Words:
    """The words of a fact. What else is known ``beside`` it stands in front of its reason."""
    why = " ".join(filter(None, [*(one.message() for one in beside), fact.why()]))
    return Words(fact.message(), why, fact.expected(), fact.found())
