"""The search: try candidates in order, keep what holds.

Verified means: the program was traced again with the edits, on the same target, it reached every output
and loss, nothing serious was left, and no label fell outside what the output can say. What cannot be
tried is an idea, and says so.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from ..examine import Examined, Program, examine
from ..flow import CannotRebuild, Edit, Effect, Finding, Fix, elements
from ..rules import run_rules
from ..trace.assemble import clean_message
from .actions import Edits, NotThere, make_loss
from .after import after_of
from .candidates import Candidate, candidates
from .ideas import ideas
from .live import builder_of, carry_weights

MOST_SHOWN = 5
MOST_TRIED = 10
ENOUGH = 3
# Of the processor: what is shown does not depend on what else the machine does.
PATIENCE = 1.5
SECONDS = 4.0
_DATA_ONLY = frozenset({"data-transform", "label-transform", "batching"})


def propose(seen: Examined, findings: list[Finding]) -> None:
    """Searches fixes for the serious findings and puts them into ``finding.fixes``.

    One program, one fault at a time: the first serious finding is repaired first; where others stay, a
    second edit is looked for with the first one applied. A fault without a verified fix gets ideas.
    """
    serious = [finding for finding in findings if finding.serious]
    search = Search(seen)
    for number, finding in enumerate(serious):
        first = next((fix for fix in serious[0].fixes if fix.verified), None) if number else None
        if first is not None:
            # A fix is verified only when nothing serious is left, so it repairs this one too.
            finding.fixes = [first]
            continue
        search.repair(finding)
    if not any(fix.verified for finding in serious for fix in finding.fixes):
        for finding in serious:
            finding.fixes = search.ideas(finding)


def suggest(seen: Examined, findings: list[Finding]) -> None:
    """Puts ideas into the serious findings of a step, whose text is not changed for a trial."""
    for finding in findings:
        if finding.serious:
            finding.fixes = [Fix(title, reason=why) for title, why in ideas(seen.evidence, finding)][:MOST_SHOWN]


class Search:
    """One search over the faults of one program, within a time."""

    def __init__(self, seen: Examined) -> None:
        self.seen = seen
        self.start, self.worked = time.perf_counter(), time.process_time()
        self.untried: dict[int, list[tuple[Candidate, str]]] = {}
        self.told = 0.0

    def repair(self, finding: Finding) -> None:
        """Tries the candidates for a fault in their order, and then pairs."""
        held: list[tuple[Candidate, Examined]] = []
        rejected: list[str] = []
        partial: list[tuple[Candidate, Examined, list[Finding]]] = []
        tried = candidates(self.seen.evidence, finding)[:MOST_TRIED]
        for i, candidate in enumerate(tried):
            if i and self._late(SECONDS):
                self.seen.limits.append(f"{len(tried) - i} more fixes were not tried: the time for trying was used up")
                break
            # Others to choose from are worth little time: the first is the one that an expert would take.
            if len(held) >= ENOUGH or (len(held) > 1 and time.process_time() - self.worked > PATIENCE):
                break
            again, left, why = self._try(candidate)
            if again is not None and not left:
                held.append((candidate, again))
            elif why == _NO_PLACE:
                continue
            elif again is None and why.startswith(_BY_HAND):
                self.untried.setdefault(id(finding), []).append((candidate, why.removeprefix(_BY_HAND)))
            elif again is not None and not _same(left[0], finding):
                partial.append((candidate, again, left))
                rejected.append(f"{candidate.title} ({left[0].rule} remains)")
            else:
                rejected.append(f"{candidate.title} ({why or 'does not help'})")
        if not held:
            held = self._pairs(partial)
        finding.fixes = [_fix(self.seen, candidate, again) for candidate, again in held[:MOST_SHOWN]]
        finding.rejected = tuple(rejected[:4])

    def ideas(self, finding: Finding) -> list[Fix]:
        """What could not be tried, and why."""
        from .patch import patch_of

        found = []
        for candidate, why in self.untried.get(id(finding), ())[:3]:
            fix = Fix(candidate.title, candidate.edits, reason=f"not tried. {why}")
            fix.patch, fix.file, fix.cell = patch_of(self.seen, candidate.edits)
            found.append(fix)
        return [*found, *(Fix(title, reason=why) for title, why in ideas(self.seen.evidence, finding))][:MOST_SHOWN]

    def _pairs(self, partial: list[tuple[Candidate, Examined, list[Finding]]]) -> list[tuple[Candidate, Examined]]:
        """Two edits together, where one brings the program to another fault that a second one repairs."""
        for first, again, left in partial[:3]:
            for second in candidates(again.evidence, left[0])[:6]:
                if self._late(2 * SECONDS):
                    return []
                edits = first.edits + tuple(edit for edit in second.edits if edit not in first.edits)
                title = f"{first.title}; {second.title[:1].lower()}{second.title[1:]}"
                pair = Candidate(title, edits, "one edit alone leaves a second fault")
                both, rest, _ = self._try(pair)
                if both is not None and not rest:
                    return [(pair, both)]
        return []

    def _try(self, candidate: Candidate) -> tuple[Examined | None, list[Finding], str]:
        progress, now = self.seen.program.progress, time.perf_counter()
        if progress is not None and now - self.start > 1 and now - self.told > 1:
            self.told = now
            progress(f"trying fixes: {candidate.title}")
        return attempt(self.seen, candidate.edits)

    def _late(self, seconds: float) -> bool:
        return time.perf_counter() - self.start > seconds


# The shapes agree and it is only a note in a program of the user's; a fix of ours does not end in it.
_LEARNS_NOTHING = frozenset({"one-unit-softmax"})
_NO_PLACE, _BY_HAND = "there is no place for it", "by hand: "


def _same(one: Finding, other: Finding) -> bool:
    """Whether this is the fault that was to be repaired, and not another one behind it."""
    return one.rule == other.rule and (one.fact == other.fact or one.nodes == other.nodes)


def attempt(seen: Examined, edits: tuple[Edit, ...]) -> tuple[Examined | None, list[Finding], str]:
    """Traces the program again with the edits: what was seen, what serious is left, why it failed.

    Without a first part nothing holds: the edits found no place, cannot be made here, or the program still raises.
    """
    try:
        with _recompiled(seen, edits) as model:
            again = examine(edited(seen, edits) if model is None else edited(seen, tuple(e for e in edits if e.kind != "loss")))
    except NotThere:
        return None, [], _NO_PLACE
    except CannotRebuild as error:
        return None, [], f"{_BY_HAND}{error}"
    except Exception as error:
        return None, [], f"{type(error).__name__}: {clean_message(error).splitlines()[-1][:80] if str(error) else ''}"
    left = [finding for finding in run_rules(again.evidence) if finding.serious or finding.rule in _LEARNS_NOTHING]
    if again.error is not None and not left:
        return None, [], clean_message(again.error).splitlines()[-1][:80] if str(again.error) else type(again.error).__name__
    return again, left, f"{left[0].rule} remains" if left else ""


@contextlib.contextmanager
def _recompiled(seen: Examined, edits: tuple[Edit, ...]) -> Iterator[Any]:
    """The model that was built for this trace with another loss, where nothing but loss and data change: it need not be built again.

    ``None`` where it must be: the model is the user's own, or was compiled in a way that cannot be given back.
    """
    model: Any = seen.model
    adapter: Any = seen.adapter
    losses = [edit for edit in edits if edit.kind == "loss"]
    if (
        len(losses) != 1
        or adapter is None
        or id(model) not in seen.recorder.made
        or any(edit.kind not in (*_DATA_ONLY, "loss") or edit.detail.get("op") == "host-layer" for edit in edits)
        or not adapter.compiled(model)
        or adapter.overrides(model, "compile")
        or seen.evidence.facts.get("run_eagerly")
        or "metrics" in losses[0].detail
    ):
        yield None
        return
    before = adapter.compile_arguments(model)
    try:
        model.compile(**{**before, "loss": make_loss(adapter, losses[0].detail)})
        yield model
    finally:
        model.compile(**before)


def edited(seen: Examined, edits: tuple[Edit, ...]) -> Program:
    """The program with edits: data is changed on its way in, the model is built again where it must be."""
    program = seen.program
    made = Edits(edits)
    if seen.model is not None and all(edit.kind in _DATA_ONLY and edit.detail.get("op") != "host-layer" for edit in edits):
        return program.with_(model=seen.model, data=_data_source(seen, edits), edits=made)
    from ..trace.frameworks import adapter_for

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
    if changed is None and hasattr(function, "__code__"):
        raise NotThere("The data function shows no one place for it.")
    if changed is None:
        raise CannotRebuild("A pipeline that is there already cannot be put in another order: hand over the function that makes it.")
    return changed


def _fix(seen: Examined, candidate: Candidate, again: Examined) -> Fix:
    fix = Fix(candidate.title, candidate.edits, True, _effect(seen, again), reason=candidate.reason)
    from .patch import patch_of

    fix.after = after_of(seen.evidence.flow, again.evidence.flow)
    fix.patch, fix.file, fix.cell = patch_of(seen, candidate.edits)
    fix.__dict__["_rebuild"] = lambda: rebuild(seen, candidate.edits)
    return fix


def rebuild(seen: Examined, edits: tuple[Edit, ...]) -> tuple[Any, Any]:
    """Fresh model and data with the edits applied."""
    from ..trace.build import kept_counters
    from ..trace.frameworks import adapter_for

    with kept_counters(seen.counters):
        model, made = _built_again(seen, edits)
    data = made.data(_fresh_data(seen, edits))
    if seen.model is not None and adapter_for(seen.program.model) is not None and model is not seen.model:
        carry_weights(seen.model, model)
    return model, data


def _built_again(seen: Examined, edits: tuple[Edit, ...]) -> tuple[Any, Any]:
    from ..trace.build import build
    from ..trace.frameworks import adapter_for
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
    return model, made


def _fresh(seen: Examined, model: Any) -> Any:
    """A model of its own, so that training it does not change the user's."""
    if adapter_is_live(seen):
        made = builder_of(seen.adapter, model)()
        carry_weights(model, made)
        return made
    return seen.program.model()


def adapter_is_live(seen: Examined) -> bool:
    from ..trace.frameworks import adapter_for

    return adapter_for(seen.program.model) is not None


def _fresh_data(seen: Examined, edits: tuple[Edit, ...]) -> Any:
    from ..examine import is_builder

    moved = any(edit.detail.get("op") == "source" for edit in edits)
    source = _data_source(seen, edits) if seen.data is None or moved else seen.program.data
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
    """How many parameters a model has; ``None`` where it is not built, or broke before all of its layers were."""
    if seen.model is None or seen.evidence.where == "build":
        return None
    if seen.evidence.where and not getattr(seen.model, "built", False):
        return None
    with contextlib.suppress(Exception):
        return int(seen.model.count_params())
    return sum(node.params for node in seen.evidence.flow.nodes)


__all__ = ["attempt", "elements", "propose", "rebuild"]
