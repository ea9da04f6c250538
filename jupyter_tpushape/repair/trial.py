"""Tries edits: in the source text if it is known, otherwise while the live program is rebuilt."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..examine import Examined, Program, examine, is_builder, on_own_mesh
from ..flow import DATA_EDITS, CannotRebuild, Finding
from ..internal import missing
from ..rules import run_rules
from ..trace.assemble import clean_message
from ..trace.build import build, kept_counters
from ..trace.frameworks import adapter_for
from ..trace.locations import MOVED
from ..trace.reach import is_step
from ..trace.recorder import Recorder
from .edits import Edit, InsertLayer, NotThere, Rebatch, Run
from .live import builder_of, carry_weights
from .registered import entries_kept
from .rerun import Rerun, forget, origin
from .text.program import Text
from .text.source import NoPlace, Source

Proof = Literal["source", "live", ""]
# The shapes agree and it is only a note in a program of the user's; a fix of ours does not end in it.
_LEARNS_NOTHING = frozenset({"one-unit-softmax"})


@dataclass
class Trial:
    """A program with edits, and its findings.

    ``texts``: the text that ran, by file or cell; empty without source. ``left``: the serious findings that are left.
    ``failed``: why the program could not be examined, or ``""``; ``by_hand``: only because it cannot be tried here.
    ``fresh``: the lines that the edits wrote.
    """

    seen: Examined | None
    edits: tuple[Edit, ...] = ()
    left: list[Finding] = field(default_factory=list)
    proof: Proof = ""
    texts: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    failed: str = ""
    by_hand: bool = False
    absent: bool = False
    aliases: tuple[str, ...] = ()
    root: Examined | None = None
    whole: Trial | None = None
    fresh: frozenset[str] = frozenset()

    @property
    def holds(self) -> bool:
        return self.seen is not None and not self.left


def attempt(start: Trial, edits: tuple[Edit, ...]) -> Trial:
    """Tries edits on top of a program that may already have some."""
    assert start.seen is not None
    if start.proof != "live":
        try:
            return _in_text(start, edits)
        except NoPlace:
            if start.proof and start.root is not None:
                with contextlib.suppress(NoPlace):
                    # What they change has not run again, so that both are edits of the original text.
                    return _in_text(first(start.root), (*start.edits, *edits))
                with contextlib.suppress(NoPlace):
                    # What they change is there only after the first edits.
                    return _in_text(start, edits, elsewhere=True)
                return _in_whole_text(start, edits)
            if is_step(start.seen.program.model):
                # A step is its text: there is no object to build once more.
                return Trial(None, edits, failed="tpushape found no place for it in the source", absent=True)
    return _live(start, edits)


def first(seen: Examined) -> Trial:
    """The program without changes."""
    return Trial(seen)


# -- in the text


def _in_text(start: Trial, edits: tuple[Edit, ...], *, elsewhere: bool = False) -> Trial:
    """``elsewhere``: edits on top of others may be of a file that those leave alone."""
    assert start.seen is not None
    text = Text(start.seen, (edit.target for edit in edits))
    for edit in _outside_first(edits):
        try:
            edit.write(text)
        except NoPlace:
            raise
        except Exception as error:
            # An unexpected way of writing the source: there is no place for the edit, but the program is fine.
            raise NoPlace from error
    texts = {**start.texts, **{origin(file)[0]: source.text for file, source in text.sources.items() if source.changed}}
    if not texts or (start.texts and len(texts) > len(start.texts) and not elsewhere):
        raise NoPlace
    # All edits together are one change of the original program.
    root = start.root or start.seen
    made = Trial(
        None,
        (*start.edits, *edits),
        proof="source",
        root=root,
        texts=texts,
        remarks=(*start.remarks, *text.remarks),
        fresh=start.fresh | _lines(source.text for source in text.sources.values()) - _lines(source.original for source in text.sources.values()),
    )
    return _rerun(made, root)


def _rerun(made: Trial, root: Examined, *, whole: bool = False) -> Trial:
    text = changed_text(root, made.texts)
    with entries_kept(text):
        try:
            rerun = Rerun(root, text, whole=whole)
        except (NoPlace, CannotRebuild):
            raise
        except Exception as error:
            made.failed = f"{type(error).__name__}: {_last(error)}"
            return made
        made.aliases = (*made.aliases, *rerun.aliases.values())
        token = MOVED.set(rerun.moved())
        try:
            return _looked_at(made, rerun.program, root.limits)
        finally:
            MOVED.reset(token)


def _outside_first(edits: tuple[Edit, ...]) -> list[Edit]:
    behind = [edit for edit in edits if isinstance(edit, InsertLayer) and edit.position == "after"]
    last = {edit.target: [one for one in behind if one.target == edit.target] for edit in behind}
    return [last[edit.target].pop() if isinstance(edit, InsertLayer) and edit in behind else edit for edit in edits]


def _lines(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(line.strip() for text in texts for line in text.splitlines())


def _is_left(made: Trial, finding: Finding) -> bool:
    line = finding.location.text.strip() if finding.location is not None else ""
    if finding.serious or finding.rule in _LEARNS_NOTHING:
        return True
    # Where the fix feeds all rows at once, a line that it writes anew was of all rows before.
    sample = made.root.evidence.sample if made.root is not None else None
    whole = any(isinstance(edit, Rebatch) and edit.batch == getattr(sample, "rows", None) for edit in made.edits)
    return finding.rule == "fixed-batch" and line in made.fresh and not whole


def _looked_at(made: Trial, program: Any, known: list[str]) -> Trial:
    """Looks at a changed program. ``known``: what could not be looked at before the change."""
    try:
        # Warnings from a program that is only tried are not for the user.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = on_own_mesh(examine(program()))
    except NotThere:
        made.failed, made.absent = "tpushape found no place for it", True
        return made
    except CannotRebuild as error:
        made.failed, made.by_hand = str(error), True
        return made
    except NoPlace:
        raise
    except Exception as error:
        made.failed = f"{type(error).__name__}: {_last(error)}"
        return made
    if isinstance(again.error, CannotRebuild):
        made.failed, made.by_hand = str(again.error), True
        return made
    made.left = [finding for finding in run_rules(again.evidence, again.limits) if _is_left(made, finding)]
    if lost := set(missing(again.limits)) - set(missing(known)):
        made.failed = f"not checked: {min(lost)}"
        return made
    if again.error is not None and not made.left:
        made.failed = _last(again.error) or type(again.error).__name__
        return made
    made.seen = again
    return made


def _last(error: BaseException) -> str:
    return clean_message(error).splitlines()[-1][:80] if str(error) else ""


# -- on the live program


def _live(start: Trial, edits: tuple[Edit, ...]) -> Trial:
    every = (*start.edits, *edits)
    root = start.seen
    assert root is not None
    made = Trial(None, every, proof="live")
    return _looked_at(made, lambda: edited(_root(root), every), _root(root).limits)


def _root(seen: Examined) -> Examined:
    return getattr(seen.program, "root", None) or seen


def edited(seen: Examined, edits: tuple[Edit, ...]) -> Program:
    """The program with edits: data is changed as it is read, and the model is rebuilt if necessary."""
    program, run = seen.program, Run(edits)
    changed = {"edits": run, "root": seen}
    if seen.model is not None and all(edit.data_only for edit in edits):
        return program.with_(model=seen.model, data=_source(seen), **changed)
    builder = program.model
    if adapter_for(builder) is not None:
        builder = builder_of(seen.adapter, seen.model)
    if any(edit.kind == "strategy" for edit in edits):
        from ..replicas import strategy_of

        builder = run.scoped(builder, strategy_of(seen.model, program.strategy))
    # Moving a layer to the host changes model and data.
    if seen.sample is not None and seen.data is not None and not any(edit.kind in DATA_EDITS for edit in edits):
        return program.with_(model=builder, data=seen.data, sample=seen.sample, **changed)
    return program.with_(model=builder, data=_source(seen), **changed)


def _source(seen: Examined) -> Any:
    """The data as it was passed; elements drawn from a one-shot iterator are put back first."""
    if seen.data is None:
        return seen.program.data
    replacement = getattr(seen.sample, "replacement", None)
    return replacement if replacement is not None else seen.data


# -- fresh objects


def rebuild(seen: Examined, edits: tuple[Edit, ...], texts: dict[str, str]) -> tuple[Any, Any]:
    """New model and data with the edits, ready for ``fit``; from the patched text if there is one.

    Raises:
        CannotRebuild: with the reason.
    """
    if is_step(seen.program.model):
        raise CannotRebuild("A training step cannot be rebuilt: apply the patch to its source.")
    if texts:
        return _from_text(seen, texts)
    with kept_counters(seen.counters):
        model, run = _built_again(seen, edits)
    data = run.data(_fresh_data(seen))
    if seen.model is not None and adapter_for(seen.program.model) is not None and model is not seen.model:
        carry_weights(seen.model, model)
    return model, data


def _in_whole_text(start: Trial, edits: tuple[Edit, ...]) -> Trial:
    """On top of edits that did not reach what these change, a model beside changed data for one."""
    try:
        if start.whole is None:
            assert start.root is not None
            start.whole = _rerun(replace(start, seen=None), start.root, whole=True)
        if start.whole.seen is not None:
            return _in_text(start.whole, edits)
    except NoPlace:
        pass
    return Trial(None, edits, failed="tpushape found no place for it in the source", absent=True)


def changed_text(seen: Examined, texts: dict[str, str]) -> Text:
    """The program's text with whole files replaced."""
    text = Text(seen)
    for file, after in texts.items():
        source = Source.read(file)
        source.put(after)
        text.sources[file] = source
    return text


