"""Candidates for reshapes whose sizes are those in front of a stride: the names of these sizes, divided by it."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layers import WrongCount
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, named, of
from .line import lines_at, listed, written_in

_STRIDES = ("strides", "pool_size")


@of(WrongCount)
def divided(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """The same division at each reshape of the function that uses these names."""
    node, cause = evidence.failed, fact.cause
    maker = named(evidence, cause.who) if cause is not None and cause.kind == "strided" else None
    if node is None or cause is None or maker is None:
        return
    for line, other in zip(lines_at(evidence, node.location)[:1], lines_at(evidence, maker.location)[:1], strict=False):
        strides = [found[0] for key in _STRIDES if len(found := written_in(other, maker, key)) == 1][:1]
        targets = written_in(line, node, "target_shape")
        stride, target = "".join(map(ast.unparse, strides)), targets[0] if len(targets) == 1 else None
        sizes = [
            part.id
            for part, want, have in zip(listed(target), fact.target, fact.given, strict=False)
            if isinstance(part, ast.Name) and want != have
        ]
        if not stride or not sizes:
            continue
        shapes = [argument(call, "target_shape", ["target_shape"]) for call in nodes(line.scope, ast.Call) if called(call) == node.op]
        parts = [part for shape in shapes for part in listed(shape) if isinstance(part, ast.Name) and part.id in sizes]
        at = sorted({part.lineno for part in parts})
        yield (
            f"Divide {' and '.join(dict.fromkeys(sizes))} by {stride} at {'line' if len(at) == 1 else 'lines'} {', '.join(map(str, at))}",
            [line.edit(part, f"{part.id} // {stride}") for part in parts],
            f"{maker.name} divides these sizes by {cause.stride}.",
        )
