"""The search for fixes: sequences of edits, where each step is chosen by the finding that is left.

Verified means: the program was run again with the edits, on the same target. It reached every output and loss, no serious finding
was left, and no label was outside the range of the output. If there is source text, the patched text is what runs. Edits that
were not tried are ideas. The result depends only on the program: trials are counted, not timed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import msgspec

from ..examine import Examined
from ..flow import Edit as Value
from ..flow import Effect, Fact, Finding, Fix
from ..rules import RULES
from ..rules.facts.layers import OperationRaised, WrongParts
from ..rules.facts.loss import StepsReduced
from ..rules.facts.mesh import StateLost, ValueAsked
from ..rules.facts.mixing import SamplesPicked
from ..rules.facts.transforms import AxisUnbound
from ..rules.words import listed
from .after import after_of, effect_of
from .candidates import Candidate, candidates
from .computed import asked_of, facts
from .edits import Edit, Expression, InputShape, RemoveLayer, edit_of
from .ideas import ideas
from .makers.line import lines_of
from .meaning import questions
from .patch import changes_of, put
from .rerun import forget, makes_no_model
from .solved import solved, written
from .text.source import NoPlace, Source
from .trial import Trial, attempt, first, rebuild

MOST_SHOWN = 5
MOST_TRIED = 10
ENOUGH = 3
DEPTH = 4
# The number of trials for a small program; a large one gets fewer, by its number of nodes.
TRIALS, NODES = 40, 4000


# How far a program gets before it raises.
_PHASES = {"data": 0, "build": 1, "call": 2, "step": 3, "loss": 3, "metric": 4, "": 5}


def _reorders(trial: Trial) -> bool:
    changed = [edit for edit in trial.edits if isinstance(edit, Expression)]
    whole = bool(changed) and len(changed) == len(trial.edits)
    # Two expressions in each other's place.
    swapped = len(changed) == 2 and (changed[0].find, changed[0].replace) == (changed[1].replace, changed[1].find)
    return whole and (swapped or all(map(_exchanges, changed)))


def _exchanges(edit: Expression) -> bool:
    # Of a text, such as the letters of an einsum, each letter is a part.
    part = r"\w" if edit.find[:1] == "'" else r"\w+"
    return (edit.statement or part == r"\w") and sorted(re.findall(part, edit.find)) == sorted(re.findall(part, edit.replace))


def propose(seen: Examined, findings: list[Finding]) -> None:
    """Searches fixes for the serious findings and stores them in ``finding.fixes``; problems found after a fix are appended to ``findings``.

    The first serious finding is repaired first. If others are left, more edits are searched on top of the first ones.
    A finding without a fix gets ideas.
    """
    serious = [finding for finding in findings if finding.serious]
    search = Search(seen, serious)
    try:
        for number, finding in enumerate(serious):
            planned = finding.fact is not None and finding.fact.planned
            whole = next((fix for fix in serious[0].fixes if fix.verified), None) if number and not planned else None
            if whole is not None:
                # It leaves no serious finding, so it repairs this one too.
                finding.fixes = [whole]
                continue
            search.repair(finding)
        for finding in serious:
            if not finding.fixes:
                finding.fixes = search.ideas(finding)
        findings += search.behind(serious)
    finally:
        search.end()


class Search:
    """One search over the findings of one program."""

    def __init__(self, seen: Examined, known: Sequence[Finding] = ()) -> None:
        self.seen, self.known = seen, known
        self.start = time.perf_counter()
        self.left = max(8, min(TRIALS, NODES // max(1, len(seen.evidence.flow.nodes))))
        self.untried: dict[int, list[tuple[Candidate, str]]] = {}
        self.asked: dict[int, list[Fix]] = {}
        self._met: list[tuple[Finding, str]] = []
        self._aliases: list[str] = []
        self._told = 0.0
        # Where each program is compiled before it is computed, the first fix is.
        self._compared = False
        # What the program does not run into as it is, and the fix of something else may leave as it was.
        self._beside: list[Fact] = []

    def end(self) -> None:
        forget(self._aliases)

    def repair(self, finding: Finding) -> None:
        """Tries the candidates for a finding in order; if a problem is left, tries further ones on top."""
        held: list[tuple[Candidate, Trial]] = []
        partial: list[tuple[Candidate, Trial]] = []
        rejected: list[str] = []
        # What only a planned distribution refuses has nothing to do with what is wrong on any device.
        facts_known = [one.fact for one in self.known if one.fact is not None]
        alone = finding.fact is not None and finding.fact.planned
        self._beside = [fact for fact in facts_known if fact.planned is not alone]
        tried = candidates(self.seen.evidence, finding)[:MOST_TRIED]
        for i, offered in enumerate(tried):
            if i and self.left <= 0:
                self.seen.limits.append(f"{len(tried) - i} more fixes were not tried because the program is large")
                break
            # More alternatives are of little use: the first one is what an expert would choose.
            if any(_reorders(trial) for _, trial in held):
                break
            if (len(held) >= ENOUGH and not held[-1][1].edits[-1].either) or (len(held) > 1 and len(self.seen.evidence.flow.nodes) > 100):
                break
            candidate, trial = self._everywhere(finding, offered, self._try(first(self.seen), offered))
            known = any(candidate.title == one.title or (trial.texts and trial.texts == other.texts) for one, other in held)
            if trial.holds and not known and not self._asks(finding, candidate, trial):
                held.append((candidate, trial))
            elif trial.holds or trial.absent or (trial.texts and any(trial.texts == other.texts for _, other in partial)):
                continue
            elif trial.by_hand:
                self.untried.setdefault(id(finding), []).append((candidate, trial.failed))
            elif trial.seen is not None and (further(trial) or not any(_same(other, finding) for other in trial.left)):
                partial.append((candidate, trial))
            else:
                rejected.append(f"{candidate.title} ({trial.failed or 'does not help'})")
        held = self._certain(finding, held)
        if getattr(finding.fact, "lost", ""):
            # Another layer would take other axes for the samples.
            partial = [pair for pair in partial if not any(edit.kind in ("insert-layer", "replace-layer") for edit in pair[1].edits)]
        reached: list[tuple[Candidate, Trial]] = []
        if not held and not alone:
            held = self._longer(finding, partial, reached)
        if not held:
            found = solved(self.seen, finding, lambda candidate: self._try(first(self.seen), candidate), self.left // 2)
            held = [pair for pair in found if not self._asks(finding, *pair)]
        if held and all(trial.proof == "live" for _, trial in held):
            held = [*written(self.seen, held, lambda candidate: self._try(first(self.seen), candidate))] or held
        steps = [] if held else self._steps(finding, partial) or self._steps(finding, reached)
        finding.fixes = [self._fix(candidate, trial) for candidate, trial in (held or steps)[:MOST_SHOWN]]
        finding.rejected = tuple([*rejected, *(f"{candidate.title} ({trial.left[0].rule} remains)" for candidate, trial in partial)][:4])

    def _everywhere(self, finding: Finding, candidate: Candidate, trial: Trial) -> tuple[Candidate, Trial]:
        """The same setting also for layers that the program creates only after it, such as those of the next block: together one edit."""
        done, after, setting = candidate, trial, _setting(candidate)
        known = {node.name for node in self.seen.evidence.flow.nodes}
        for _ in range(DEPTH - 1):
            if setting is None or after.seen is None or self.left <= 0 or not any(left.rule == finding.rule for left in after.left[:1]):
                break
            made = candidates(after.seen.evidence, after.left[0])
            later = (one for one in made if _setting(one) == setting and known.isdisjoint(edit.target for edit in one.edits))
            more = next((one for one in later if not _again(after, one)), None)
            if more is None:
                break
            after = self._try(after, more)
            targets = {edit.target for edit in after.edits}
            # In the order of the flow, as far as the program comes now.
            order = [node.name for node in after.seen.evidence.flow.nodes] if after.seen is not None else []
            names = listed(tuple(sorted(targets, key=lambda name: order.index(name) if name in order else len(order))))
            done = Candidate(f"Set {', '.join(f'{key}={value!r}' for key, value in setting.items())} on {names}", (), candidate.reason)
        return (done, after) if after.holds else (candidate, trial)

    def _asks(self, finding: Finding, candidate: Candidate, trial: Trial) -> bool:
        assert trial.seen is not None
        # A layer that the finding names as the one to leave out is not asked about again.
        left_out = isinstance(finding.fact, StepsReduced) or (
            isinstance(finding.fact, WrongParts) and all(isinstance(edit, RemoveLayer) for edit in trial.edits)
        )
        asked = [] if left_out else questions(self.seen.evidence, trial.seen.evidence, trial.edits)
        asked = asked or (self._computed(finding, trial) if trial.holds else [])
        if asked:
            self.asked.setdefault(id(finding), []).append(Fix(candidate.title, tuple(edit.value for edit in trial.edits), reason=asked[0]))
        return bool(asked)

    def _computed(self, finding: Finding, trial: Trial) -> list[str]:
        after = trial.seen
        adapter = after.adapter if after is not None else None
        if after is None or adapter is None or (adapter.backend.slow_values and self._compared):
            return []
        found = facts(after) or frozenset()
        if self.seen.evidence.where == "loss" and all(_where_it_raised(self.seen, edit) for edit in trial.edits):
            # Only what comes behind the predictions was edited.
            found = frozenset(one for one in found if one[0] != "mixed")
        # What is asked about is not shown first: the next one may be.
        self._compared = not found
        if found and self.seen.error is None:
            # Samples that mixed before mix by mistake: the program has a fault, and this may be it.
            before = facts(self.seen)
            found = frozenset(one for one in found if one[0] == "mixed" or (before is not None and one not in before))
        elif found and all(_at_raised(self.seen, edit) for edit in trial.edits):
            # What ran before the line is not of the edit's making.
            found = frozenset(one for one in found if one[0] != "constant" or not _ran(self.seen, after, one[1]))
        if isinstance(finding.fact, SamplesPicked):
            # Which units are read is what the program says already.
            found = frozenset(one for one in found if one[0] != "units")
        if isinstance(finding.fact, (ValueAsked, StateLost, AxisUnbound)):
            # The same tensor is only no longer converted to a number, sent around or kept elsewhere: what it mixes, it mixed before.
            found = frozenset(one for one in found if one[0] != "mixed")
        return [*map(asked_of, sorted(found))]

    def _certain(self, finding: Finding, held: list[tuple[Candidate, Trial]]) -> list[tuple[Candidate, Trial]]:
        chosen: dict[object, list[tuple[Candidate, Trial]]] = {}
        for pair in held:
            if pair[1].edits[-1].either:
                chosen.setdefault(pair[1].edits[-1].either, []).append(pair)
        open_ones = [pair for pairs in chosen.values() if len(pairs) > 1 for pair in pairs]
        for candidate, trial in open_ones:
            why = f"Which {trial.edits[-1].either[-1]} did you mean? Others run too, but compute something different."
            self.asked.setdefault(id(finding), []).append(
                Fix(candidate.title, candidate.edits, reason=why, patch=self._snippet(tuple(map(edit_of, candidate.edits))))
            )
        return [pair for pair in held if all(pair is not other for other in open_ones)]

    def _longer(self, finding: Finding, partial: list[tuple[Candidate, Trial]], reached: list[tuple[Candidate, Trial]]) -> list[tuple[Candidate, Trial]]:
        """Several edits together, where each brings the program to another fault that the next one repairs; the shortest first.

        ``reached`` gets those that came further, and not to the end.
        """
        # What a backend refuses in the code is not of the edit's making: an edit that leaves nothing else repairs the shapes.
        shapes = {id(trial): not all(RULES[left.rule].backend for left in trial.left) for _, trial in partial}
        # Edits that break what ran before come last.
        partial = sorted(partial, key=lambda pair: (shapes[id(pair[1])], pair[1].seen is not None and _ran_before(self.seen, pair[1].seen)))
        frontier = partial[: max(3, len(partial) - sum(shapes.values()))]
        for _ in range(DEPTH - 1):
            further_on: list[tuple[Candidate, Trial]] = []
            for done, trial in frontier:
                assert trial.seen is not None
                fault = trial.left[0]
                elsewhere = isinstance(trial.edits[-1], Expression) and _same_line(self.seen, trial.seen)
                if elsewhere or (len(trial.edits) > 1 and _ran_before(self.seen, trial.seen)):
                    continue  # the same place fails in another way, or one that did not
                for candidate in candidates(trial.seen.evidence, fault)[:6]:
                    if self.left <= 0:
                        return []
                    if _again(trial, candidate) or _made_up(finding, trial, candidate):
                        continue
                    again = self._try(trial, candidate)
                    both = Candidate(
                        f"{done.title}; {candidate.title[:1].lower()}{candidate.title[1:]}", (), f"One edit alone leaves a second problem: {fault.message}"
                    )
                    if again.holds:
                        # The first edit may only have shown where the fault is: then the second one is the fix.
                        one = _unpatched(candidate, trial.seen)
                        alone = self._try(first(self.seen), one)
                        if alone.holds:
                            # Where that one is asked about, so is the pair: the first edit adds nothing but its own change.
                            if self._asks(finding, one, alone):
                                continue
                            return [(one, alone)]
                        if not self._asks(finding, both, again):
                            return [(both, again)]
                    if (
                        again.seen is not None
                        and again.left
                        and len(further_on) < 3
                        and (further(again) or not any(_same(other, fault) for other in again.left))
                    ):
                        further_on.append((both, again))
            frontier = further_on
            reached += further_on
        return []

    def _steps(self, finding: Finding, partial: list[tuple[Candidate, Trial]]) -> list[tuple[Candidate, Trial]]:
        """Edits that repair only this finding: offered as a first step, with what comes next.

        Only if the program gets further, or if what is left was there before: an edit after which the same place
        fails in another way is not an improvement.
        """
        known = [other for other in self.known if other is not finding]

        def before(trial: Trial) -> bool:
            # An edit may number the nodes anew.
            return all(any(one.rule == left.rule and (one.nodes == left.nodes or (one.fact == left.fact is not None)) for one in known) for left in trial.left)

        steps = [
            (candidate, trial)
            for candidate, trial in partial
            if trial.seen is not None
            and any(left.serious for left in trial.left)  # where only a note is left, there is no next step
            and not _same_line(self.seen, trial.seen)
            and (_PHASES[trial.seen.evidence.where] > _PHASES[self.seen.evidence.where] or _later_line(self.seen, trial) or before(trial))
            and not self._asks(finding, candidate, trial)
        ]
        steps = sorted(steps, key=lambda one: not before(one[1]))[:ENOUGH]  # first what brings no new problem
        for candidate, trial in steps:
            self._met += [(met, candidate.title) for met in trial.left]
        return steps

    def behind(self, known: list[Finding]) -> list[Finding]:
        """The problems found after a fix, as separate findings."""
        found: list[Finding] = []
        for finding, title in self._met:
            if finding.serious and not any(other.rule == finding.rule for other in (*known, *found)):
                # Its nodes belong to the program with the fix.
                finding.nodes, finding.edges, finding.location, finding.behind = (), (), None, title
                found.append(finding)
        return found

    def ideas(self, finding: Finding) -> list[Fix]:
        """Fixes that could not be tried, with the reason."""
        found = [
            Fix(candidate.title, candidate.edits, reason=f"Not tried: {why}", patch=self._snippet(tuple(map(edit_of, candidate.edits))))
            for candidate, why in self.untried.get(id(finding), ())[:3]
        ]
        return [*self.asked.get(id(finding), ())[:2], *found, *(Fix(title, reason=why) for title, why in ideas(self.seen.evidence, finding))][:MOST_SHOWN]

    def _try(self, start: Trial, candidate: Candidate) -> Trial:
        self.left -= 1
        progress, now = self.seen.program.progress, time.perf_counter()
        if progress is not None and now - self.start > 1 and now - self._told > 1:
            self._told = now
            progress(f"Trying fixes: {candidate.title}")
        trial = attempt(start, tuple(edit_of(value) for value in candidate.edits))
        self._aliases += trial.aliases
        beside = [left for left in trial.left if left.fact in self._beside] if trial.seen is not None and trial.seen.error is None else []
        if beside:
            trial.left = [left for left in trial.left if left not in beside]
            trial.remarks = (*dict.fromkeys((*trial.remarks, *(f"It leaves another finding as it is: {left}" for left in beside))),)
        return trial

    def _fix(self, candidate: Candidate, trial: Trial) -> Fix:
        assert trial.seen is not None
        values = tuple(edit.value for edit in trial.edits)
        reason = " ".join(filter(None, [candidate.reason, *dict.fromkeys(trial.remarks)]))
        fix = Fix(candidate.title, values, trial.holds, reason=reason, proof=trial.proof, mends=True)
        fix.then = tuple(finding.rule for finding in trial.left)
        if makes_no_model(trial.seen.program):
            fix.effect = Effect(text="the cell runs to its end")
        else:
            fix.effect = effect_of(self.seen, trial.seen)
            fix.after = after_of(self.seen.evidence.flow, trial.seen.evidence.flow)
        try:
            put(fix, changes_of(trial.texts))
        except NoPlace:
            fix.patch = self._snippet(trial.edits)
        seen, edits, texts = self.seen, trial.edits, trial.texts
        fix.__dict__["_rebuild"] = lambda: rebuild(seen, edits, texts)
        return fix

    def _snippet(self, edits: tuple[Edit, ...]) -> str:
        return snippet(self.seen, edits)


def put_into_source(seen: Examined, fix: Fix) -> Fix:
    """A fix that was found in another way, such as by compiling, with its source text if that runs."""
    edits = tuple(map(edit_of, fix.edits))
    trial = attempt(first(seen), edits)
    forget(trial.aliases)
    texts = trial.texts if trial.holds else {}
    if getattr(seen.sample, "kind", "") != "specs":
        # The data is given as specs only: there is no source to patch.
        fix.patch = snippet(seen, edits)
        if texts:
            put(fix, changes_of(texts))
            fix.proof = "source"
    fix.__dict__["_rebuild"] = lambda: rebuild(seen, edits, texts)
    return fix


def snippet(seen: Examined, edits: tuple[Edit, ...]) -> str:
    """The lines to add by hand if no source is known."""
    dataset = getattr(seen.sample, "kind", "") == "dataset"
    return "\n".join(line for edit in edits for line in edit.shown(dataset))


def _unpatched(candidate: Candidate, seen: Examined) -> Candidate:
    """The same edits of the user's text, where they are of a text that has other edits in it."""
    files = {alias: file for file, alias in seen.program.aliases.items()}
    places = [(one, files.get(str(one.detail.get("file")))) for one in candidate.edits]
    edits = (msgspec.structs.replace(one, detail={**one.detail, "file": file}) if file else one for one, file in places)
    return Candidate(candidate.title, tuple(edits), candidate.reason)


