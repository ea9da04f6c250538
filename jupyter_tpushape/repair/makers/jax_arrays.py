"""Candidates for arrays of JAX: items that are assigned, and the first state of a loop."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.transforms import CarryApart
from ..edits.expression import IT
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
