"""Sizes that the pipeline leaves unknown: the programs that a TPU compiles for them besides the one for the sizes of a full batch.

The last batch has fewer rows. A TPU does not know an unknown size when it compiles: it compiles for an upper bound (XLA's bounded
dynamism), which has errors of its own. Both are built only for the last program, the train step if there is one: it includes the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..flow import Finding, Verdict
from ..rules.words import count, listed, size
from ..trace.assemble import clean_message
from ..trace.ran import Leaf, leaves
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


def open_axes(seen: Any, plan: Plan) -> list[tuple[int, int]]:
    """Axes of the data besides the batch's whose sizes the pipeline leaves unknown, as ``(place of the leaf in the plan, axis)``."""
    declared: dict[Any, Leaf] = {}
    for role in ("x", "y", "weight"):
        _, found = leaves(getattr(seen.sample, role), lambda leaf: leaf.shape, role)
        declared |= {leaf.path: leaf for leaf in found}
    return [
        (place, axis)
        for place, leaf in enumerate(plan.leaves)
        for axis, n in enumerate((declared[leaf.path].spec.shape or ()) if leaf.path in declared else ())
        if axis and n is None
    ]


def beside(seen: Any, plan: Plan, took: float, limit: float) -> Iterator[Plan]:
    """The programs beside ``plan``, that of a full batch, unless that one ``took`` more than half of the seconds that a compilation may take."""
    rows, axes = is_open(seen), open_axes(seen, plan)
    if not (rows or axes) or not seen.adapter.backend.replicated or 2 * took > limit:
        return
    last = rows_of_last(seen.evidence.split) if rows else 0
    if last:
        yield replace(plans(seen, rows=last, only=plan.name)[0], rows="last")
    # The batch is of one size in all tensors.
    batch = tuple((place, 0) for place, leaf in enumerate(plan.leaves) if leaf.spec.shape)
    sizes = ((batch,) if rows else ()) + tuple((one,) for one in axes)
    yield replace(plan, rows="axes" if axes else "open", sizes=sizes)


def told(seen: Any, verdict: Verdict, plan: Plan, others: list[Question], progress: Progress = None) -> tuple[list[Verdict], list[Finding]]:
    """Says in the ``verdict`` which sizes and programs were compiled; a refusal is a verdict and a finding of its own."""
    rows, axes = is_open(seen), open_axes(seen, plan)
    parts = _sizes(seen, plan, rows, axes)
    if not parts:
        return [], []
    if not others and seen.adapter.backend.replicated:
        last = rows_of_last(seen.evidence.split) if rows else 0
        parts.append(f"those for other sizes{f' and for the last batch, {last} per core,' if last else ''} were not compiled, because this one took long")
    refused: list[Verdict] = []
    findings: list[Finding] = []
    for one in others:
        last_one = one.program.program.endswith("-last")
        which = f"the program for the last batch, {_of_last(seen, one)}" if last_one else f"the program for {_unknown(axes)}, as on a TPU"
        found = _refused(seen, one, progress, last_one)
        if found is not None:
            refused.append(found[0])
            findings.append(found[1])
            parts.append(f"{which}, is rejected")
        elif one.program.error is not None:
            parts.append(f"{which}, cannot be traced ({clean_message(one.program.error).splitlines()[0][:120]})")
        elif not one.answer(progress)["ok"]:
            parts.append(f"{which}, got no verdict{' (the compiler crashed)' if one.answer()['kind'] == 'crash' else ''}")
        else:
            parts.append(f"{which}, compiles too: {size(total(one.answer()))}")
    verdict.message += "".join(f"; {part}" for part in parts)
    return refused, findings


def _sizes(seen: Any, plan: Plan, rows: bool, axes: list[tuple[int, int]]) -> list[str]:
    found = []
    if rows:
        found.append(f"the batch size is unknown: this is the program for {max(seen.evidence.split.full)} rows per core")
    if axes:
        names = tuple(f"axis {axis} of {plan.leaves[place].name}" for place, axis in axes)
        held = tuple(str((plan.leaves[place].spec.shape or ())[axis]) for place, axis in axes)
        one = len(axes) == 1
        found.append(f"the size{'' if one else 's'} of {listed(names)} {'is' if one else 'are'} unknown: this is the program for {listed(held)}")
    return found


def _unknown(axes: list[tuple[int, int]]) -> str:
    return "unknown sizes" if axes else "an unknown batch size"


def _of_last(seen: Any, one: Question) -> str:
    there, padded = max(seen.evidence.split.last), _rows(one)
    return f"{count(there, 'row')} per core{f' that a TPU pads to {padded}' if there < padded else ''}"


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
