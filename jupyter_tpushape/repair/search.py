"""The search: try candidates in order, keep what holds.

Verified means: the program was traced again with the edits, on the same target, it reached every output
and loss, nothing serious was left, and no label fell outside what the output can say. What cannot be
tried is an idea, and says so.
"""

from __future__ import annotations

import time
from typing import Any

from ..examine import Examined, Program, examine
from ..flow import CannotRebuild, Edit, Effect, Finding, Fix, elements
from ..rules import run_rules
from .actions import Edits
from .candidates import Candidate, candidates
from .live import builder_of, carry_weights

MOST_SHOWN = 5
MOST_TRIED = 10
SECONDS = 4.0
_DATA_ONLY = frozenset({"data-transform", "label-transform", "batching"})


def propose(seen: Examined, findings: list[Finding]) -> None:
    """Searches fixes for the serious findings and puts them into ``finding.fixes``.

    One program, one fault at a time: the first serious finding is repaired first; where others stay, a
    second edit is looked for with the first one applied.
    """
    serious = [finding for finding in findings if finding.serious]
    deadline = time.perf_counter() + SECONDS
    for number, finding in enumerate(serious):
        if number and any(fix.verified for fix in serious[0].fixes):
            # A fix is verified only when nothing serious is left, so it repairs this one too.
            finding.fixes = [fix for fix in serious[0].fixes if fix.verified][:1]
            continue
        _search(seen, finding, deadline)


def _search(seen: Examined, finding: Finding, deadline: float) -> None:
    held: list[tuple[Candidate, Examined]] = []
    rejected: list[str] = []
    partial: list[tuple[Candidate, Examined, list[Finding]]] = []
    tried = candidates(seen.evidence, finding)[:MOST_TRIED]
    for i, candidate in enumerate(tried):
        if i and time.perf_counter() > deadline:
            seen.limits.append(f"{len(tried) - i} more fixes were not tried: the time for trying was used up")
            break
        if len(held) >= 3:
            break
        again, left, why = attempt(seen, candidate.edits)
        if again is not None and not left:
            held.append((candidate, again))
        elif again is not None and left and left[0].rule != finding.rule:
            partial.append((candidate, again, left))
            rejected.append(f"{candidate.title} ({left[0].rule} remains)")
        else:
            rejected.append(f"{candidate.title} ({why or 'does not help'})")
    if not held:
        held = _pairs(seen, partial, deadline)
    finding.fixes = [_fix(seen, candidate, again) for candidate, again in held[:MOST_SHOWN]]
    finding.rejected = tuple(rejected[:4])


def _pairs(seen: Examined, partial: list[tuple[Candidate, Examined, list[Finding]]], deadline: float) -> list[tuple[Candidate, Examined]]:
    """Two edits together, where one brings the program to another fault that a second one repairs."""
    for first, again, left in partial[:3]:
        for second in candidates(again.evidence, left[0])[:6]:
            if time.perf_counter() > deadline + SECONDS:
                return []
            edits = first.edits + tuple(edit for edit in second.edits if edit not in first.edits)
            both, rest, _ = attempt(seen, edits)
            if both is not None and not rest:
                title = f"{first.title}; {second.title[:1].lower()}{second.title[1:]}"
                return [(Candidate(title, edits, "one edit alone leaves a second fault"), both)]
    return []


def attempt(seen: Examined, edits: tuple[Edit, ...]) -> tuple[Examined | None, list[Finding], str]:
    """Traces the program again with the edits: what was seen, what serious is left, why it failed."""
    try:
        program = edited(seen, edits)
        again = examine(program)
    except CannotRebuild as error:
        return None, [], str(error)
    except Exception as error:
        return None, [], f"{type(error).__name__}: {str(error)[:80]}"
    left = [finding for finding in run_rules(again.evidence) if finding.serious]
    if again.error is not None and not left:
        return again, [], str(again.error)[:80]
    if again.error is not None:
        return again, left, f"{left[0].rule} remains"
    return again, left, ""


