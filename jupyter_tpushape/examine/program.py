"""What is looked at, and what one look gives."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from ..flow import Shape, Target
from ..trace.assume import Assume
from ..trace.build import Counters
from ..trace.framework import Framework
from ..trace.ran import Run
from ..trace.recorder import Recorder
from .evidence import Evidence

# The line of the training call that a trace looks at, where it is not the one that asks for the trace.
HANDED: ContextVar[tuple[str, int] | None] = ContextVar("handed", default=None)

Progress = Callable[[str], None]


class BadProgram(ValueError):
    """What was handed over cannot be traced; the message is one sentence that says what to hand over."""


@dataclass
class Program:
    """What to trace, and how. ``model`` and ``data`` may be callables that make them."""

    model: Any
    data: Any = None
    target: Target | None = None
    strategy: Any = None
    batch_size: int | None = None
    loss: Any = None
    training: bool = True
    batches: int = 3
    progress: Progress | None = None
    edits: Any = None
    # Where edits are tried: the look at the program without them, and the names under which changed texts ran, by file.
    root: Any = None
    aliases: dict[str, str] = field(default_factory=dict)
    # A layer of the builder that is handed what it asks for, to see what lies behind it.
    assume: Assume | None = None
    # A sample taken before, where the data is the same: nothing is drawn a second time.
    sample: Any = None
    # The user's line that hands the data over: a call of fit, or of trace.
    handed: tuple[str, int] | None = None
    # Whether the target is one that nobody asked for.
    assumed: bool = False
    # Whether a tensor of unknown rank has the first batch's: where the program runs without it, more is known so.
    ranked: bool = False
    # Whether a replica that would get a single row has the whole batch: one row may fit where no other number does.
    several: bool = False

    def with_(self, **changes: Any) -> Program:
        return replace(self, **changes)


@dataclass
class Examined:
    """One look: evidence for the rules, and the live objects for repair."""

    evidence: Evidence
    program: Program
    recorder: Recorder
    adapter: Framework | None = None
    model: Any = None
    data: Any = None
    sample: Any = None
    run: Run | None = None
    error: BaseException | None = None
    limits: list[str] = field(default_factory=list)
    call_ids: dict[int, str] = field(default_factory=dict)
    edge_ids: dict[tuple[int, int], str] = field(default_factory=dict)
    # The frameworks' name counters when the look began.
    counters: Counters = field(default_factory=list)

    def shape_of(self) -> Callable[[Any], Shape | None]:
        """What the first replica gets of a leaf: its concrete shape, the batch axis divided by the split."""
        split = self.evidence.split
        # A backend that computes on arrays knows the rank of each batch, whatever the pipeline declares.
        ranked = self.program.ranked or (self.adapter is not None and not self.adapter.backend.open_axes)

        def shape(leaf: Any) -> Shape | None:
            if leaf.shape is None and not ranked:
                return None
            concrete: Shape | None = leaf.concrete if leaf.concrete is not None else leaf.shape
            if split is None or split.one_program or not concrete or concrete[0] is None:
                return concrete
            rows = split.rows(concrete[0])[0]
            return (concrete[0] if self.program.several and rows == 1 else rows, *concrete[1:])

        return shape

    def one_row(self) -> bool:
        """Whether the first replica gets a single row of a batch of several."""
        split, rows = self.evidence.split, getattr(self.sample, "batch", None)
        return split is not None and not split.one_program and bool(rows) and rows != 1 and split.rows(rows)[0] == 1

    def runs_unranked(self) -> bool:
        """Whether nothing asked for the rank of an input that has none: tf_keras builds some models so, Keras 3 builds none."""
        return not self.program.ranked and self.error is None and any(spec.shape is None for _, spec in self.evidence.x)


def shape_of(seen: Examined) -> Callable[[Any], Shape | None]:
    """The shape that a leaf of the data has on one replica."""
    return seen.shape_of()
