"""Candidates for arrays of JAX: items that are assigned, and the first state of a loop."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.mesh import ValueAsked
from ...rules.facts.transforms import CarryApart
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made
from .line import called, lines_of


def item_set(evidence: Evidence, finding: Finding) -> Made:
    """``x = x.at[index].set(value)`` for ``x[index] = value``."""
    for line in lines_of(evidence):
        found = [
            item
            for item in nodes(line.scope, ast.Assign)
            if item.lineno == line.raised.line and len(item.targets) == 1 and isinstance(item.targets[0], ast.Subscript)
        ]
        for item in found[:1]:
            target = item.targets[0]
            assert isinstance(target, ast.Subscript)
            tensor = ast.unparse(target.value)
            # As it stands in the brackets: a tuple by itself has brackets of its own.
            index = ast.unparse(target)[len(tensor) + 1 : -1]
            value = f"{tensor}.at[{index}].set({IT})"
            yield (
                f"Create an updated array at {line.at}: {tensor} = {tensor}.at[{index}].set(...)",
                [line.edit(target, tensor).value, line.edit(item.value, value).value],
                "The original array is unchanged.",
            )
            return


def without_numpy(evidence: Evidence, finding: Finding) -> Made:
    """Tensors as they are, where the code asks for their values."""
    for line in lines_of(evidence)[:1] if isinstance(finding.fact, ValueAsked) and finding.fact.asked == "array" else []:
        calls = [call for call in nodes(line.scope, ast.Call) if called(call) == "numpy" and isinstance(call.func, ast.Attribute)]
        edits = [line.edit(call, ast.unparse(call.func.value)).value for call in calls if isinstance(call.func, ast.Attribute)]
        if edits:
            yield "Use the tensors without .numpy()", edits, "A compiled step has no values."


def chosen(evidence: Evidence, finding: Finding) -> Made:
    """``where`` for a branch that depends on a tensor: both values are computed, and one is chosen."""
    if not isinstance(finding.fact, ValueAsked) or finding.fact.asked != "bool":
        return
    for line in lines_of(evidence):
        found = [item for item in nodes(line.scope, (ast.If, ast.IfExp)) if _covers(item.test, line.raised.line)]
        for branch in found[-1:]:
            test = ast.unparse(branch.test)
            if isinstance(branch.test, ast.BoolOp) or (isinstance(branch.test, ast.UnaryOp) and isinstance(branch.test.op, ast.Not)):
                continue  # these ask for a value as well
            if isinstance(branch, ast.IfExp):
                values = f"{MODULE}.where({test}, {ast.unparse(branch.body)}, {ast.unparse(branch.orelse)})"
                edit = line.edit(branch, values, "keras.ops")
            elif (new := branches(branch, test)) is not None:
                edit = line.edit(branch, new, "keras.ops")
            else:
                continue
            yield (
                f"Choose with where at line {branch.lineno}",
                [edit.value],
                "Both values are computed, and the condition chooses between them.",
            )
            return


def _covers(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def branches(branch: ast.If, test: str) -> str | None:
    """An ``if`` as one assignment or one return; ``None`` where its branches do more than that."""
    first = branch.body[0] if len(branch.body) == 1 else None
    second = branch.orelse[0] if len(branch.orelse) == 1 else None
    if isinstance(first, ast.Return) and isinstance(second, ast.Return) and first.value and second.value:
        return f"return {MODULE}.where({test}, {ast.unparse(first.value)}, {ast.unparse(second.value)})"
    one, other = (_assigned(item) for item in (first, second))
    if one is None or (branch.orelse and (other is None or other[0] != one[0])):
        return None
    return f"{one[0]} = {MODULE}.where({test}, {one[1]}, {other[1] if other is not None else one[0]})"


def _assigned(item: ast.stmt | None) -> tuple[str, str] | None:
    """The name that a statement assigns, and the value."""
    if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
        return item.targets[0].id, ast.unparse(item.value)
    if isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name):
        return item.target.id, ast.unparse(ast.BinOp(item.target, item.op, item.value))
    return None


def carried(evidence: Evidence, finding: Finding) -> Made:
    """A loop's first state with the rows of the batch."""
    fact = finding.fact
    if not isinstance(fact, CarryApart) or fact.after[1:] != fact.before:
        return
    for line in lines_of(evidence):
        for item in nodes(line.scope, ast.Assign):
            new = item.value
            shape = new.args[0] if isinstance(new, ast.Call) and called(new) in ("zeros", "ones", "full") and new.args else None
            starts = len(item.targets) == 1 and ast.unparse(item.targets[0]) in _handed(line.node)
            rows = next(
                (name for name, spec in line.specs.items() if name.isidentifier() and spec.shape and spec.shape[0] == fact.after[0]), ""
            )
            if starts and isinstance(shape, (ast.Tuple, ast.List)) and len(shape.elts) == len(fact.before) and rows:
                parts = ", ".join([f"{rows}.shape[0]", *map(ast.unparse, shape.elts)])
                yield (
                    f"Create {ast.unparse(item.targets[0])} with as many rows as {rows}: ({parts})",
                    [line.edit(shape, f"({parts})").value],
                    "",
                )


def _handed(node: ast.AST | None) -> set[str]:
    """The names that a call is given."""
    return {ast.unparse(item) for item in (*node.args, *(word.value for word in node.keywords))} if isinstance(node, ast.Call) else set()
