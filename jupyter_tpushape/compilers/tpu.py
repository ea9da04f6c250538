"""The TPU compiler's verdict on one lowered program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..flow import Finding, Tried, Verdict
from ..replicas.targets import slice_named
from ..rules.words import size
from . import cache, process
from .exchange import exchange, exchanged, spoken
from .lowering import Lowered
from .memory import by_layer, held, largest, live, node_names
from .words import answer_finding, needed, oom, padding


def answer_of(
    program: Lowered, target: Any, asked: process.Limits, progress: process.Progress = None, again: bool = True
) -> dict[str, Any]:
    """libtpu's raw answer; see :func:`process.ask`. ``effort`` says at which it was given.

    The least effort packs temporaries loosely, and is less used: what it says does not fit, or fails on, is asked ``again`` in full before
    it is believed. Where that gives no answer either, ``loosely`` holds the first.
    """
    key, entry = cache.program_key(program.text), slice_named(target.name)
    form = process.Form(program.form, program.partitions, program.shardy, entry.options)

    def told(asked: process.Limits) -> dict[str, Any]:
        said = process.ask(program.hlo, key, entry.topology, asked, progress, program.program, program.text, form)
        return {**said, "effort": asked.effort}

    answer = told(asked)
    if again and asked.effort != "full" and answer["kind"] == "refused" and (oom(str(answer["message"])) or broke(answer)):
        asked = replace(asked, effort="full")
        first = answer
        answer = told(asked)
        if not answer["ok"] and not oom(str(answer["message"])) and oom(str(first["message"])):
            answer["loosely"] = first["message"]
    if broke(answer):
        answer["kind"] = "broke"
    return answer


def broke(answer: dict[str, Any]) -> bool:
    """Whether the compiler failed on a check of its own (``INTERNAL``): that is no word on the program."""
    return answer["kind"] == "refused" and str(answer["message"]).startswith("INTERNAL")


def total(answer: dict[str, Any]) -> int:
    """Bytes of the core's memory that a compiled program takes; what is updated in place is counted with the arguments already."""
    return int(answer["arguments"] + answer["outputs"] - answer["aliased"] + answer["temporaries"] + answer["code"])


def tried_of(rows: int, answer: dict[str, Any]) -> Tried | None:
    """Whether these rows fit, or ``None`` where the answer does not say."""
    if answer["ok"]:
        return Tried(rows, True, total(answer), str(answer["effort"]))
    if answer["kind"] == "refused" and oom(str(answer["message"])):
        return Tried(rows, False, int(needed(str(answer["message"]))[0]), str(answer["effort"]))
    return None


def _tried(program: Lowered, answer: dict[str, Any]) -> tuple[Tried, ...]:
    rows = next((parameter.shape[0] for parameter in program.parameters if parameter.data and parameter.shape), 0)
    one = tried_of(rows, answer) if rows else None
    return (one,) if one is not None else ()


def verdict_of(seen: Any, program: Lowered, asked: process.Limits, progress: process.Progress = None) -> tuple[Verdict, list[Finding]]:
    """libtpu's answer as a verdict, with what in it is worth a finding. Sizes in bytes."""
    target = seen.program.target
    answer = answer_of(program, target, asked, progress)
    effort = str(answer["effort"])
    loosely = ", which packs loosely" if effort == "quick" else ""
    common = {
        "seconds": 0.0 if answer.get("cached") else float(answer.get("seconds", 0.0)), "effort": effort,
        "cached": bool(answer.get("cached")), "hbm_bytes": target.hbm_bytes, "versions": str(answer.get("versions", "")),
    }  # fmt: skip
    if not answer["ok"]:
        finding = answer_finding(seen, program, answer)
        return Verdict(program.program, "tpu", False, target.name, str(finding), tried=_tried(program, answer), **common), [finding]
    arguments = held(program, answer["layout"])
    temporaries = live(program, arguments, answer.get("buffers"))
    layers = by_layer(arguments, temporaries, node_names(seen.evidence.flow))
    wasteful = padding(program, arguments)
    taken = total(answer)
    told = exchanged(program, answer.get("collectives") or [], node_names(seen.evidence.flow))
    summed = spoken(told) if program.partitions > 1 else exchange(seen, program.program)
    message = f"compiles at {effort} effort{loosely}: {size(taken)} of {size(target.hbm_bytes)}" + (f"; {summed}" if summed else "")
    verdict = Verdict(
        program.program, "tpu", True, target.name, message, arguments=answer["arguments"],
        outputs=answer["outputs"], temporaries=answer["temporaries"], code=answer["code"], flops=answer["flops"], layers=layers,
        moved=answer["moved"], intensity=answer["flops"] / answer["moved"] if answer["moved"] > 0 < answer["flops"] else 0.0,
        buffers=largest(arguments, temporaries), tried=_tried(program, answer),
        devices=program.partitions, collectives=told, unmapped=max(0, taken - sum(layer.bytes for layer in layers)), **common,
    )  # fmt: skip
    return verdict, [wasteful] if wasteful is not None else []
