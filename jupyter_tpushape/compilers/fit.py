"""Finds the largest batch per core that compiles within the memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ..flow import Target, Tried
from ..replicas.targets import slice_named
from ..rules.words import size
from .lowering import plans
from .process import Limits, Progress, limits
from .programs import Lowered
from .tpu import question, tried_of

# A row more or less costs the TPU nothing below this.
STEP = 8
MOST_ROWS = 65536
COMPILATIONS = 16


@dataclass(frozen=True)
class Fit:
    """The result of a batch size search.

    Attributes:
        rows: the largest batch per core that compiled, in rows; 0 if none did.
        too_many: the smallest batch per core that was rejected, in rows; 0 if none was.
        safe: the largest batch per core that also leaves an estimate of the other memory that a run needs, in rows; 0 if none does.
        program: ``train`` or ``forward``. hbm_bytes: the memory of one core that a program can use, in bytes.
        parts: how many devices of a mesh share a batch; 0 if every core has rows of its own.
    """

    target: str
    program: str
    rows: int
    too_many: int
    replicas: int
    hbm_bytes: int
    tried: tuple[Tried, ...]
    safe: int = 0
    parts: int = 0

    @property
    def batch(self) -> int:
        """The global batch: ``rows`` on each core, or on each part of a mesh."""
        return self.rows * (self.parts or self.replicas)

    def chart(self) -> Any:
        """A plotly figure: memory of one core (MiB) against the rows on it. Raises ``ValueError`` without plotly."""
        from .. import view

        return view("charts").batches(self)

    def __str__(self) -> str:
        if not self.rows:
            return f"{self.target}: even {self.too_many} row{'s' * (self.too_many > 1)} per core need more than {size(self.hbm_bytes)}."
        held = next(step for step in self.tried if step.fits and step.rows == self.rows)
        bound = f"{self.too_many} do not" if self.too_many else "no larger batch was tried"
        on = f"in {self.parts} parts of a mesh of {self.replicas}" if self.parts else f"on {self.replicas}"
        return (
            f"{self.target}: {self.rows} rows per core ({self.batch} {on}) compile within {size(self.hbm_bytes)}"
            f"{f' at {held.effort} effort' if held.effort else ''}: {size(held.bytes)}; {bound}. "
            f"{f'{self.safe} rows per core leave' if self.safe else 'No batch that was tried leaves'} enough memory for a run (an estimate)."
        )


def fit_batch(
    model: Any,
    data: Any = None,
    tpu: str = "v5e-8",
    *,
    strategy: Any = None,
    most: int = MOST_ROWS,
    compilations: int = COMPILATIONS,
    compile_timeout: float | None = None,
    compile_effort: str | None = None,
    progress: Progress = None,
) -> Fit:
    """Finds the largest batch per core that the TPU compiler accepts: for the train step if the model is compiled and there are labels.

    The search compiles every batch that it reports. It goes to the batch with which, by those that fit, memory is full, and closes the gap down
    to 8 rows (1 below 8).

    Args:
        model: as for ``trace``.
        data: as for ``trace``; the search starts with its batch size.
        tpu: a TPU slice such as ``"v5e-8"``.
        strategy: a ``keras.distribution`` over the slice's devices (Keras on JAX); by default data parallel.
        most: the maximum number of rows per core.
        compilations: the maximum number of compilations.
        compile_timeout: time limit for one compilation, in seconds; the default is 120.
        compile_effort: ``"quick"`` (the default) or ``"full"``.
        progress: called with one line of text for each compilation.

    Returns:
        The result; ``.batch`` is the global batch size in rows.

    Raises:
        ValueError: for an unknown target, if the compiler is not installed, or if it gives no verdict; the message says what to do.
        BadProgram: if the model or the data cannot be traced.

    Example::

        print(tpushape.fit_batch(model, (x, y), tpu="v5e-8"))
    """
    from .. import replicas
    from ..examine import Program, examine
    from . import bridge
    from .programs import CannotLower

    wrong = bridge.check()
    if wrong:
        raise ValueError(wrong)
    target, asked = replicas.target(tpu), limits(compile_timeout, compile_effort)
    if replicas.is_distribution(strategy):
        target = replicas.of_distribution(strategy, tpu)
    elif strategy is not None:
        raise ValueError("strategy must be a keras.distribution, such as ModelParallel. For a TPUStrategy, pass the slice's name as tpu.")
    seen = examine(Program(model, data, target, strategy))
    try:
        program = plans(seen)[-1].name
    except CannotLower as error:
        raise ValueError(str(error)) from error
    split = seen.evidence.split
    parts = split.parts if split is not None and split.one_program else 0
    whole = next((spec.shape[0] for _, spec in seen.evidence.x if spec.shape and spec.shape[0]), STEP) or STEP
    first = max(1, whole // max(1, parts))
    compiles, available = _compiler(seen, program, asked, progress), slice_named(target.name).available_bytes
    tried = search(compiles, min(first, most), most, compilations, available=available)
    close_in(compiles, tried, available, compilations)
    fitting = [step.rows for step in tried if step.fits]
    failing = [step.rows for step in tried if not step.fits]
    return Fit(
        target.name, program, max(fitting, default=0), min(failing, default=0), target.replicas, available, tuple(tried), safe_rows(tried, available), parts,
    )  # fmt: skip


def batches(seen: Any, program: Lowered, first: Tried, asked: Limits, progress: Progress = None) -> tuple[list[Tried], str]:
    """The batches of a search that begins with one that was compiled already, and one line where it ended early (``""`` otherwise)."""
    compiles = _compiler(seen, program.program, asked, progress)
    tried: list[Tried] = []
    try:
        available = slice_named(seen.program.target.name).available_bytes
        search(lambda rows: first if rows == first.rows else compiles(rows), first.rows, MOST_ROWS, COMPILATIONS, into=tried, available=available)
        close_in(compiles, tried, available, COMPILATIONS)
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
    # What is known of these rows from before is not even lowered.
    with closing(question(seen, plans(seen, rows=rows, only=program)[0], asked)) as asking:
        made = asking.program
        if made.error is not None:
            raise ValueError(f"XLA rejected the program with {rows} rows per core: {str(made.error)[:300]}")
        answer = asking.answer()
    found = tried_of(rows, answer, made, target)
    if found is not None:
        return found
    raise ValueError(f"No verdict with {rows} rows per core: {str(answer['message'])[:300]}")


def safe_rows(tried: list[Tried], available: int) -> int:
    """The most rows of those that compiled with which a run's own needs have room, by estimate."""
    return max((one.rows for one in tried if one.fits and one.run <= available), default=0)