def _setting(candidate: Candidate) -> dict[str, object] | None:
    """What a candidate sets, if it only sets arguments of layers, and the same ones to the same words everywhere: a size is one layer's own."""
    given: list[dict[str, object]] = [edit.detail["config"] for edit in candidate.edits if edit.kind == "layer-config"]
    alike = bool(given) and len(given) == len(candidate.edits) and all(one == given[0] for one in given)
    return given[0] if alike and all(isinstance(value, (str, bool)) for value in given[0].values()) else None


def _again(trial: Trial, candidate: Candidate) -> bool:
    """Whether the candidate adds layers where layers were added before, or at another branch of the same merge, or sets an argument that was set.

    Undoing an edit repairs nothing, nor does a trained head behind a trained projection.
    """
    lines = {node.name: node.called for node in trial.seen.evidence.flow.nodes} if trial.seen is not None else {}

    def place(value: Value) -> tuple[object, ...]:
        line = lines.get(value.target) if value.detail.get("input") is not None else None
        return (line,) if line is not None else (value.target, value.detail.get("input"))

    def settings(value: Value) -> set[tuple[str, str]]:
        return {(value.target, key) for key in value.detail.get("config", ())} if value.kind == "layer-config" else set()

    places = {place(edit.value) for edit in trial.edits if edit.kind == "insert-layer"}
    before = set().union(*(settings(edit.value) for edit in trial.edits))
    trained = any(_trained(edit.value) for edit in trial.edits)
    return any(
        (value.kind == "insert-layer" and place(value) in places)
        or settings(value) & before
        or (trained and _trained(value) and value.detail.get("position") == "after")
        for value in candidate.edits
    )