def edited(seen: Examined, edits: tuple[Edit, ...]) -> Program:
    """The program with edits: data is changed on its way in, the model is built again where it must be."""
    program = seen.program
    made = Edits(edits)
    if seen.model is not None and all(edit.kind in _DATA_ONLY and edit.detail.get("op") != "host-layer" for edit in edits):
        return program.with_(model=seen.model, data=_data_source(seen, edits), edits=made)
    from ..trace.adapter import adapter_for

    builder = program.model
    if adapter_for(builder) is not None:
        builder = builder_of(seen.adapter, seen.model)
    if any(edit.kind == "strategy" for edit in edits):
        from ..replicas import strategy_of

        builder = made.scoped(builder, strategy_of(seen.model, program.strategy))
    if seen.sample is not None and seen.data is not None and not any(edit.kind in _DATA_ONLY for edit in edits):
        return program.with_(model=builder, data=seen.data, sample=seen.sample, edits=made)
    return program.with_(model=builder, data=_data_source(seen, edits), edits=made)


def _data_source(seen: Examined, edits: tuple[Edit, ...] = ()) -> Any:
    """The data as it was handed over; what was drawn from a one-shot iterator is given back first."""
    if seen.data is None:
        for edit in edits:
            if edit.detail.get("op") == "source":
                return _rewritten(seen.program.data, edit)
        return seen.program.data
    for edit in edits:
        if edit.detail.get("op") == "source":
            return _rewritten(seen.program.data, edit)
    replacement = getattr(seen.sample, "replacement", None)
    return replacement if replacement is not None else seen.data


def _rewritten(function: Any, edit: Edit) -> Any:
    from .source import rewritten

    changed = rewritten(function, edit) if hasattr(function, "__code__") else None
    if changed is None:
        raise CannotRebuild("The source of the data function is not known, or shows no one place for it.")
    return changed


def _fix(seen: Examined, candidate: Candidate, again: Examined) -> Fix:
    fix = Fix(candidate.title, candidate.edits, True, _effect(seen, again), reason=candidate.reason)
    from .patch import patch_of

    fix.patch, fix.file, fix.cell = patch_of(seen, candidate.edits)
    fix.__dict__["_rebuild"] = lambda: rebuild(seen, candidate.edits)
    return fix


def rebuild(seen: Examined, edits: tuple[Edit, ...]) -> tuple[Any, Any]:
    """Fresh model and data with the edits applied."""
    from ..trace.adapter import adapter_for
    from ..trace.build import build
    from ..trace.recorder import Recorder

    program = edited(seen, edits)
    made = program.edits
    recorder = Recorder()
    recorder.edits = made
    if adapter_for(program.model) is not None:
        model = _fresh(seen, program.model)
    else:
        model, error = build(program.model, recorder)
        if error is not None:
            raise CannotRebuild(f"The program raises when it is built again: {error}") from error
        model = made.finish(seen.adapter, recorder, model)
    data = made.data(_fresh_data(seen, edits))
    if seen.model is not None and adapter_for(seen.program.model) is not None and model is not seen.model:
        carry_weights(seen.model, model)
    return model, data


def _fresh(seen: Examined, model: Any) -> Any:
    """A model of its own, so that training it does not change the user's."""
    if adapter_is_live(seen):
        made = builder_of(seen.adapter, model)()
        carry_weights(model, made)
        return made
    return seen.program.model()


def adapter_is_live(seen: Examined) -> bool:
    from ..trace.adapter import adapter_for

    return adapter_for(seen.program.model) is not None


def _fresh_data(seen: Examined, edits: tuple[Edit, ...]) -> Any:
    from ..examine import is_builder

    source = _data_source(seen, edits) if seen.data is None else seen.program.data
    return source() if is_builder(source) else _data_source(seen)


def _effect(seen: Examined, again: Examined) -> Effect:
    """Shapes before and after, and the parameters that the fix adds."""
    before = next((spec.shape for _, spec in seen.evidence.outputs), None)
    after = next((spec.shape for _, spec in again.evidence.outputs), None)
    old, new = _parameters(seen), _parameters(again)
    parts = []
    if after is not None:
        from ..flow import show_shape

        ends = "the loss" if again.evidence.y and again.evidence.losses() else "the output"
        parts.append(f"reaches {ends}; predictions {show_shape(before) + ' → ' if before and before != after else ''}{show_shape(after)}")
    if old is not None and new is not None and old != new:
        parts.append(f"{new - old:+,} parameters")
    elif new is not None and old is None:
        parts.append(f"{new:,} parameters")
    return Effect(before, after, after, (new or 0) - (old or 0) if old is not None else 0, "; ".join(parts))


def _parameters(seen: Examined) -> int | None:
    if seen.model is None:
        return None
    return sum(node.params for node in seen.evidence.flow.nodes)


__all__ = ["attempt", "elements", "propose", "rebuild"]
