"""Candidates where pictures, masks or maps are resized."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

import msgspec

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...flow.syntax import called
from ...rules.facts.branches import UnlikeBranches
from ...rules.facts.entry import CutIntoPatches
from ...rules.facts.layers import WrongWidth
from ...rules.facts.loss import GridApart
from ..text.source import nodes
from .edits import Made, configure, of
from .entry import misfits
from .labels import are_whole
from .line import Line, lines_at, lines_of, span_of


def resized_oddly(evidence: Evidence, finding: Finding) -> Made:
    """The declared size in a resize, where the model declares a square and the pipeline makes none."""
    for _, _, want, got in misfits(evidence):
        if len(want.shape) == len(got.shape) == 4 and want.shape[1] == want.shape[2] and got.shape[1] != got.shape[2]:
            yield from _resized(evidence, got.shape, want.shape, "The model declares a square.")


def resized_as_declared(evidence: Evidence, finding: Finding) -> Made:
    """The declared size in a resize."""
    for _, _, want, got in misfits(evidence):
        if len(want.shape) == len(got.shape) == 4 and None not in want.shape[1:3]:
            yield from _resized(evidence, got.shape, want.shape, "The model keeps its size.")


@of(GridApart)
def masks_resized_alike(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The size of the predictions in the resize of masks."""
    if len(fact.labels) == len(fact.predictions) == 4 and are_whole(evidence):
        yield from _resized(evidence, fact.labels, fact.predictions, "The masks then have the size of the predictions.")


@of(WrongWidth)
def colored_inside(evidence: Evidence, finding: Finding, fact: WrongWidth) -> Made:
    """Gray pictures repeated to color where the user's own function hands them to a network for color pictures."""
    if len(fact.shape) != 4 or fact.shape[-1] != 1 or fact.wanted != 3:
        return
    for line in lines_of(evidence)[:1]:
        network = line.node.func if isinstance(line.node, ast.Call) else None
        calls = [call for call in nodes(line.scope, ast.Call) if network is not None and ast.unparse(call.func) == ast.unparse(network)]
        given = [call.args[0] for call in calls if call.args]
        if given:
            yield (
                f"Repeat the gray channel 3 times before {ast.unparse(calls[0].func)} at {line.at}",
                [line.apply(item, "repeat", 3, "axis=-1") for item in given],
                "The network expects color images; the predictions and labels stay gray.",
            )


@of(CutIntoPatches)
def returned_whole(evidence: Evidence, finding: Finding, fact: CutIntoPatches) -> Made:
    """The picture, where a function of the pipeline returns the patches that it cuts it into."""
    for stage in evidence.stages:
        line = next(iter(lines_at(evidence, stage.location)), None) if stage.op == "map" else None
        for function in nodes(line.source.tree, ast.FunctionDef) if line is not None else ():
            backs = [item for item in nodes(function, ast.Return) if function.name == stage.function]
            value = backs[0].value if len(backs) == 1 else None
            given = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
            made = {target.id for item in nodes(function, ast.Assign) for target in item.targets if isinstance(target, ast.Name)}
            names = dict.fromkeys([*sorted(made), *(item.arg for item in function.args.args)])
            for name in names if isinstance(given, ast.Name) and given.id in made else ():
                assert line is not None and isinstance(given, ast.Name)
                if name != given.id:
                    yield (f"Return {name} instead of {given.id} in {function.name}", [line.edit(given, name)], "The model takes the whole image.")


def _resized(evidence: Evidence, got: Shape, wanted: Shape, why: str) -> Made:
    size = (wanted[1], wanted[2])
    for line, call in _resizes(evidence):
        written = call.args[1] if len(call.args) > 1 else line.keyword("size")
        if isinstance(written, (ast.Tuple, ast.List)) and len(written.elts) == 2:
            pairs: list[tuple[ast.expr, object]] = [(item, new) for item, old, new in zip(written.elts, got[1:3], size, strict=True) if old != new]
        else:
            pairs = [(written, size)] if written is not None else []
        if pairs:
            yield (f"Resize to {size[0]} × {size[1]} at {line.at}", [line.edit(item, str(new)) for item, new in pairs], why)


def _resizes(evidence: Evidence) -> Iterator[tuple[Line, ast.Call]]:
    for stage in evidence.stages:
        for scope in lines_at(evidence, stage.location)[:1] if stage.function else ():
            for call in nodes(scope.scope, ast.Call):
                if called(call) in ("resize", "smart_resize"):
                    place = msgspec.structs.replace(stage.location, line=call.lineno)
                    found = [line for line in lines_at(evidence, place) if line.node is not None and _same(line.node, call)]
                    yield from ((line, call) for line in found[:1])


def _same(node: ast.AST, call: ast.Call) -> bool:
    return isinstance(node, ast.expr) and span_of(node) == span_of(call)


@of(UnlikeBranches)
def exchanged_size(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """Height and width of a resize in the order of the other branch."""
    for one, other in itertools.permutations(fact.branches, 2) if len(fact.branches) == 2 else ():
        shape, wanted = (one.shape or ())[1:3], (other.shape or ())[1:3]
        node = next((item for item in evidence.flow.nodes if item.name == one.giver.name), None)
        if node is None or len(one.shape or ()) != 4 or len(set(shape)) < 2 or shape[::-1] != wanted:
            continue
        held = node.config | evidence.arguments(node.id)
        pairs = {key: wanted for key, value in held.items() if isinstance(value, (list, tuple)) and tuple(value) == shape}
        single = {key: size for key, size in zip(("height", "width"), wanted, strict=True) if (held.get("height"), held.get("width")) == shape}
        for change in (pairs, single):
            if change:
                said = ", ".join(f"{key}={value}" for key, value in change.items())
                yield f"Set {said} on {node.name}", [configure(node.name, **change)], f"{other.giver.name} has {wanted[0]} rows and {wanted[1]} columns."
