"""What a mutant really is: run it, and say whether it raises, computes something else, or does no harm.

The verdict uses nothing of what is tested: a real ``fit`` over two batches, the real shapes of labels and
predictions, and whether a sample's prediction depends on its neighbours.
"""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jupyter_tpushape as tpushape
from jupyter_tpushape import Report

from .mutations import MEANT, Mutant, program

RAISES, SILENT, HARMLESS = "raises", "silent", "harmless"
NO_FIX = "no verified fix"


@dataclass
class Outcome:
    """One mutant, what it does and what was said of it."""

    mutant: Mutant
    kind: str
    detail: str
    report: Report
    repaired: str = ""
    proof: str = ""

    @property
    def found(self) -> bool:
        return any(finding.serious for finding in self.report.findings)

    def __str__(self) -> str:
        said = "; ".join(f"{finding.rule} ({finding.severity}): {finding.message}" for finding in self.report.findings)
        return f"{self.mutant.id} {self.kind} [{self.detail[:160]}] -> {said or 'nothing'}"


def fit(model: Any, data: Any) -> None:
    """Two real training steps. Eagerly: the same arithmetic, without compiling each of hundreds of models."""
    model.run_eagerly = True
    if isinstance(data, tuple):
        model.fit(*data, verbose=0)
    else:
        model.fit(data.take(2) if hasattr(data, "take") else data, verbose=0)


def _first(data: Any) -> tuple[Any, Any]:
    """The first batch."""
    if isinstance(data, tuple):
        return _rows(data[0], 32), _rows(data[1], 32)
    return next(iter(data))


def _rows(value: Any, count: int) -> Any:
    return [_rows(item, count) for item in value] if isinstance(value, list) else value[:count]


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _aligned(labels: tuple[int, ...], predictions: tuple[int, ...], loss: str) -> bool:
    """Whether each label meets its own prediction; one trailing axis of size 1 may come or go, as Keras does it."""
    if "sparse" in loss:
        return _solid(labels) == _solid(predictions[:-1])
    return labels == predictions or (*labels, 1) == predictions or labels == (*predictions, 1)


def _solid(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:1], *(n for n in shape[1:] if n != 1))


def disagreement(model: Any, data: Any) -> str:
    """Why a program that runs does not compute what it says, or ``""``."""
    x, y = _first(data)
    predictions = [np.asarray(value) for value in _several(model(x, training=False))]
    losses = [str(getattr(loss, "name", loss)) for loss in _several(model.loss)]
    for target, value, loss in zip(_several(y), predictions, itertools.cycle(losses), strict=False):
        if not _aligned(tuple(target.shape), value.shape, loss):
            return f"labels {tuple(target.shape)} against predictions {value.shape} in {loss}"
        if "sparse" in loss and not 0 <= np.asarray(target).min() <= np.asarray(target).max() < value.shape[-1]:
            return f"a label names none of {value.shape[-1]} classes"
    try:
        alone = [np.asarray(value) for value in _several(model(_rows(x, 1) if not isinstance(x, tuple) else x, training=False))]
    except Exception as error:
        return f"one sample alone raises {type(error).__name__}"
    for value, one in zip(predictions, alone, strict=True):
        if one.shape != (1, *value.shape[1:]) or not np.allclose(value[:1], one, atol=1e-4):
            return "a prediction depends on the other samples"
    return _door(model, x)


def _door(model: Any, x: Any) -> str:
    """Axes in another order than declared: the sizes are right and mean something else."""
    declared = [tuple(spec.shape) for spec in getattr(model, "inputs", None) or []]
    for want, value in zip(declared, _several(x), strict=False):
        row = tuple(value.shape)[1:]
        if None not in want[1:] and row != want[1:] and sorted(row) == sorted(want[1:]):
            return f"rows {row} where {want[1:]} is declared"
    return ""


def run(mutant: Mutant, path: Path, keras: Any) -> tuple[str, str]:
    """``raises``, ``silent`` or ``harmless``, and why."""
    try:
        build, data = program(path, mutant.architecture, keras)
        model, given = build(), data()
        fit(model, given)
    except Exception as error:
        return RAISES, f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}"
    why = "by design" if mutant.operator in MEANT else disagreement(model, given)
    return (SILENT, why) if why else (HARMLESS, "")


def judge(mutant: Mutant, keras: Any, path: Path, *, fixes: bool) -> Outcome:
    """Runs a mutant in the file ``path``, traces it, and, where asked, applies its first fix to the file and runs that."""
    mutant.write(path)
    linecache.checkcache(str(path))
    keras.backend.clear_session()
    kind, detail = run(mutant, path, keras)
    keras.backend.clear_session()
    build, data = program(path, mutant.architecture, keras)
    outcome = Outcome(mutant, kind, detail, tpushape.trace(build, data, tpu=None, fixes=fixes and kind != HARMLESS))
    if fixes and outcome.found and kind != HARMLESS:
        outcome.repaired = repair(outcome, path, keras)
    return outcome


def repair(outcome: Outcome, path: Path, keras: Any) -> str:
    """``yes`` where the first fix is verified and the file runs once it is applied, else what went wrong.

    A fix that was tried on the living program alone has no text to apply: then its rebuilt program runs.
    """
    fixes = [fix for finding in outcome.report.findings if finding.serious for fix in finding.fixes]
    if not fixes or not fixes[0].verified:
        return NO_FIX
    try:
        outcome.proof = fixes[0].proof
        if outcome.proof == "live":
            model, given = fixes[0].rebuild()
        else:
            tpushape.apply(fixes[0], path)
            build, data = program(path, outcome.mutant.architecture, keras)
            model, given = build(), data()
        fit(model, given)
        why = disagreement(model, given)
    except Exception as error:
        return f"{fixes[0].title}: {type(error).__name__}: {str(error)[:200]}"
    return f"{fixes[0].title}: {why}" if why else "yes"
