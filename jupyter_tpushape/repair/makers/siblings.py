"""Candidates for a step that one of several tensors went through, and that the others were meant to go through as well."""

from __future__ import annotations

import ast
import copy
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.layers import OperationRaised
from ..text.source import nodes
from .edits import Made, of
from .line import lines_of, short


@of(OperationRaised)
def as_sibling(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The function that one operand went through, around what made the other one, and all that were made alike."""
    for line in lines_of(evidence)[:1]:
        given = [
            (one.targets[0].id, one)
            for one in nodes(line.scope, ast.Assign)
            if isinstance(one.targets[0], ast.Name) and one.lineno < line.raised.line and isinstance(one.value, ast.Call)
        ]
        made = {name: one.value for name, one in given}
        names = [one.id for node, _ in line.shaped() for one in nodes(node, ast.Name) if one.id in made]
        for done, left in itertools.permutations(names, 2):
            whole = made[done]
            twice = [one for name, one in given if name == done][-2:]
            if len(twice) == 2 and [*map(ast.unparse, whole.args)] == [done] and _alike(twice[0].value, made[left]):
                rest = [name for name, value in made.items() if _alike(twice[0].value, value)]
                more = [f"{name} = {ast.unparse(whole.func)}({name})" for name in rest]
                yield (
                    f"Put {' and '.join(rest)} through {short(whole.func)} at line {twice[1].lineno}, as {done}",
                    [line.edit(twice[1], f"\n{' ' * twice[1].col_offset}".join([line.source.of(twice[1]), *more]))],
                    f"{done} and {left} then have their axes in the same places.",
                )
            at = [i for i, arg in enumerate(whole.args) if _alike(arg, made[left])]
            if len(at) != 1:
                continue
            rest = [name for name, value in made.items() if name != done and _alike(whole.args[at[0]], value)]
            edits = []
            for name in rest:
                again = copy.deepcopy(whole)
                again.args[at[0]] = made[name]
                edits.append(line.edit(made[name], ast.unparse(again)))
            lines = " and ".join(str(made[name].lineno) for name in rest)
            yield (
                f"Put {' and '.join(rest)} through {short(whole.func)} at {'line' if len(rest) == 1 else 'lines'} {lines}, as {done}",
                edits,
                f"{done} and {left} then have their axes in the same places.",
            )


def _alike(one: ast.AST, other: ast.AST) -> bool:
    """Whether two calls of other layers are given the same."""
    if not isinstance(one, ast.Call) or not isinstance(other, ast.Call) or ast.unparse(one.func) == ast.unparse(other.func):
        return False
    return bool(one.args) and [*map(ast.unparse, one.args)] == [*map(ast.unparse, other.args)]
