"""The largest batch per core that fits, found by compiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..flow import Target, Tried
from ..rules.words import size
from .lowering import Lowered, lower
from .process import Limits, Progress, limits
from .tpu import answer_of, tried_of

# A row more or less costs the TPU nothing below this.
STEP = 8
MOST_ROWS = 65536
COMPILATIONS = 16


@dataclass(frozen=True)
class Fit:
    """What the search found.

    Attributes:
        rows: the largest batch per core that compiled; 0 where not even the smallest does.
        too_many: the smallest batch per core that was refused; 0 where none was.
        program: ``train`` or ``forward``. hbm_bytes: memory of one core.
    """

    target: str
    program: str
    rows: int
    too_many: int
    replicas: int
    hbm_bytes: int
    tried: tuple[Tried, ...]

    @property
    def batch(self) -> int:
        """The global batch: ``rows`` on each core."""
        return self.rows * self.replicas

    def chart(self) -> Any:
        """A plotly figure: memory of one core (MiB) against the rows on it. Raises ``ValueError`` without plotly."""
        from .. import view

        return view("charts").batches(self)

    def __str__(self) -> str:
        if not self.rows:
            return f"{self.target}: not even {self.too_many} row{'s' * (self.too_many > 1)} per core fit into {size(self.hbm_bytes)}."
        held = next(step for step in self.tried if step.fits and step.rows == self.rows)
        bound = f"{self.too_many} do not" if self.too_many else "no larger one was tried"
        return (
            f"{self.target}: {self.rows} rows per core fit ({self.batch} on {self.replicas}), with {size(held.bytes)} of "
            f"{size(self.hbm_bytes)}{f' at {held.effort} effort' if held.effort else ''}; {bound}."
        )


def fit_batch(
    model: Any,
    data: Any = None,
    tpu: str = "v5e-8",
    *,
    most: int = MOST_ROWS,
    compilations: int = COMPILATIONS,
    compile_timeout: float | None = None,
    compile_effort: str | None = None,
    progress: Progress = None,
) -> Fit:
    """The largest batch per core that the TPU compiler can place, for the train step where the model is compiled and there are labels.

    Each batch that is named was compiled. The search doubles, then halves the gap down to 8 rows (1 below 8).

    Args:
        model: as for ``trace``. data: as for ``trace``; its batch is where the search begins. tpu: a target's name.
        most: rows per core that are not exceeded. compilations: how many are made at most.
        compile_timeout: seconds for one compilation. compile_effort: ``"quick"`` or ``"full"``. progress: called with a line of text
            for each.

    Raises:
        ValueError: for an unknown target, without the compiler, or where it gives no verdict; one line that says what to do.
        BadProgram: where model or data are not what is expected.
    """
    from .. import replicas
    from ..examine import Program, examine
    from . import bridge
    from .lowering import CannotLower

    wrong = bridge.check()
    if wrong:
        raise ValueError(wrong)
    target, asked = replicas.target(tpu), limits(compile_timeout, compile_effort)
    seen = examine(Program(model, data, target=target))
    try:
        program = lower(seen)[-1].program
    except CannotLower as error:
        raise ValueError(str(error)) from error
    first = next((spec.shape[0] for _, spec in seen.evidence.x if spec.shape and spec.shape[0]), STEP) or STEP
    tried = search(_compiler(seen, program, asked, progress), max(1, min(first, most)), most, compilations)
    fitting = [step.rows for step in tried if step.fits]
    failing = [step.rows for step in tried if not step.fits]
    return Fit(target.name, program, max(fitting, default=0), min(failing, default=0), target.replicas, target.hbm_bytes, tuple(tried))


def batches(seen: Any, program: Lowered, first: Tried, asked: Limits, progress: Progress = None) -> tuple[list[Tried], str]:
    """The batches of a search that begins with one that was compiled already, and one line where it ended early (``""`` otherwise)."""
    compiles = _compiler(seen, program.program, asked, progress)
    tried: list[Tried] = []
    try:
        search(lambda rows: first if rows == first.rows else compiles(rows), first.rows, MOST_ROWS, COMPILATIONS, into=tried)
    except ValueError as error:
        return tried, f"The search for the largest batch ended early. {error}"
    return tried, ""


def _compiler(seen: Any, program: str, asked: Limits, progress: Progress) -> Callable[[int], Tried]:
    def compiles(rows: int) -> Tried:
        if progress is not None:
            progress(f"{program} with {rows} rows per core")
        return _try(seen, seen.program.target, program, rows, asked)

    return compiles


def _try(seen: Any, target: Target, program: str, rows: int, asked: Limits) -> Tried:
    made = lower(seen, rows=rows, only=program)[0]
    if made.error is not None:
        raise ValueError(f"XLA refuses the program with {rows} rows per core: {str(made.error)[:300]}")
    answer = answer_of(made, target, asked)
    found = tried_of(rows, answer)
    if found is not None:
        return found
    raise ValueError(f"No verdict with {rows} rows per core: {str(answer['message'])[:300]}")


def search(
    compiles: Callable[[int], Tried], first: int, most: int, compilations: int, *, too_many: int = 0, into: list[Tried] | None = None
) -> list[Tried]:
    """Doubles (or halves) to a pair of a batch that fits and one that does not, then closes in.

    Args:
        first: rows to begin with. most: rows that are not exceeded. too_many: rows that are known not to fit; 0 where none are.
        into: a list that is filled as the search goes on.
    """
    tried = into if into is not None else []
    tried.append(compiles(first))
    low, high = (first, too_many) if tried[0].fits else (0, first)
    while len(tried) < compilations:
        if not high:
            if low >= most:
                break
            rows = min(most, 2 * low)
        elif not low:
            if high == 1:
                break
            rows = high // 2
        else:
            step = STEP if high > STEP else 1
            if high - low <= step:
                break
            middle = (low + high) // 2
            rows = middle // step * step if middle // step * step > low else middle
        tried.append(compiles(rows))
        low, high = (rows, high) if tried[-1].fits else (low, rows)
    return tried
