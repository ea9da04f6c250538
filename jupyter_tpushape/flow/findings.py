"""Findings and fixes, as plain values."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .facts import Fact, Side, say
from .graph import Location, Node
from .spec import Shape, Spec

Severity = Literal["error", "tpu", "silent", "slow", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "tpu", "silent", "slow", "note")
SERIOUS = frozenset({"error", "tpu", "silent"})

EditKind = Literal[
    "insert-layer", "replace-layer", "layer-config", "input-shape", "data-transform", "label-transform", "batching", "loss", "replace-op", "strategy"
]
# Those that change the data and leave the model as it is.
DATA_EDITS: frozenset[EditKind] = frozenset({"data-transform", "label-transform", "batching"})


class CannotRebuild(Exception):
    """A fix cannot build new objects; the message says why and what to do by hand."""


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change. ``target`` names the node, edge or stage; ``detail`` contains plain values."""

    kind: EditKind
    target: str
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """The effect of a fix: a tensor's shape before and after, and the number of added parameters."""

    before: Shape | None = None
    after: Shape | None = None
    output: Shape | None = None
    parameters: int = 0
    text: str = ""


class AfterEdge(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tensor that a fix changes or adds. ``spec`` is an index into the specs of :class:`After`.

    ``even``: every replica has this shape.
    """

    id: str
    source: str
    target: str
    spec: int
    label: str = ""
    even: bool = False


class After(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the traced flow with a fix differs from the flow without it.

    ``nodes`` are new or replace the node with the same id; so do ``edges``. ``gone`` lists the ids of removed
    nodes and edges. Everything else is unchanged and reached.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[AfterEdge, ...] = ()
    specs: tuple[Spec, ...] = ()
    gone: tuple[str, ...] = ()


class Patch(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a fix changes in a file or cell: a unified diff, and where it belongs. ``execution`` is the cell's ``In[n]`` number."""

    patch: str
    cell: str = ""
    file: str = ""
    execution: int = 0


class Fix(msgspec.Struct, dict=True, omit_defaults=True):
    """One or more edits, in order.

    ``verified``: the program with the edits was traced up to the loss, and no serious problem is left. ``mends``: the edits remove
    their finding. ``then``: the rules of the problems that come next, if the fix removes only its own finding.
    ``proof``: ``"source"`` if the text of ``patch`` was run, ``"live"`` if the program was rebuilt with the
    edits because there is no source to patch, ``""`` if nothing was tried. ``also``: what a fix changes in further files or cells;
    ``patch`` with these is the whole change.
    """

    title: str
    edits: tuple[Edit, ...] = ()
    verified: bool = False
    effect: Effect | None = None
    patch: str = ""
    reason: str = ""
    cell: str = ""
    file: str = ""
    after: After | None = None
    proof: Literal["source", "live", ""] = ""
    mends: bool = False
    then: tuple[str, ...] = ()
    also: tuple[Patch, ...] = ()
    execution: int = 0

    @property
    def diff(self) -> str:
        """The whole change: the diffs of all files and cells, or the lines to add by hand."""
        return "\n".join([self.patch, *(change.patch for change in self.also)])

    @property
    def standing(self) -> Literal["run", "live", "step", "idea"]:
        """How far it was verified: its text was run, the live model was rebuilt with it, it is a first step, or it is an idea."""
        if self.verified:
            return "run" if self.proof == "source" else "live"
        return "step" if self.mends else "idea"

    def rebuild(self) -> tuple[Any, Any]:
        """New objects with the edits applied.

        Returns:
            ``(model, data)``, ready for ``fit``. The original model and data are unchanged.

        Raises:
            CannotRebuild: if the program cannot be rebuilt, for example from a loaded report or for a model
                whose class cannot be constructed again; the message says why.

        Example::

            model, (x, y) = report.findings[0].fixes[0].rebuild()
            model.fit(x, y)
        """
        maker = self.__dict__.get("_rebuild")
        if maker is None and not self.proof:
            raise CannotRebuild("This is an idea that was not tried: change the program by hand.")
        if maker is None:
            raise CannotRebuild("This fix is from a saved report, which contains no live model: trace the model again in this process.")
        return maker()  # type: ignore[no-any-return]


class Finding(msgspec.Struct, dict=True, omit_defaults=True):
    """One problem or note.

    A rule creates it from a :class:`Fact` (:meth:`of`), and code that decides or compares reads only :attr:`fact`. ``message``,
    ``why``, ``expected`` and ``found`` are the words for views; they are part of the JSON document, but the fact is not.
    """

    rule: str
    severity: Severity
    message: str
    why: str = ""
    expected: Side | None = None
    found: Side | None = None
    nodes: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    location: Location | None = None
    fixes: list[Fix] = msgspec.field(default_factory=list)
    rejected: tuple[str, ...] = ()
    docs: str = ""
    # The fix after which it was found: before it, the program did not get this far.
    behind: str = ""

    @classmethod
    def of(
        cls, rule: str, severity: Severity, fact: Fact, nodes: tuple[str, ...] = (), edges: tuple[str, ...] = (), location: Location | None = None
    ) -> Finding:
        """The finding for a fact."""
        made = cls(rule, severity, "", nodes=nodes, edges=edges, location=location)
        made.__dict__.update(fact=fact, beside=())
        made._say()
        return made

    @property
    def fact(self) -> Fact | None:
        """The fact; ``None`` if the finding was loaded from a document."""
        return self.__dict__.get("fact")

    def add(self, fact: Fact) -> None:
        """Adds a second fact, whose words come before the reason."""
        self.__dict__["beside"] = (*self.__dict__.get("beside", ()), fact)
        self._say()

    def same(self, other: Finding) -> bool:
        """Whether two findings have the same rule, fact and nodes."""
        return (self.rule, self.fact, self.nodes) == (other.rule, other.fact, other.nodes)

    def __str__(self) -> str:
        """The message."""
        return self.message

    def _say(self) -> None:
        fact = self.fact
        if fact is not None:
            words = say(fact, self.__dict__["beside"])
            self.message, self.why, self.expected, self.found = words.message, words.why, words.expected, words.found

    @property
    def serious(self) -> bool:
        return self.severity in SERIOUS

    @property
    def rank(self) -> int:
        """Its place among others: the most serious first, and what only a planned distribution refuses after what is wrong on any device."""
        planned = self.fact is not None and self.fact.planned
        return 2 * SEVERITIES.index("silent" if planned and self.severity == "tpu" else self.severity) + planned
