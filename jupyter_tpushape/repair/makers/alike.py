"""Candidates for one of several tensors that are made alike: what the function does with another one."""

from __future__ import annotations

import ast
import copy
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called, makes_object
from ...rules.facts.layers import OperationRaised
from ..edits.expression import IT, MODULE
from ..text.source import given_before, nodes
from .edits import Made, of
from .line import lines_of, short


@of(OperationRaised)
def as_sibling(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The function that one operand went through, around what made the other one, and all that were made alike."""
    for line in lines_of(evidence):
        given = [
            (one.targets[0].id, one)
            for one in nodes(line.scope, ast.Assign)
            if isinstance(one.targets[0], ast.Name) and one.lineno < line.raised.line and isinstance(one.value, ast.Call)
        ]
        made = {name: one.value for name, one in given}
        names = [one.id for node, _ in line.shaped() for one in nodes(node, ast.Name) if one.id in made]
        own = {one.name for one in nodes(line.source.tree, ast.FunctionDef)}
        for done, left in itertools.permutations(names, 2):
            whole = made[done]
            if called(whole) not in own:
                continue  # a layer has weights, which are for one tensor
            twice = [one for name, one in given if name == done][-2:]
            if len(twice) == 2 and [*map(ast.unparse, whole.args)] == [done] and _given_alike(twice[0].value, made[left]):
                rest = [name for name, value in made.items() if _given_alike(twice[0].value, value)]
                more = [f"{name} = {ast.unparse(whole.func)}({name})" for name in rest]
                yield (
                    f"Put {' and '.join(rest)} through {short(whole.func)} at line {twice[1].lineno}, as {done}",
                    [line.edit(twice[1], f"\n{' ' * twice[1].col_offset}".join([line.source.of(twice[1]), *more]))],
                    f"{done} and {left} then have their axes in the same places.",
                )
            at = [i for i, arg in enumerate(whole.args) if _given_alike(arg, made[left])]
            if len(at) != 1:
                continue
            rest = [name for name, value in made.items() if name != done and _given_alike(whole.args[at[0]], value)]
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


@of(OperationRaised)
def score_of_pairs(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """One of two scores of each position turned, where their sum is to be the score of each pair."""
    for line in lines_of(evidence)[:1]:
        pair = line.shaped()
        if len(pair) != 2 or len(pair[0][1]) != 3 or pair[0][1][-1] != 1 or pair[0][1][1] != pair[1][1][1]:
            continue
        softmax = any(called(one) == "softmax" for one in nodes(line.scope, ast.Call))
        for total in nodes(line.scope, ast.BinOp) if softmax else ():
            one, other = total.left, total.right
            if isinstance(total.op, ast.Add) and _given_alike(one, other) and total.lineno < line.raised.line:
                yield (
                    f"Transpose {short(other)} at line {total.lineno}: its sum with {short(one)} then has a score for each pair",
                    [line.edit(other, f"{MODULE}.swapaxes({IT}, 1, 2)", "keras.ops")],
                    f"{short(pair[0][0])} has one score for each position, and not one for each pair.",
                )


def _given_alike(one: ast.AST, other: ast.AST) -> bool:
    if not isinstance(one, ast.Call) or not isinstance(other, ast.Call) or ast.unparse(one.func) == ast.unparse(other.func):
        return False
    return bool(one.args) and [*map(ast.unparse, one.args)] == [*map(ast.unparse, other.args)]


def as_others(evidence: Evidence, finding: Finding) -> Made:
    """``split(self.k(x))`` for ``self.k(x)`` beside ``split(self.q(x))``, ``self.v(y)`` for ``self.v(x)`` beside ``self.k(y)``, and ``split(k)`` for ``k`` behind ``q = split(q)``."""
    for line in lines_of(evidence)[:1]:
        read = [one for one in nodes(line.node, ast.Name) if one.id in line.specs] if line.node is not None else []
        own = {one.name for one in nodes(line.source.tree, ast.FunctionDef)}
        for node, item in itertools.product(read, nodes(line.scope, ast.Assign)):
            target, last = item.targets[0], item.value
            if not isinstance(target, ast.Name) or target.id == node.id or item.lineno >= node.lineno:
                continue
            mine, its = [node, *given_before(line.scope, node)][-1], given_before(line.scope, target)[-1:]
            for part in nodes(last, (ast.Call, ast.BinOp, ast.Name)):
                kind, inside = _kind(mine), [*ast.walk(part)]
                around = [one for one in nodes(last, (ast.Name, ast.Call)) if all(one is not other for other in inside)]
                # A layer is no method: what is made alike may have its own weights, and another tensor's values are not its.
                layers = {one for one in around if isinstance(one, ast.Call) and _kind(one)[:4] == "self" and called(one) not in own}
                if layers or any(makes_object(one) or (isinstance(one, ast.Name) and one.id in line.specs) for one in around):
                    continue
                again = isinstance(part, ast.Name) and part.id == target.id and [*map(_kind, its)] == [kind or None] * (mine is not node)
                if again or (_kind(part) == kind != "" and (called(mine) != called(last) if part is not last else kind[:4] == "self")):
                    old = node if again else mine
                    if old is not node and any(
                        one.id == node.id and one.lineno != node.lineno and one.lineno > old.lineno for one in nodes(line.scope, ast.Name)
                    ):
                        continue  # others read it, too
                    stays, gone = (old, part) if part is not last else (getattr(mine, "func", mine), getattr(last, "func", last))
                    at, text = line.source.start(part) - line.source.start(last), line.source.of(last)
                    new = text[:at] + line.source.of(stays) + text[at + len(line.source.of(gone)) :]
                    if new == line.source.of(old):
                        continue
                    yield (
                        f"Treat {node.id} like {target.id}: {new} at line {old.lineno}",
                        [line.edit(old, new)],
                        f"The function does so with {target.id}, which is made in the same way.",
                    )


def _kind(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
        return f"{'self' if own else called(node.func) or ast.unparse(node.func)} {len(node.args)}"
    return ast.unparse(node.left) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) else ""
