"""The compilers' own verdict on a replica's program: XLA's, and the real TPU compiler's, which needs no TPU.

``lowering`` makes the programs, ``process`` asks libtpu in a process of its own (``worker``, ``bridge``), ``memory`` and ``tiles`` read
its layouts, ``words`` says what comes of it. ``fit`` searches the largest batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..flow import Finding, Tried, Verdict
from ..rules.compilers import OOM, SILENT
from ..rules.facts.compilers import NotAsked
from ..rules.registry import RULES

Progress = Callable[[str], None] | None


def verdicts(
    seen: Any, compiler: str, progress: Progress = None, limits: Any = None, fixes: bool = False, batches: bool = False
) -> tuple[list[Verdict], list[Finding]]:
    """What a compiler says of the forward pass and the train step of one replica.

    Args:
        seen: an examined program. compiler: ``"xla"`` (TensorFlow alone) or ``"tpu"`` (``tpushape compiler install``).
        progress: called with a line of text when something takes more than a second. limits: time, memory and effort of a
            compilation (:class:`process.Limits`); the environment's by default. fixes: whether to try, by compiling, what makes a
            program fit that does not. batches: whether to compile other batches too, up to the largest that compiles.

    Raises:
        ValueError: where the TPU compiler is asked without a target.
    """
    from . import open_batch
    from .lowering import lowered, plans
    from .process import limits as read
    from .programs import CannotLower
    from .tpu import Question, question, verdict_of
    from .words import refusal

    target = seen.program.target
    if compiler == "tpu" and target is None:
        raise ValueError("The TPU compiler needs a target. Pass one, such as tpu='v5e-8'.")
    limits = limits or read()
    name = target.name if target is not None else ""
    if compiler == "tpu":
        from . import bridge

        wrong = bridge.check()
        if wrong:
            return [Verdict("program", compiler, False, name, wrong)], [_silent(wrong)]
    questions: list[Any] = []
    others: list[Any] = []
    said: list[Verdict] = []
    findings: list[Finding] = []
    short: dict[str, Any] = {}
    last = None
    try:
        # The compiler works on the first program while the next one is lowered.
        for plan in plans(seen):  # one by one: what raises leaves workers to be ended
            questions.append(question(seen, plan, limits) if compiler == "tpu" else Question(lowered(seen, plan), target, limits))
        for asked in questions:
            program = asked.program
            if program.error is not None:
                verdict, finding = refusal(seen, program, compiler, name)
                more = [finding]
            elif compiler == "xla":
                verdict, more = Verdict(program.program, "xla", True, name, "XLA accepts it"), []
            else:
                verdict, more = verdict_of(seen, asked, progress, said)
                last = program
            said.append(verdict)
            for finding in more:
                _merge(findings, finding)
                if finding.rule == OOM.id:
                    short = {"program": program, "finding": finding}
        if last is not None and said[-1].ok:
            # Only now: several large programs at once would want more memory than there is.
            for other in open_batch.beside(seen, plan, said[-1].seconds, limits.seconds):
                others.append(question(seen, other, limits))  # noqa: PERF401
            refused, more = open_batch.told(seen, said[-1], plan, others, progress)
            said = [*refused, *said]
            for finding in more:
                _merge(findings, finding)
    except CannotLower as error:
        return [Verdict("program", compiler, False, name, str(error))], [_silent(str(error))]
    finally:
        for asked in [*questions, *others]:
            asked.close()
    tried: list[Tried] = []
    if fixes and short:
        from .remedies import remedies

        tried = remedies(seen, **short, asked=limits, progress=progress)
    if last is not None and (tried or batches):
        findings += _batches(seen, last, said[-1], tried, limits, progress, batches)
    return said, findings


def _batches(seen: Any, program: Any, verdict: Verdict, tried: list[Tried], limits: Any, progress: Progress, search: bool) -> list[Finding]:
    from .fit import batches

    # Without a yes or no to this batch there is nothing to go on from.
    if not verdict.tried:
        return []
    ended = ""
    if search:
        more, ended = batches(seen, program, verdict.tried[0], limits, progress)
        tried = [*tried, *more]
    verdict.tried = tuple(sorted({one.rows: one for one in [*tried, *verdict.tried]}.values(), key=lambda one: one.rows))
    return [_silent(ended)] if ended else []


def _merge(findings: list[Finding], finding: Finding) -> None:
    finding.docs = finding.docs or RULES[finding.rule].page
    for i, known in enumerate(findings):
        if known.rule == finding.rule and (known.nodes == finding.nodes or finding.rule in ("tile-padding", "hbm-oom")):
            findings[i] = finding
            return
    findings.append(finding)


def _silent(message: str) -> Finding:
    finding = Finding.of(SILENT.id, "note", NotAsked(message))
    finding.docs = RULES[SILENT.id].page
    return finding