def _made_up(finding: Finding, trial: Trial, candidate: Candidate) -> bool:
    """Whether a trained layer is to make up for several edits of the user's own code: what it would repair, they broke.

    Or any edit for one sample that is declared as it is, where the model takes several together.
    """
    if sum(isinstance(edit, Expression) for edit in trial.edits) > 1 and any(map(_trained, candidate.edits)):
        return True
    # A new size is to fit an axis of size 1 that an edit put in.
    if candidate.edits[0].kind == "layer-config" and _axis_put_in(finding.fact, trial.left[0].fact):
        return True
    return getattr(finding.fact, "together", None) is not None and any(isinstance(edit, InputShape) for edit in trial.edits)


def _axis_put_in(before: Fact | None, after: Fact | None) -> bool:
    if not isinstance(before, OperationRaised) or not isinstance(after, OperationRaised):
        return False
    grown = [shape[:i] + shape[i + 1 :] for shape in after.shapes if shape is not None for i, size in enumerate(shape) if size == 1]
    return any(shape in grown for shape in before.shapes)


def _trained(value: Value) -> bool:
    return value.kind == "insert-layer" and str(value.detail.get("layer", "")).startswith(("Dense", "Conv"))


def _same_line(before: Examined, after: Examined) -> bool:
    one, other = before.evidence.raised, after.evidence.raised
    return one is not None and other is not None and (one.text, one.function) == (other.text, other.function)


