"""The TPU compiler's verdict on one lowered program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from ..flow import Finding, Tried, Verdict
from ..replicas.targets import slice_named
from ..rules.words import size
from . import made, process
from .exchange import exchange, exchanged, spoken
from .lowering import lowered
from .memory import by_layer, held, largest, live, node_names
from .programs import Lowered, Plan
from .words import answer_finding, needed, oom, padding


@dataclass
class Question:
    """A program whose answer is known, or is being made; :meth:`answer` waits for it. ``made``: the key under which it is kept."""

    program: Lowered
    target: Any
    asked: process.Limits
    asking: process.Asking | None = None
    known: dict[str, Any] | None = None
    made: str = ""

    def answer(self, progress: process.Progress = None, again: bool = True) -> dict[str, Any]:
        """libtpu's raw answer; see :func:`process.ask`. ``effort`` says at which it was given.

        The least effort packs temporaries loosely, and is less used: what it says does not fit, or fails on, is asked ``again`` in full before
        it is believed. Where that gives no answer either, ``loosely`` holds the first.
        """
        if self.known is not None:
            return self.known
        assert self.asking is not None
        answer = {**self.asking.answer(progress, self.program.program), "effort": self.asked.effort}
        if again and self.asked.effort != "full" and answer["kind"] == "refused" and (oom(str(answer["message"])) or broke(answer)):
            first, full = answer, replace(self.asked, effort="full")
            with closing(_asking(self.program, self.target, full)) as asking:
                answer = {**asking.answer(progress, self.program.program), "effort": "full"}
            if not answer["ok"] and not oom(str(answer["message"])) and oom(str(first["message"])):
                answer["loosely"] = first["message"]
        if broke(answer):
            answer["kind"] = "broke"
        made.write(self.made, self.program, answer)
        self.known = answer
        return answer

    def close(self) -> None:
        """Ends a worker that nobody waited for."""
        if self.asking is not None:
            self.asking.close()


def _asking(program: Lowered, target: Any, asked: process.Limits) -> process.Asking:
    entry = slice_named(target.name)
    form = process.Form(program.form, program.partitions, program.replicas, program.shardy, entry.options)
    return process.Asking(program.hlo, program.read.key, entry.topology, asked, program.read.names, form)


def question(seen: Any, plan: Plan, asked: process.Limits) -> Question:
    """Starts compiling a program in the background. A program whose result is in the cache is not lowered.

    Raises:
        CannotLower: see :func:`lowering.lowered`.
    """
    target = seen.program.target
    entry = slice_named(target.name)
    key = made.key(seen, plan, json.dumps([entry.topology, entry.options, asked.effort], sort_keys=True))
    kept = made.read(key) if key else None
    if kept is not None:
        program, answer = kept
        program.program = plan.label
        return Question(program, target, asked, known=answer)
    program = lowered(seen, plan)
    program.program = plan.label
    if program.error is not None:
        return Question(program, target, asked)
    return Question(program, target, asked, _asking(program, target, asked), made=key)


def answer_of(program: Lowered, target: Any, asked: process.Limits) -> dict[str, Any]:
    """The answer to a program that is lowered already, asked once; see :meth:`Question.answer`."""
    with closing(_asking(program, target, asked)) as asking:
        return Question(program, target, asked, asking).answer(None, again=False)


def broke(answer: dict[str, Any]) -> bool:
    """Whether the compiler failed on a check of its own (``INTERNAL``): that is no word on the program."""
    return answer["kind"] == "refused" and str(answer["message"]).startswith("INTERNAL")


def total(answer: dict[str, Any]) -> int:
    """Bytes of the core's memory that a compiled program takes; what is updated in place is counted with the arguments already."""
    return int(answer["arguments"] + answer["outputs"] - answer["aliased"] + answer["temporaries"] + answer["code"])


def run_needs(program: Lowered, answer: dict[str, Any], available: int, code: int = 0) -> Beyond:
    """What a run keeps beside a program that compiled. ``code``: of other programs."""
    data = sum(argument.laid.bytes for argument in held(program, answer["layout"]) if argument.data)
    return beyond(data, available, code)


