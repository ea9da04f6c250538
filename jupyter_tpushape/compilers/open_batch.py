"""An unknown batch size: the programs that a TPU compiles for it besides the one for a full batch.

The last batch has fewer rows. A TPU does not know the batch size when it compiles: it compiles for an upper bound (XLA's bounded
dynamism), which has errors of its own. Both are built only for the last program, the train step if there is one: it includes the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..flow import Finding, Verdict
from ..rules.words import size
from .lowering import plans
from .process import Progress
from .programs import Plan
from .tpu import Question, total
from .words import answer_finding, dynamic, refusal


def rows_of_last(split: Any) -> int:
    """Rows a core of the last batch's program where that is one of its own, else 0. A TPU pads to the largest replica's, and to 2."""
    last = max(2, *split.last) if any(split.last) else 0
    return last if last != max(split.full, default=0) else 0


def is_open(seen: Any) -> bool:
    """Whether the pipeline leaves the batch axis open, and each replica has a program of its own."""
    split = seen.evidence.split
    return split is not None and not split.one_program and split.dynamic and bool(split.full)


def beside(seen: Any, plan: Plan, took: float, limit: float) -> Iterator[Plan]:
    """The programs beside ``plan``, that of a full batch, unless that one ``took`` more than half of the seconds that a compilation may take."""
    if not is_open(seen) or 2 * took > limit:
        return
    last = rows_of_last(seen.evidence.split)
    if last:
        yield replace(plans(seen, rows=last, only=plan.name)[0], rows="last")
    yield replace(plan, rows="open")


def told(seen: Any, verdict: Verdict, others: list[Question], progress: Progress = None) -> tuple[list[Verdict], list[Finding]]:
    """Says in the ``verdict`` which programs of an open batch were compiled; a refusal is a verdict and a finding of its own."""
    if not is_open(seen):
        return [], []
    parts = [f"; the batch size is unknown: this is the program for {max(seen.evidence.split.full)} rows per core"]
    if not others:
        last = rows_of_last(seen.evidence.split)
        parts.append(
            f"those for other sizes{f' and for the last batch, {last} per core,' if last else ''} were not compiled, because this one took long"
        )
    refused: list[Verdict] = []
    findings: list[Finding] = []
    for one in others:
        last = one.program.program.endswith("-last")
        which = (
            f"the program for the last batch, {_rows(one)} rows per core" if last else "the program for an unknown batch size, as on a TPU"
        )
        found = _refused(seen, one, progress, last)
        if found is not None:
            refused.append(found[0])
            findings.append(found[1])
            parts.append(f"{which}, is rejected")
        elif one.program.error is not None:
            parts.append(f"{which}, was not lowered ({str(one.program.error).splitlines()[0][:120]})")
        elif not one.answer(progress)["ok"]:
            parts.append(f"{which}, got no verdict")
        else:
            parts.append(f"{which}, compiles too: {size(total(one.answer()))}")
    verdict.message += "; ".join(parts)
    return refused, findings


def _rows(one: Question) -> int:
    return next((parameter.shape[0] for parameter in one.program.parameters if parameter.data and parameter.shape), 0)


def _refused(seen: Any, one: Question, progress: Progress, last: bool) -> tuple[Verdict, Finding] | None:
    """What a compiler has against the program. Of one with an open axis only what it says of that counts: the rest is said of the full batch."""
    program, target = one.program, one.target.name
    if program.error is not None:
        return refusal(seen, program, "tpu", target) if last or dynamic(str(program.error)) else None
    answer = one.answer(progress, again=last)  # what an open axis needs in memory, or fails on inside, is no word on it
    if answer["ok"] or answer["kind"] != "refused" or not (last or dynamic(str(answer["message"]))):
        return None
    finding = answer_finding(seen, program, answer)
    return Verdict(program.program, "tpu", False, target, str(finding)), finding