def close_in(compiles: Callable[[int], Tried], tried: list[Tried], available: int, compilations: int) -> None:
    """Compiles up to three batches more between the largest that leaves a run room and the smallest that does not."""
    for _ in range(min(3, compilations - len(tried))):
        low = max((one.rows for one in tried if one.fits and one.run <= available), default=0)
        high = min((one.rows for one in tried if one.fits and one.run > available), default=0)
        if high - low <= STEP:
            return
        sizes = {one.rows: one.run for one in tried if one.fits}
        # Memory grows about evenly with rows: what the two say of the limit, on a multiple of 8 rows.
        rows = low + int((high - low) * (available - sizes[low]) / (sizes[high] - sizes[low])) if low and sizes[high] > sizes[low] else high // 2
        tried.append(compiles(min(max(rows // STEP * STEP or rows, low + 1), high - 1)))


def search(
    compiles: Callable[[int], Tried], first: int, most: int, compilations: int, *, too_many: int = 0, into: list[Tried] | None = None, available: int = 0
) -> list[Tried]:
    """Goes up (or halves) to a pair of a batch that fits and one that does not, then closes in: to where the memory of the batches that fit
    reaches what is ``available``, as long as that helps, otherwise by doubling and halving.

    Args:
        first: rows to begin with. most: rows that are not exceeded. too_many: rows that are known not to fit; 0 where none are.
        into: a list that is filled as the search goes on. available: bytes for a program; 0 where memory says nothing.
    """
    tried = into if into is not None else []
    tried.append(compiles(first))
    low, high = (first, too_many) if tried[0].fits else (0, first)
    stride, before = STEP, 0
    while len(tried) < compilations:
        full = _full(tried, available)
        if not high:
            if low >= most:
                break
            ahead = full - low if full > low else stride
            stride *= 2 if 0 < full <= low else 1
            # Not far beyond what was seen: little memory says little of much.
            rows = min(most, min(low + ahead, 8 * low) if full else 2 * low)
        elif not low:
            if high == 1:
                break
            rows = high // 2
        else:
            step, gap = STEP if high > STEP else 1, high - low
            if gap <= step:
                break
            helped, before = not before or 2 * gap <= before, gap
            middle = max(full, low + step) if full and helped and max(full, low + step) < high else (low + high) // 2
            rows = middle // step * step if middle // step * step > low else middle
        tried.append(compiles(rows))
        low, high = (rows, high) if tried[-1].fits else (low, rows)
    return tried


def _full(tried: list[Tried], available: int) -> int:
    """Rows with which memory is full if it goes on to grow as between the two largest batches that fit, on a multiple of 8."""
    fitting = sorted((one.rows, one.bytes, one.effort) for one in tried if one.fits)
    if not available or len(fitting) < 2 or fitting[-2][2] != fitting[-1][2]:
        return 0
    (fewer, less, _), (rows, held, _) = fitting[-2:]
    return rows + int((available - held) * (rows - fewer) / (held - less)) // STEP * STEP if held > less else 0
