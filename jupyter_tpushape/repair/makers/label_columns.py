"""Candidates for labels in columns: several in one array, one in several arrays, and vectors where a column is expected or the other way round."""

from __future__ import annotations

import ast

import numpy as np

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.paths import flatten
from ...flow.syntax import assigned, called
from ...rules.facts.compiled import WrongNumber
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons import NoAxis
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made, named, of, transform
from .line import calls_of, lines_of, listed, short, whole_number


@of(WrongNumber)
def columns(evidence: Evidence, finding: Finding, fact: WrongNumber) -> Made:
    """One array that has the labels of several outputs on its axis 1."""
    if fact.what != "labels" or fact.given != 1 or len(evidence.y) != 1 or len(evidence.y[0][0]) != 1:
        return
    shape, wanted = evidence.y[0][1].shape, len(evidence.outputs)
    if shape is not None and len(shape) == 2 and shape[1] == wanted:
        yield (
            f"Split the {wanted} columns of the labels, one for each output: {', '.join(fact.outputs)}",
            [transform(("y",), "unstack", count=wanted)],
            "Keras matches a list of labels to the outputs in order.",
        )
        return
    rows = [(spec.shape or ())[1:] for _, spec in evidence.outputs]
    if shape is not None and len(shape) > 2 and shape[1] == wanted and all(row in (shape[2:], (*shape[2:], 1)) for row in rows):
        yield (
            f"Split the labels along axis 1, one for each output: {', '.join(fact.outputs)}",
            [transform(("y",), "unstack", count=wanted)],
            "A list of labels became one array, for example in a dataset; a tuple does not.",
        )
        return
    heads = [named(evidence, name) for name in fact.outputs]
    sizes = [(spec.shape or ())[-1] if len(spec.shape or ()) == 2 else None for _, spec in evidence.outputs]
    if shape is None or len(shape) != 2 or len(heads) != len(sizes) or None in (*heads, *sizes):
        return
    kinds = [str(node.config.get("activation")) if node is not None else "" for node in heads]
    outputs = [(name, kind, size or 0) for name, kind, size in zip(fact.outputs, kinds, sizes, strict=True)]
    seen = [values for _, y, _ in getattr(evidence.sample, "sampled", ()) for _, values in flatten(y, "y") if values.ndim == 2]
    held = [parts for order in (outputs, outputs[::-1]) if (parts := _parts(order, seen, shape[1] or 0))]
    if len(held) == 1 and wanted == 2:
        names, widths = zip(*held[0], strict=True)
        yield (
            f"Split the {shape[1]} columns of the labels between the outputs: {', '.join(f'{name} ({width})' for name, width in held[0])}",
            [transform(("y",), "split_last", widths=[*widths], **({} if names == fact.outputs else {"backward": True}))],
            "The values show which columns are the class.",
        )


def _parts(order: list[tuple[str, str, int]], rows: list[np.ndarray], columns: int) -> list[tuple[str, int]]:
    parts, told, start = [], False, 0
    for name, kind, size in order:
        width = 1 if kind == "softmax" else size
        most = {"softmax": size - 1, "sigmoid": 1 if size == 1 else 0}.get(kind, 0)
        values = np.concatenate([one[:, start : start + width] for one in rows]) if rows else np.empty((0, width))
        if most and not (values.size and (values % 1 == 0).all() and values.min() >= 0 and values.max() <= most):
            return []
        parts.append((name, width))
        told, start = told or most > 0, start + width
    return parts if told and start == columns else []