def _ran_before(before: Examined, after: Examined) -> bool:
    failed = after.evidence.failed
    if failed is not None and failed.kind == "layer":
        return any((node.name, node.op, node.status) == (failed.name, failed.op, "ok") for node in before.evidence.flow.nodes)
    if failed is None or failed.kind != "op" or failed.called is None or not failed.called.text:
        return False
    return any(
        node.status == "ok" and node.op == failed.op and node.called is not None and node.called.text == failed.called.text
        for node in before.evidence.flow.nodes
    )


def _where_it_raised(seen: Examined, edit: Edit) -> bool:
    line = next(iter(lines_of(seen.evidence)), None)
    if line is None or not isinstance(edit, Expression) or edit.file != line.raised.file:
        return False
    first, last = (getattr(line.scope, name, 0) for name in ("lineno", "end_lineno"))
    return bool(edit.span) and first <= edit.span[0] <= last


def _at_raised(seen: Examined, edit: Edit) -> bool:
    return isinstance(edit, Expression) and _where_it_raised(seen, edit) and edit.span[0] == getattr(seen.evidence.raised, "line", 0)


def _ran(before: Examined, after: Examined, name: str) -> bool:
    ran = sum(node.status == "ok" for node in before.evidence.flow.nodes if node.name == name)
    return bool(ran) and ran == sum(node.name == name for node in after.evidence.flow.nodes)


def _later_line(before: Examined, trial: Trial) -> bool:
    """Whether the program comes to a later line of the same function, lines that the edits add not counted."""
    one, other = before.evidence.raised, trial.seen.evidence.raised if trial.seen is not None else None
    if one is None or other is None or one.function != other.function or not trial.texts:
        return False
    try:
        added = sum(text.count("\n") - Source.read(file).text.count("\n") for file, text in trial.texts.items())
    except NoPlace:
        return False
    return one.line + max(added, 0) < other.line


def further(trial: Trial) -> bool:
    """Whether a different expression in the user's code raises than the one that was rewritten."""
    assert trial.seen is not None
    raised, last = trial.seen.evidence.raised, trial.edits[-1]
    return raised is not None and isinstance(last, Expression) and not any(text in raised.text for text in last.written())


def _same(one: Finding, other: Finding) -> bool:
    paths = [getattr(finding.fact, "path", None) for finding in (one, other)]
    return one.rule == other.rule and (one.fact == other.fact or (one.nodes == other.nodes and paths[0] == paths[1]))
