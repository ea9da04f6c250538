"""Faults that the first one hides: the program is examined again as if the failed layer had received what it expects.

Only if that is known for every axis (a merge, a weight, the model's input), and only faults at the loss are reported: a second merge of
the same odd size is the same fault.
"""

from __future__ import annotations

from dataclasses import replace

from ..examine import examine
from ..examine.program import Examined
from ..examine.sampling import from_declared
from ..flow import Fact, Finding, Shape
from ..trace.assume import Assume
from .facts.branches import UnlikeBranches
from .facts.entry import CutIntoPatches, Misfit
from .facts.held import Behind
from .facts.layers import WrongWidth
from .registry import run_rules


def behind(seen: Examined, findings: list[Finding]) -> list[Finding]:
    """The serious findings at the loss that the first fault hides."""
    first = next((one for one in findings if one.serious), None)
    if first is None or first.fact is None or _mended(first) or seen.adapter is None or not seen.adapter.backend.open_axes:
        return []
    known = {one.rule for one in findings}
    again, mended = _again(seen, first.fact)
    if again is None or again.evidence.where not in ("", "loss", "metric"):
        return []
    nodes = {node.id for node in again.evidence.flow.nodes if node.kind in ("loss", "metric")}
    at_loss = {edge.source for edge in again.evidence.flow.edges if edge.target in nodes} | nodes
    found = [one for one in run_rules(again.evidence) if one.serious and one.rule not in known and set(one.nodes) & at_loss and one.fact is not None]
    return [Finding.of(one.rule, one.severity, Behind(mended, one.fact), (), location=one.location) for one in found[:1] if one.fact is not None]


def _mended(first: Finding) -> bool:
    """Whether a verified fix resolves only this fault; a fix that also changes the loss or the labels resolves a second one."""
    return any(fix.verified and not any(edit.kind in ("loss", "label-transform") for edit in fix.edits) for fix in first.fixes)


def _again(seen: Examined, fact: Fact) -> tuple[Examined | None, str]:
    program, evidence = seen.program, seen.evidence
    if isinstance(fact, (Misfit, CutIntoPatches)) and seen.model is not None and seen.adapter is not None and seen.sample is not None:
        doors = seen.adapter.doors(seen.model)
        if not doors or not evidence.feeds:
            return None, ""
        # The batch of all replicas, as the labels are.
        rows = seen.sample.batch or next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
        declared = from_declared(seen.adapter, seen.model, doors, rows)
        sample = replace(seen.sample, x=declared.x, stats={}, sampled=[])
        return examine(program.with_(model=seen.model, data=seen.data, sample=sample)), "the model's input"
    if evidence.where != "build" or not callable(program.model):
        return None, ""
    shapes: tuple[tuple[int, Shape], ...] = ()
    if isinstance(fact, UnlikeBranches) and fact.axis in (None, -1):
        shapes = tuple(_alike(fact))
    elif isinstance(fact, WrongWidth):
        shapes = ((0, (*fact.shape[:-1], fact.wanted)),)
    else:
        return None, ""
    if not shapes:
        return None, ""
    return examine(program.with_(assume=Assume(fact.layer.name, shapes))), fact.layer.name


def _alike(fact: UnlikeBranches) -> list[tuple[int, Shape]]:
    model = fact.two[0].shape
    if not model:
        return []
    found = []
    for place, branch in enumerate(fact.branches):
        shape = branch.shape
        if not shape or shape == model:
            continue
        last = shape[-1] if fact.axis is not None else model[-1]
        if (*model[:-1], last) != shape:
            found.append((place, (*model[:-1], last)))
    return found
