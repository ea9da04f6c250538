"""Candidates for vectors where a column is expected, and for columns where a vector is."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layers import OperationRaised
from ..edits.expression import IT, MODULE
from .edits import Made, of
from .line import lines_of, short


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
    """Vectors in place of several arguments with one value for each sample in an axis of size 1, such as the lengths of sequences."""
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
