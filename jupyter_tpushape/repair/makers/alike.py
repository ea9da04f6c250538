"""Candidates for one of several tensors that are made alike: what the function does with another one."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called, makes_object
from ..text.source import given_before, nodes
from .edits import Made
from .line import lines_of


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
    """What makes a tensor, weights aside: ``self.q(x)`` and ``self.k(x)`` are of one kind."""
    if isinstance(node, ast.Call):
        own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
        return f"{'self' if own else called(node.func) or ast.unparse(node.func)} {len(node.args)}"
    return ast.unparse(node.left) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) else ""
