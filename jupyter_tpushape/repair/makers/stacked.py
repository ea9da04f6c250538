"""Candidates for vectors that are stacked along an axis of their own, or joined in one row."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ...rules.words import STACKS
from ..edits.expression import MODULE
from ..text.source import nodes
from .edits import Made, of, received
from .line import calls_at, lines_at, lines_of
from .operands import JOINS
from .sliced import last_slices


def one_axis_each(evidence: Evidence, finding: Finding) -> Made:
    """Vectors stacked in place of joined, where what they meet has one row for each of them."""
    edges = received(evidence)
    for mine, other in ((edges[0], edges[1]), (edges[1], edges[0])) if len(edges) == 2 else ():
        node, rows = evidence.flow.node(mine.source), other.spec.shape or ()
        parts = [edge.spec.shape for edge in evidence.flow.into(node.id)]
        if len(parts) < 2 or len(set(parts)) > 1 or not parts[0] or len(parts[0]) != 2 or rows[-2:] != (len(parts), parts[0][1]):
            continue
        if (mine.spec.shape or (0,))[-1] != len(parts) * (parts[0][1] or 0):
            continue
        for line in lines_at(evidence, node.called or node.location):
            call = line.node
            if isinstance(call, ast.Call) and len(call.args) > 0 and called(call) in JOINS:
                yield (
                    f"Stack the {len(parts)} vectors along a new axis at line {call.lineno}",
                    [line.edit(call, f"{MODULE}.stack({line.source.of(call.args[0])}, axis=1)", line.module())],
                    f"{evidence.flow.node(other.source).name} has one row for each of them.",
                )


def stacked_parts(evidence: Evidence, finding: Finding) -> Made:
    """Vectors stacked along an axis of their own, where the loss takes one after the other from that axis and a concatenation left none."""
    for line in lines_of(evidence)[:1] if evidence.where == "loss" else ():
        taken = [(ast.unparse(item.value), item.slice.elts[1].value) for item in nodes(line.scope, ast.Subscript) if _column(item)]
        for node in evidence.flow.nodes:
            edges = evidence.flow.into(node.id)
            rows = {edge.spec.shape for edge in edges}
            whole = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
            names = {name for name, _ in taken if {at for one, at in taken if one == name} == set(range(len(edges)))}
            if len(rows) != 1 or len(edges) < 2 or not names or not whole or len(whole) != 2 or node.family != "merge":
                continue
            for place in lines_at(evidence, node.called or node.location):
                parts = place.node.args[0] if isinstance(place.node, ast.Call) and place.node.args else None
                if isinstance(parts, (ast.List, ast.Tuple)) and len(parts.elts) == len(edges):
                    stack = f"{MODULE}.stack({ast.unparse(parts)}, axis=1)"
                    yield (
                        f"Stack the {len(edges)} vectors along a new axis at line {parts.lineno}",
                        [place.edit(place.node, stack, place.module())],  # type: ignore[arg-type]
                        f"The loss reads {min(names)}[:, i] as vector i of a sample.",
                    )


@of(OperationRaised)
def joined_vectors(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Vectors joined in one row, where the loss cuts a row into them and a stack has an axis of its own for them."""
    for line in lines_of(evidence)[:1] if evidence.where == "loss" else ():
        bounds = {line.number(at) for _, cut in last_slices(line) for at in (cut.lower, cut.upper) if at is not None}
        for node in evidence.flow.nodes:
            whole = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
            if whole not in fact.shapes or whole is None or len(whole) != 3 or whole[2] not in bounds or node.op not in STACKS:
                continue
            for place, call in calls_at(evidence, node.called, "stack"):
                axis = place.keyword("axis")
                if axis is not None and isinstance(call.func, ast.Attribute) and call.args:
                    join = "concat" if place.module() == "tensorflow" else "concatenate"
                    yield (
                        f"Join the {whole[1]} vectors into one row at {place.at}: {join} instead of stack",
                        [place.edit(call, f"{ast.unparse(call.func.value)}.{join}({ast.unparse(call.args[0])}, axis=-1)")],
                        f"The loss cuts each row into slices of {whole[2]} values.",
                    )


def _column(node: ast.Subscript) -> bool:
    """Whether this is ``x[:, i]`` with a written number."""
    at = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    return len(at) == 2 and isinstance(at[0], ast.Slice) and isinstance(at[1], ast.Constant) and type(at[1].value) is int