def tried_of(rows: int, answer: dict[str, Any], program: Lowered, target: Any) -> Tried | None:
    """Whether these rows compile within the memory."""
    if answer["ok"]:
        taken = total(answer)
        more = run_needs(program, answer, slice_named(target.name).available_bytes)
        return Tried(rows, True, taken, str(answer["effort"]), taken + more.bytes)
    if answer["kind"] == "refused" and oom(str(answer["message"])):
        return Tried(rows, False, int(needed(str(answer["message"]))[0]), str(answer["effort"]))
    return None


def _tried(program: Lowered, answer: dict[str, Any], target: Any) -> tuple[Tried, ...]:
    rows = next((parameter.shape[0] for parameter in program.parameters if parameter.data and parameter.shape), 0)
    one = tried_of(rows, answer, program, target) if rows else None
    return (one,) if one is not None else ()


def verdict_of(seen: Any, asked: Question, progress: process.Progress, beside: Sequence[Verdict]) -> tuple[Verdict, list[Finding]]:
    """libtpu's answer as a verdict, with what in it is worth a finding. Sizes in bytes. ``beside``: other programs of the same run."""
    target, program = asked.target, asked.program
    answer, available = asked.answer(progress), slice_named(target.name).available_bytes
    effort = str(answer["effort"])
    loosely = ", which packs loosely" if effort == "quick" else ""
    common: dict[str, Any] = {
        "seconds": 0.0 if answer.get("cached") else float(answer.get("seconds", 0.0)), "effort": effort,
        "cached": bool(answer.get("cached")), "hbm_bytes": available, "versions": str(answer.get("versions", "")),
    }  # fmt: skip
    if not answer["ok"]:
        finding = answer_finding(seen, program, answer)
        return Verdict(program.program, "tpu", False, target.name, str(finding), tried=_tried(program, answer, target), **common), [finding]
    arguments = held(program, answer["layout"])
    temporaries = live(program, arguments, answer.get("buffers"))
    layers = by_layer(arguments, temporaries, node_names(seen.evidence.flow))
    wasteful = padding(program, arguments)
    taken = total(answer)
    told = exchanged(program, answer.get("collectives") or [], node_names(seen.evidence.flow))
    devices = program.partitions * program.replicas
    summed = spoken(told, target.generation if program.replicas > 1 else "") if devices > 1 else exchange(seen, program)
    more = run_needs(program, answer, available, sum(verdict.code for verdict in beside))
    short = ", which is more than the memory left" if taken + more.bytes > available else ""
    message = f"compiles within {size(available)} at {effort} effort{loosely}: {size(taken)}; a run needs {more}{short}"
    message += f"; {summed}" if summed else ""
    verdict = Verdict(
        program.program, "tpu", True, target.name, message, arguments=answer["arguments"],
        outputs=answer["outputs"], temporaries=answer["temporaries"], code=answer["code"], flops=answer["flops"], layers=layers,
        moved=answer["moved"], intensity=answer["flops"] / answer["moved"] if answer["moved"] > 0 < answer["flops"] else 0.0,
        buffers=largest(arguments, temporaries), tried=_tried(program, answer, target),
        devices=devices, collectives=told, unmapped=max(0, taken - sum(layer.bytes for layer in layers)), **common,
    )  # fmt: skip
    return verdict, [wasteful] if wasteful is not None else []


# tf.data copies a batch to a device while another waits there (MultiDeviceIterator's prefetch of one).
BATCHES = 2
# Temporaries want one piece of memory ("Attempting to reserve 6.48G at the bottom of memory"): room for gaps. Our choice, not a measurement.
GAPS = 0.04


@dataclass(frozen=True)
class Beyond:
    """Bytes of batches that wait on the device, of the other programs' code (evaluation beside training), and room for gaps."""

    batches: int
    code: int
    gaps: int

    @property
    def bytes(self) -> int:
        return self.batches + self.code + self.gaps

    def __str__(self) -> str:
        code = f", {size(self.code)} for the code of other programs" if self.code else ""
        return f"an estimated {size(self.bytes)} more ({size(self.batches)} for prefetched batches{code}, {size(self.gaps)} for fragmentation)"


def beyond(data: int, available: int, code: int = 0) -> Beyond:
    """Of a program whose data takes so many bytes of a device that has ``available``."""
    return Beyond(BATCHES * data, code, int(GAPS * available))
