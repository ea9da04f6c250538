"""The TPU compiler's verdict on one lowered program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..flow import Finding, Verdict
from ..replicas.targets import slice_named
from . import cache, process
from .lowering import Lowered
from .memory import by_layer, held, largest, live, node_names
from .words import answer_finding, oom, padding, size


def topology_of(target: Any) -> str:
    """libtpu's name of a target, ``"v5e:2x4"``.

    Raises:
        ValueError: for a live slice that the table does not hold.
    """
    return slice_named(target.name).topology


def answer_of(program: Lowered, target: Any, asked: process.Limits, progress: process.Progress = None) -> dict[str, Any]:
    """libtpu's raw answer; see :func:`process.ask`. ``effort`` says at which it was given.

    The least effort packs temporaries loosely: what it says does not fit is asked again in full before it is believed.
    """
    key, topology = cache.program_key(program.text), topology_of(target)
    answer = {**process.ask(program.hlo, key, topology, asked, progress, program.program, program.text), "effort": asked.effort}
    if asked.effort != "full" and not answer["ok"] and oom(str(answer["message"])):
        asked = replace(asked, effort="full")
        answer = {**process.ask(program.hlo, key, topology, asked, progress, program.program, program.text), "effort": "full"}
    return answer


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
        return Verdict(program.program, "tpu", False, target.name, finding.message, **common), [finding]
    arguments = held(program, answer["layout"])
    temporaries = live(program, arguments, answer.get("buffers"))
    layers = by_layer(arguments, temporaries, node_names(seen.evidence.flow))
    wasteful = padding(program, arguments)
    # What is updated in place is counted with the arguments already.
    total = answer["arguments"] + answer["outputs"] - answer["aliased"] + answer["temporaries"] + answer["code"]
    verdict = Verdict(
        program.program, "tpu", True, target.name, f"compiles at {effort} effort{loosely}: {size(total)} of {size(target.hbm_bytes)}", arguments=answer["arguments"],
        outputs=answer["outputs"], temporaries=answer["temporaries"], code=answer["code"], flops=answer["flops"], layers=layers,
        moved=answer["moved"], intensity=answer["flops"] / answer["moved"] if answer["moved"] > 0 < answer["flops"] else 0.0,
        buffers=largest(arguments, temporaries),
        unmapped=max(0, total - sum(layer.bytes for layer in layers)), **common,
    )  # fmt: skip
    return verdict, [wasteful] if wasteful is not None else []