@of(WrongNumber)
def as_columns(evidence: Evidence, finding: Finding, fact: WrongNumber) -> Made:
    """Several arrays of labels, one for each value of the only output."""
    shapes = {tuple(spec.shape or ())[1:] for _, spec in evidence.y}
    head = evidence.outputs[0][1].shape if len(evidence.outputs) == 1 else None
    if fact.what != "labels" or len(evidence.y) != fact.given or not head or head[1:2] != (fact.given,) or len(shapes) != 1:
        return
    shape = shapes.pop()
    stacked = shape in ((), head[2:])
    if (stacked or (*shape, *head[2:]) == (1,)) and all(len(path) == 2 and isinstance(path[1], int) for path, _ in evidence.y):
        yield (
            f"Stack the {fact.given} arrays of labels {'as the columns of one' if len(head) == 2 else 'along axis 1'}",
            [transform(("y",), "stack", axis=-1 if len(head) == 2 else 1) if stacked else transform(("y",), "join_last")],
            f"The output has {fact.given} {'values' if len(head) == 2 else 'rows'} per sample, one for each of them.",
        )


@of(OperationRaised)
def joined(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Columns that keep their axis, where vectors are joined along one that they do not have; else the vectors stacked."""
    reason = fact.reason if isinstance(fact.reason, NoAxis) and fact.reason.axis == 1 else None
    for line, call in calls_of(evidence, "concat", "concatenate") if reason is not None else ():
        parts = [one for one in line.operands() if not isinstance(one, ast.Constant)]
        if len(parts) < 2 or any(len(line.shape(one) or ()) != 1 for one in parts):
            continue
        made = {ast.unparse(target): value for item in nodes(line.scope, ast.Assign) for target, value in assigned(item)}
        taken = [made.get(ast.unparse(one), one) for one in parts]
        last = [listed(one.slice)[-1:] for one in taken if isinstance(one, ast.Subscript)]
        if len(last) == len(taken) and all(one and whole_number(one[0]) is not None for one in last):
            edits = [line.edit(one, f"{ast.unparse(one)}:{(whole_number(one) or 0) + 1 or ''}") for (one,) in last]
            yield (f"Keep the axis of each column: {edits[0].replace} instead of {edits[0].find}", edits, "Each is then a column, and has an axis 1.")
        if isinstance(call.func, ast.Attribute):
            yield (
                f"Stack the vectors along axis 1 at {line.at}",
                [line.edit(call.func, f"{ast.unparse(call.func.value)}.stack")],
                "Joining needs an axis that is there; stacking makes one.",
            )


@of(OperationRaised)
def as_column(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A vector as a column; the product of a matrix and a vector where nothing behind it expects the axis of size 1."""
    for line in lines_of(evidence)[:1]:
        call, pairs = line.node, line.shaped()
        product = isinstance(call, ast.Call) and called(call) == "matmul"
        if not product and not (isinstance(call, ast.BinOp) and isinstance(call.op, ast.MatMult)):
            continue
        if len(pairs) != 2 or len(pairs[0][1]) < 2 or len(pairs[1][1]) != 1 or pairs[0][1][-1] != pairs[1][1][0]:
            continue
        (matrix, _), (vector, (size,)) = pairs
        yield (
            f"Use {short(vector)} as a column at {line.at}: ({size}, 1)",
            [line.edit(vector, f"{IT}[:, None]")],
            "A product of matrices needs at least two axes in each.",
        )
        if line.module() == "tensorflow" and isinstance(call, ast.expr):
            yield (
                f"Use matvec, the product of a matrix and a vector, at {line.at}",
                [line.edit(call, f"{MODULE}.linalg.matvec({line.source.of(matrix)}, {line.source.of(vector)})", "tensorflow")],
                "A product of matrices needs at least two axes in each.",
            )


def as_vectors(evidence: Evidence, finding: Finding) -> Made:
    """Vectors in place of several arguments with one value for each sample in an axis of size 1."""
    for line in lines_of(evidence)[:1]:
        operands = line.shaped() if line.call() is not None else []
        columns = [node for node, shape in operands if len(shape) == 2 and shape[1] == 1]
        # Of two, one is compared with the other.
        if len(columns) > 1 and len(operands) > len(columns) and all(len(shape) > 1 for _, shape in operands):
            yield (
                f"Squeeze axis 1 (size 1) of {' and '.join(map(short, columns))} at {line.at}",
                [line.apply(node, "squeeze", 1) for node in columns],
                f"{called(line.call())} expects one value for each sample: (batch,).",
            )
