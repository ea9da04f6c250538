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
    "insert-layer",
    "replace-layer",
    "layer-config",
    "input-shape",
    "data-transform",
    "label-transform",
    "batching",
    "loss",
    "replace-op",
    "strategy",
]


class CannotRebuild(Exception):
    """A fix cannot give fresh objects; the message says why and what to do by hand."""


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change. ``target`` names the node, edge or stage; ``detail`` holds plain values."""

    kind: EditKind
    target: str
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a fix changes: a tensor's shape before and after, and the parameters it adds."""

    before: Shape | None = None
    after: Shape | None = None
    output: Shape | None = None
    parameters: int = 0
    text: str = ""


class AfterEdge(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tensor that a fix makes another one, or a new one. ``spec`` is an index into the specs beside it.

    ``even``: every replica holds this shape.
    """

    id: str
    source: str
    target: str
    spec: int
    label: str = ""
    even: bool = False


class After(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the flow with a fix in it, as it was traced, has otherwise than the flow without.

    ``nodes`` are new or stand in place of the one with their id; ``edges`` likewise. What is named in
    ``gone`` (ids of nodes and edges) is not there any more. All else is as it was, and is reached.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[AfterEdge, ...] = ()
    specs: tuple[Spec, ...] = ()
    gone: tuple[str, ...] = ()


class Fix(msgspec.Struct, dict=True, omit_defaults=True):
    """One or more edits, in the order in which they are made.

    ``verified``: the program with them was traced to the loss, and nothing serious is left. ``mends``: the finding that they
    are for is gone. ``then``: what is met behind it, where ``mends`` is all that can be said.
    ``proof``: ``"source"`` where the very text of ``patch`` was run, ``"live"`` where the program was built again with the
    edits and there is no source to patch, ``""`` where nothing was tried.
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

    @property
    def standing(self) -> Literal["run", "live", "step", "idea"]:
        """What may be said of it: its text was run, the live model was rebuilt with it, it is a first step, or it is an idea."""
        if self.verified:
            return "run" if self.proof == "source" else "live"
        return "step" if self.mends else "idea"

    def rebuild(self) -> tuple[Any, Any]:
        """Fresh ``(model, data)`` with the edits applied, ready for ``fit``.

        Raises:
            CannotRebuild: with the reason, where the program cannot be made again (a report read
                from a file, a model whose class cannot be constructed again).
        """
        maker = self.__dict__.get("_rebuild")
        if maker is None and not self.proof:
            raise CannotRebuild("This is an idea that was not tried: change the program by hand.")
        if maker is None:
            raise CannotRebuild("This fix is from a saved report, which contains no live model: trace the model again in this process.")
        return maker()  # type: ignore[no-any-return]


class Finding(msgspec.Struct, dict=True, omit_defaults=True):
    """One fact worth the user's time.

    A rule makes it of a :class:`Fact` (:meth:`of`), and everything that decides or compares reads :attr:`fact`. ``message``,
    ``why``, ``expected`` and ``found`` are that fact in words, for views; they travel with the document, and the fact does not.
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
    # The fix behind which it was met: it was not there to be seen before.
    behind: str = ""

    @classmethod
    def of(
        cls,
        rule: str,
        severity: Severity,
        fact: Fact,
        nodes: tuple[str, ...] = (),
        edges: tuple[str, ...] = (),
        location: Location | None = None,
    ) -> Finding:
        """The finding that a fact is."""
        made = cls(rule, severity, "", nodes=nodes, edges=edges, location=location)
        made.__dict__.update(fact=fact, beside=())
        made._say()
        return made

    @property
    def fact(self) -> Fact | None:
        """What was found; ``None`` where the finding was read from a document."""
        return self.__dict__.get("fact")

    def add(self, fact: Fact) -> None:
        """Puts what is known beside the fact in front of the reason."""
        self.__dict__["beside"] = (*self.__dict__.get("beside", ()), fact)
        self._say()

    def same(self, other: Finding) -> bool:
        """Whether two findings say the same of the same nodes."""
        return (self.rule, self.fact, self.nodes) == (other.rule, other.fact, other.nodes)

    def __str__(self) -> str:
        """The fact in one sentence, to be shown."""
        return self.message

    def _say(self) -> None:
        fact = self.fact
        if fact is not None:
            words = say(fact, self.__dict__["beside"])
            self.message, self.why, self.expected, self.found = words.message, words.why, words.expected, words.found

    @property
    def serious(self) -> bool:
        return self.severity in SERIOUS
