"""Candidates for vectors that meet the wrong axis of a table of pairs, or only themselves."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Who
from ...flow.syntax import called
from ...rules.facts.against import RowsAgainstColumns, VectorTransposed
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons_read import DimsDropped
from ..edits.expression import IT
from .edits import Made, of
from .line import lines_at

_REDUCTIONS = ("reduce_", "sum", "mean", "max", "min", "amax", "amin", "prod", "logsumexp")


@of(OperationRaised)
def last_axis_kept(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The last axis of the samples' rows kept with size 1, where one row for all of them is added."""
    if isinstance(fact.reason, DimsDropped):
        yield from _kept(evidence, fact.reason.maker)


@of(RowsAgainstColumns)
def axis_kept(evidence: Evidence, finding: Finding, fact: RowsAgainstColumns) -> Made:
    """The reduced axis kept with size 1."""
    yield from _kept(evidence, fact.reduced)


def _kept(evidence: Evidence, reduced: Who) -> Made:
    for line in lines_at(evidence, reduced.called)[:1]:
        for call in line.around(ast.Call):
            if called(call).startswith(_REDUCTIONS) and not any(word.arg in ("keepdims", None) for word in call.keywords):
                yield (
                    f"Set keepdims=True on {ast.unparse(call.func)} at line {call.lineno}",
                    [line.more(call, "keepdims=True")],
                    "Each row is then combined with its own value.",
                )


@of(VectorTransposed)
def in_pairs(evidence: Evidence, finding: Finding, fact: VectorTransposed) -> Made:
    """An axis behind one of the two, and an axis in front of the other one."""
    for line in lines_at(evidence, fact.node.called)[:1]:
        for call in line.around(ast.Call):
            of_name = next((ast.unparse(one) for one in call.args if called(call) in ("transpose", "t")), "")
            if not of_name:
                continue
            beside = [
                one
                for node in line.around((ast.Call, ast.BinOp, ast.Compare))
                for one in _operands(node)
                if call in _operands(node) and one is not call and ast.unparse(one) == of_name
            ]
            for other in beside[:1]:
                yield (
                    f"Compare all pairs at line {call.lineno}: {of_name}[:, None] with {of_name}[None, :]",
                    [line.edit(other, f"{IT}[:, None]"), line.edit(call, f"{of_name}[None, :]")],
                    "Each value is then compared with every other one.",
                )


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return list(node.args)
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
