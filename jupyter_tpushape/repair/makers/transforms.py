"""Candidates at a call of one of JAX's own functions: loops, maps, gradients, sizes and indices."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.transforms import CarryApart, FractionalIndex, FractionalSize, GradientOf, MappedApart
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made
from .line import Line, assigned_to, called, lines_of, short

_GRADIENTS = frozenset({"grad", "value_and_grad"})


def carried_dtype(evidence: Evidence, finding: Finding) -> Made:
    """A loop's first state in the dtype that a step returns."""
    fact = finding.fact
    if not isinstance(fact, CarryApart) or fact.shapes or not fact.becomes:
        return
    for line in lines_of(evidence):
        for node in line.operands():
            spec = line.spec(node)
            known = spec.dtype == fact.was if spec is not None and spec.dtype else isinstance(node, ast.Call)
            if known and not isinstance(node, (ast.Constant, ast.Lambda)):
                yield (
                    f"Initialize {short(node)} as {fact.becomes} at {line.at}",
                    [line.edit(node, f'{MODULE}.cast({IT}, "{fact.becomes}")', "keras.ops").value],
                    "Each iteration returns that dtype.",
                )


def not_mapped(evidence: Evidence, finding: Finding) -> Made:
    """``in_axes`` with None for what is the same in each turn."""
    fact = finding.fact
    if not isinstance(fact, MappedApart):
        return
    # The batch is what is mapped: an axis of unknown size, else the rows of the data.
    rows = {spec.shape[0] for _, spec in evidence.x if spec.shape}
    axes = [axis if size is None or size in rows else None for size, axis, _ in fact.axes]
    if all(axis is None for axis in axes) or None not in axes:
        return
    for line in lines_of(evidence):
        for call in _calls(line, {"vmap"}):
            if len(call.args) == 1 and not call.keywords:
                yield (
                    f"Map over the batch only: in_axes={_tuple(axes)} at line {call.lineno}",
                    [line.edit(call.args[0], f"{IT}, in_axes={_tuple(axes)}").value],
                    "The other arguments are the same for every row.",
                )


def aux(evidence: Evidence, finding: Finding) -> Made:
    """``has_aux=True`` where the function returns more than the loss."""
    if not isinstance(finding.fact, GradientOf) or not finding.fact.several:
        return
    for line in lines_of(evidence):
        for call in _calls(line, _GRADIENTS):
            if len(call.args) == 1 and all(word.arg != "has_aux" for word in call.keywords):
                yield (
                    f"Set has_aux=True at line {call.lineno}: the function returns more than the loss",
                    [line.edit(call.args[0], f"{IT}, has_aux=True").value],
                    "The gradient is that of the first value.",
                )


def whole_size(evidence: Evidence, finding: Finding) -> Made:
    """``//`` for ``/`` where sizes are divided and come out even."""
    fact = finding.fact
    if not isinstance(fact, FractionalSize) or not fact.whole:
        return
    for line in lines_of(evidence):
        for node in nodes(line.scope, ast.BinOp):
            tensors = any(ast.unparse(item) in line.specs for item in (node.left, node.right))
            if isinstance(node.op, ast.Div) and node.lineno <= line.raised.line and not tensors:
                whole = f"{_operand(node.left)} // {_operand(node.right)}"
                yield (
                    f"Use integer division (//) at line {node.lineno}: {whole}",
                    [line.edit(node, whole).value],
                    "A size must be an integer.",
                )


def whole_index(evidence: Evidence, finding: Finding) -> Made:
    """The indices of a lookup as whole numbers."""
    if not isinstance(finding.fact, FractionalIndex):
        return
    for line in lines_of(evidence):
        node = line.node
        index = node.slice if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Call) and called(node) in ("take", "take_along_axis") and len(node.args) > 1:
            index = node.args[1]
        if index is not None and not isinstance(index, (ast.Slice, ast.Tuple, ast.Constant)):
            yield (
                f"Cast {short(index)} to int32 at {line.at}",
                [line.edit(index, f'{MODULE}.cast({IT}, "int32")', "keras.ops").value],
                "The input ids are integers.",
            )


def _calls(line: Line, names: frozenset[str] | set[str]) -> list[ast.Call]:
    """The calls of these functions in the expression that raised, and where the function that it calls was made in the lines before."""
    made = assigned_to(line, line.node.func) if isinstance(line.node, ast.Call) else None
    if isinstance(made, ast.Call):
        return [made] if called(made) in names else []
    return [call for call in nodes(line.node, ast.Call) if called(call) in names] if line.node is not None else []


def _tuple(axes: list[int | None]) -> str:
    return f"({', '.join(map(str, axes))}{',' if len(axes) == 1 else ''})"


def _operand(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, (ast.BinOp, ast.IfExp, ast.BoolOp, ast.Compare)) and not _multiplies(node) else text


def _multiplies(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
