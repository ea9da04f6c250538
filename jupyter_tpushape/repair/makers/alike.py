"""Candidates for one of several tensors that are made alike: what the function does with the others, done with it too."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called, loaded
from ..text.source import given_before, nodes
from .edits import Made
from .line import Line, lines_of


def as_others(evidence: Evidence, finding: Finding) -> Made:
    """``split(self.k(x))`` for ``self.k(x)``, where the function has ``split(self.q(x))``."""
    for line in lines_of(evidence)[:1]:
        read = [one for one in nodes(line.node, ast.Name) if isinstance(one.ctx, ast.Load)] if line.node is not None else []
        others = {name for item in nodes(line.scope, ast.Assign) for one in item.targets for name in _names(one)}
        for node in read if len(read) < 9 else ():
            made = given_before(line.scope, node)
            for other in sorted(others - {node.id}):
                its = given_before(line.scope, ast.Name(other, ast.Load(), lineno=node.lineno, col_offset=node.col_offset))
                for old, new in _wrapped(line, node, made, other, its):
                    if new != line.source.of(old):
                        yield (
                            f"Treat {node.id} like {other}: {new} at line {old.lineno}",
                            [line.edit(old, new)],
                            f"The function does so with {other}, which is made in the same way.",
                        )


def _wrapped(line: Line, node: ast.Name, made: list[ast.expr], other: str, its: list[ast.expr]) -> list[tuple[ast.expr, str]]:
    """What is put in another tensor's expression in place of what that one is made of."""
    if not its:
        return []
    last = its[-1]
    if made and node.id not in loaded(made[-1]) and _kind(made[-1]) != _kind(last):
        twins = [one for one in nodes(last, (ast.Call, ast.BinOp)) if one is not last and _kind(one) == _kind(made[-1]) != ""]
        if len(twins) == 1:
            return [(made[-1], _with(line, last, twins[0], line.source.of(made[-1])))]
    own = [one for one in nodes(last, ast.Name) if one.id == other]
    # What is made anew of itself, and was made together with the other before.
    if len(own) == 1 and not made or (len(own) == 1 and len(made) == 1 < len(its) and _kind(made[0]) == _kind(its[0])):
        return [(node, _with(line, last, own[0], node.id))]
    return []


def _with(line: Line, whole: ast.expr, part: ast.expr, new: str) -> str:
    at, text = line.source.start(part) - line.source.start(whole), line.source.of(whole)
    return text[:at] + new + text[at + len(line.source.of(part)) :]


def _kind(node: ast.expr) -> str:
    """What makes a tensor, its own weights aside: ``self.q(x)`` and ``self.k(x)`` are of one kind."""
    if isinstance(node, ast.BinOp):
        return f"{ast.unparse(node.left)} @" if isinstance(node.op, ast.MatMult) else ""
    if not isinstance(node, ast.Call):
        return ""
    own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
    return f"{'self' if own else called(node.func) if isinstance(node.func, ast.Call) else ast.unparse(node.func)} {len(node.args)}"


def _names(target: ast.AST) -> set[str]:
    return {one.id for one in nodes(target, ast.Name)}