def _from_text(seen: Examined, texts: dict[str, str]) -> tuple[Any, Any]:
    text = changed_text(seen, texts)
    with entries_kept(text), kept_counters(seen.counters):
        program = Rerun(seen, text).program(fresh=True)
        model = program.model
        if adapter_for(model) is None:
            model, error = build(program.model, Recorder())
            if error is not None:
                raise CannotRebuild(f"The rebuilt program raises an error: {error}") from error
        else:
            model = _fresh(seen, model)
    if seen.model is not None and adapter_for(seen.program.model) is not None:
        with contextlib.suppress(Exception):
            carry_weights(seen.model, model)
    with entries_kept(text):
        return model, program.data() if is_builder(program.data) else program.data


def _built_again(seen: Examined, edits: tuple[Edit, ...]) -> tuple[Any, Run]:
    program = edited(seen, edits)
    run: Run = program.edits
    recorder = Recorder()
    recorder.edits = run
    if adapter_for(program.model) is not None:
        return _fresh(seen, program.model), run
    model, error = build(program.model, recorder)
    if error is not None:
        raise CannotRebuild(f"The rebuilt program raises an error: {error}") from error
    return run.finish(seen.adapter, recorder, model), run


def _fresh(seen: Examined, model: Any) -> Any:
    if adapter_for(seen.program.model) is not None:
        made = builder_of(seen.adapter, model)()
        carry_weights(model, made)
        return made
    return seen.program.model()


def _fresh_data(seen: Examined) -> Any:
    source = seen.program.data
    return source() if is_builder(source) else _source(seen)


__all__ = ["Proof", "Trial", "attempt", "first", "forget", "rebuild"]
