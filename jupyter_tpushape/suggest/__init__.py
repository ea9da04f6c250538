"""Layout suggestions: compiles a few layouts for the slice and ranks them by the compiler's results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..compilers import bridge
from ..compilers.lowering import plans
from ..compilers.process import Limits, Progress, limits
from ..compilers.programs import CannotLower
from ..compilers.tpu import question, verdict_of
from ..examine import BadProgram, Program, examine
from ..flow import Verdict
from ..replicas import of_distribution, target
from ..rules.words import size
from .candidates import Candidate, candidates, given, together


@dataclass(frozen=True)
class Suggestion:
    """A layout as compiled. ``bytes``: of one device, 0 where the compiler gave none; ``sent``: what each device sends in a step;
    ``said``: the compiler's words where the program does not compile, or it gave no verdict."""

    candidate: Candidate
    fits: bool
    bytes: int
    sent: int
    said: str = ""

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def source(self) -> str:
        """The code that creates it in a program."""
        return self.candidate.source

    def distribution(self) -> Any:
        """It as a ``keras.distribution``, for ``trace(strategy=...)``."""
        return self.candidate.distribution()

    def __str__(self) -> str:
        mesh = " × ".join(f"{axis} {count}" for axis, count in self.candidate.mesh.items())
        if not self.fits:
            return f"{self.name} ({mesh}): {self.said}"
        return f"{self.name} ({mesh}): {size(self.bytes)} on each device, which sends {size(self.sent)} per step"


@dataclass(frozen=True)
class Suggestions:
    """Layouts by rank: those that compile first, by what devices send in a step, then by memory. How long a step takes is not known."""

    target: str
    program: str
    tried: tuple[Suggestion, ...]

    @property
    def best(self) -> Suggestion | None:
        """The first layout that compiles within the memory."""
        return next((one for one in self.tried if one.fits), None)

    def __repr__(self) -> str:
        lines = [f"{number}. {one}" for number, one in enumerate(self.tried, 1)]
        rest = f"Compiled for {self.target}, the {self.program} program. Less traffic and memory do not always mean less time; only a run can show that."
        return "\n".join([*lines, rest])


def suggest_layout(
    model: Any,
    data: Any,
    tpu: str = "v5e-8",
    *,
    strategy: Any = None,
    batch_size: int | None = None,
    compile_timeout: float | None = None,
    progress: Progress = None,
) -> Suggestions:
    """Compiles a few layouts of a Keras model on JAX for a slice and ranks them: data parallel, tensor parallel, fully sharded.

    Tensor parallel shards kernels by hidden units and heads. Fully sharded shards all variables over all devices. Both are derived from
    the variables' shapes; layouts that do not divide evenly are not tried.

    Args:
        model: as for ``trace``.
        data: as for ``trace``.
        tpu: a TPU slice such as ``"v5e-8"``.
        strategy: a ``keras.distribution`` over the slice's devices to rank with them, as it is and with the two axes of one entry of its
            layout map exchanged, for each entry.
        batch_size: global batch size for arrays, in rows.
        compile_timeout: time limit for each compilation, in seconds.
        progress: called with one line of text for each compilation.

    Returns:
        The layouts by rank; ``.best`` is the first that compiles within the memory.

    Raises:
        ValueError: for an unknown target, a backend other than JAX, if the compiler is not installed, or if no layout divides evenly.
        BadProgram: if the model or the data cannot be traced.

    Example::

        print(tpushape.suggest_layout(model, (x, y), tpu="v5e-8"))
    """
    wrong = bridge.check()
    if wrong:
        raise ValueError(wrong)
    planned_for, asked = target(tpu), limits(compile_timeout, None)
    first = examine(Program(model, data, planned_for, None, batch_size))
    if first.adapter is None or first.model is None:
        raise BadProgram("There is no model to suggest layouts for: building it fails. Trace the program first.")
    if first.adapter.backend.replicated:
        raise ValueError("Layouts require Keras on JAX. Set KERAS_BACKEND=jax before importing Keras.")
    rows = first.sample.batch if first.sample is not None else None
    variables = [(str(one.path), tuple(int(n) for n in one.shape)) for one in first.adapter.variables(first.model)]
    found = list(candidates(variables, planned_for.replicas, int(rows or 0) or planned_for.replicas))
    if strategy is not None:
        of_distribution(strategy, tpu)
        found += (own := list(given(strategy, variables)))
    if not found:
        raise ValueError(f"A batch of {rows} cannot be split over a mesh of {planned_for.replicas} devices. Use a multiple of {planned_for.replicas}.")
    program = ""

    def compiled(one: Candidate) -> Suggestion:
        nonlocal program
        if progress is not None:
            progress(f"compiling {one.name} for {planned_for.name}")
        said = _compiled(Program(model, data, of_distribution(one.distribution(), tpu), one.distribution(), batch_size), asked, progress)
        program = said.program
        held = said.tried[0].bytes if said.tried else 0
        return Suggestion(one, said.ok, held, sum(each.sent for each in said.collectives), "" if said.ok else _short(said.message))

    tried = [compiled(one) for one in found]
    if strategy is not None:
        sent = [(one.candidate, one.sent) for one in tried if one.fits and one.candidate in own]
        more = together(sent, own[0].layout) if sent and sent[0][0] is own[0] else None
        tried += [compiled(more)] if more is not None else []
    ranked = sorted(tried, key=lambda one: (not one.fits, one.sent, one.bytes))
    return Suggestions(planned_for.name, program, tuple(ranked))


def _compiled(program: Program, asked: Limits, progress: Progress) -> Verdict:
    """The compiler's verdict on the last program that there is: the train step, where there are labels."""
    seen = examine(program)
    name = program.target.name if program.target is not None else ""
    try:
        made = question(seen, plans(seen)[-1], asked)
    except CannotLower as error:
        return Verdict("program", "tpu", False, name, str(error))
    try:
        return verdict_of(seen, made, progress, [])[0]
    finally:
        made.close()


def _short(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "no verdict")[:300]


__all__ = ["Candidate", "Suggestion", "Suggestions", "suggest_layout"]
