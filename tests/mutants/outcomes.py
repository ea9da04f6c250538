"""What a mutant really is: run it, and say whether it raises, computes something else, or does no harm.

The verdict uses nothing of what is tested: a real ``fit`` over two batches, the real shapes of labels and
predictions, and whether a sample's prediction depends on its neighbours.
"""

from __future__ import annotations

import gc
import itertools
import linecache
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jupyter_tpushape as tpushape
from jupyter_tpushape import Report

from .harder import ORIGINALS
from .mutations import MEANT, UNDECLARED, Mutant, program

RAISES, SILENT, HARMLESS = "raises", "silent", "harmless"
KEEPS, DIFFERS, NOT_COMPARABLE = "keeps", "differs", "not comparable"
NO_FIX = "no verified fix"
ON_JAX = os.environ.get("KERAS_BACKEND") == "jax"


@dataclass
class Outcome:
    """One mutant, what it does and what was said of it."""

    mutant: Mutant
    kind: str
    detail: str
    report: Report
    repaired: str = ""
    proof: str = ""
    # Whether the fixed program computes what the program without a fault computes.
    kept: str = ""
    title: str = ""

    @property
    def found(self) -> bool:
        return any(finding.serious for finding in self.report.findings)

    def __str__(self) -> str:
        said = "; ".join(f"{finding.rule} ({finding.severity}): {finding.message}" for finding in self.report.findings)
        return f"{self.mutant.id} {self.kind} [{self.detail[:160]}] -> {said or 'nothing'}"


def fit(model: Any, data: Any) -> None:
    """Two real training steps. Eagerly: the same arithmetic, without compiling each of hundreds of models.

    JAX compiles each operation that runs eagerly, which takes three times as long as to compile the step.
    """
    model.run_eagerly = not ON_JAX
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
    meant = MEANT if "Input(" in mutant.text else MEANT | UNDECLARED
    why = "by design" if mutant.operator in meant else disagreement(model, given)
    return (SILENT, why) if why else (HARMLESS, "")


def judge(mutant: Mutant, keras: Any, path: Path, *, fixes: bool) -> Outcome:
    """Runs a mutant in the file ``path``, traces it, and, where asked, applies its first fix to the file and runs that."""
    mutant.write(path)
    linecache.checkcache(str(path))
    keras.backend.clear_session()
    kind, detail = run(mutant, path, keras)
    keras.backend.clear_session()
    # What is left is there to stay, such as the outcomes of other mutants: a session that is cleared need not walk through it.
    gc.collect()
    gc.freeze()
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
        outcome.proof, outcome.title = fixes[0].proof, fixes[0].title
        if outcome.proof == "live":
            model, given = fixes[0].rebuild()
        else:
            tpushape.apply(fixes[0], path)
            build, data = program(path, outcome.mutant.architecture, keras)
            model, given = build(), data()
        fit(model, given)
        why = disagreement(model, given)
        outcome.kept = kept(model, given, *(make() for make in ORIGINALS[outcome.mutant.architecture](keras)))
    except Exception as error:
        return f"{fixes[0].title}: {type(error).__name__}: {str(error)[:200]}"
    return f"{fixes[0].title}: {why}" if why else "yes"


def kept(fixed: Any, given: Any, original: Any, meant: Any) -> str:
    """Whether a fixed program keeps the meaning: with the same weights and the same batch it gives what the original gives.

    Each is fed its own data where these hold the same values; where the fault changed the values, both get the fixed program's. Without equal
    outputs an equal loss will do: a softmax may have moved into the loss.
    """
    (x, y), (own_x, own_y) = _first(given), _first(meant)
    rows = min(len(_several(x)[0]), len(_several(own_x)[0]))
    x, y, own_x, own_y = (_rows(part, rows) for part in (x, y, own_x, own_y))
    pairs = list(zip(_several(x), _several(own_x), strict=False))
    if not all(_values(one) == _values(other) for one, other in pairs):
        if any(tuple(one.shape) != tuple(other.shape) for one, other in pairs):
            return NOT_COMPARABLE
        own_x = x
    original(own_x, training=False), fixed(x, training=False)
    weights = original.get_weights()
    if [one.shape for one in fixed.get_weights()] != [one.shape for one in weights]:
        return NOT_COMPARABLE
    fixed.set_weights(weights)
    results = [[np.asarray(value) for value in _several(model(fed, training=False))] for model, fed in ((fixed, x), (original, own_x))]
    same = len(results[0]) == len(results[1]) and all(
        _solid(one.shape) == _solid(other.shape) and np.allclose(one.ravel(), other.ravel(), atol=1e-4) for one, other in zip(*results, strict=True)
    )
    losses = [_loss(fixed, x, y), _loss(original, own_x, own_y)]
    return KEEPS if same or np.isclose(*losses, rtol=1e-3, atol=1e-5) else DIFFERS


def _values(value: Any) -> list[float]:
    return np.sort(np.asarray(value, "float64").ravel()).tolist()


def _loss(model: Any, x: Any, y: Any) -> float:
    model.run_eagerly = True
    return float(np.ravel(model.test_on_batch(x, y))[0])


HEADER = "| Faults | Number | Found | First fix verified | Keeps the meaning | Differs | Not comparable |\n|---|---|---|---|---|---|---|"


def table(outcomes: list[Outcome]) -> str:
    """One line for each kind of fault: how many there are, are found, are mended, and what the mended programs compute."""
    faults = [outcome for outcome in outcomes if outcome.kind != HARMLESS]
    lines = [HEADER]
    for kind in [*sorted({outcome.mutant.operator for outcome in faults}), "all"]:
        of = [outcome for outcome in faults if kind in (outcome.mutant.operator, "all")]
        counts = [sum(outcome.kept == verdict for outcome in of) for verdict in (KEEPS, DIFFERS, NOT_COMPARABLE)]
        cells = [len(of), sum(one.found for one in of), sum(one.repaired not in ("", NO_FIX) for one in of), *counts]
        lines.append(f"| {kind} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
