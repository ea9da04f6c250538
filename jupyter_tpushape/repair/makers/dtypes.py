"""Candidates where dtypes do not meet at the line that raised: one operand in the dtype of another, or in the one that the function takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.heard import HeardDtype, hear
from ...examine.heard_contracts import HeardDtypes
from ...flow import Finding, Spec
from ...rules.facts.lines import LogicalOperand, LogicalProduct
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made, of
from .line import Line, lines_at, lines_of, short


def cast(evidence: Evidence, finding: Finding) -> Made:
    """One operand in the dtype of another, or in the one that the function takes."""
    said, lines = hear(evidence.failure, HeardDtype), lines_of(evidence)
    if said is None:
        return
    if said.wanted:
        for line in lines:
            yield from _as_wanted(line, said)
        return
    pairs = [(line, *pair) for line in lines for pair in _pairs(line, line.operands())]
    for line, node, other in sorted(pairs, key=lambda pair: _weight(pair[0].spec(pair[2])), reverse=True):
        yield (
            f"Cast {short(node)} to the dtype of {short(other)} at {line.at}",
            [line.edit(node, f"{MODULE}.cast({IT}, {ast.unparse(other)}.dtype)", line.module())],
            "Both operands then have the same dtype.",
        )
    told = hear(evidence.failure, HeardDtypes)
    for mine, wanted in [(told.first, told.second), (told.second, told.first)] if told is not None and not pairs else []:
        for line in lines if wanted.startswith(_FLOATS) and mine.startswith(("int", "uint", "bool")) else ():
            for node in line.operands():
                if (spec := line.spec(node)) is not None and spec.dtype == mine:
                    yield (
                        f"Cast {short(node)} to {wanted} at {line.at}",
                        [line.edit(node, f'{MODULE}.cast({IT}, "{wanted}")', line.module())],
                        "Both operands then have the same dtype.",
                    )
    for line in lines:
        yield from _beside_number(line, line.operands())


@of(LogicalOperand)
def as_number(evidence: Evidence, finding: Finding, fact: LogicalOperand) -> Made:
    """True and false as 1 and 0, in the dtype of the other operand, or of the only floats of the function."""
    for line in lines_of(evidence)[:1]:
        named = [node for node in line.operands() if ast.unparse(node) == fact.operand]
        its = [
            spec.dtype for node in line.operands() if node not in named and (spec := line.spec(node)) is not None and spec.dtype != "bool"
        ]
        floats = {spec.dtype for spec in line.specs.values() if _floats(spec)}
        dtype = its[0] if its else floats.pop() if len(floats) == 1 else "float32"
        for node in named[:1]:
            yield f"Cast {short(node)} to {dtype} at {line.at}", [line.cast(node, dtype)], "True becomes 1, and false becomes 0."


@of(LogicalProduct)
def counted(evidence: Evidence, finding: Finding, fact: LogicalProduct) -> Made:
    """The bools of a product as numbers of the other side's dtype."""
    for line in lines_at(evidence, fact.node.called)[:1]:
        found = [(one.left, one.right) for one in line.around(ast.BinOp) if isinstance(one.op, ast.Mult)]
        # What is multiplied in its place must be the numbers.
        found += [(one.target, one.value) for one in line.around(ast.AugAssign) if isinstance(one.op, ast.Mult) and not fact.side]
        for sides in found if len(found) == 1 else ():
            bools, numbers = sides[1 - fact.side], sides[fact.side]
            yield (
                f"Cast {short(bools)} to {fact.dtype} at line {bools.lineno}",
                [line.cast(bools, fact.dtype)],
                f"Each number of {short(numbers)} is then kept, or becomes 0.",
            )


def _as_wanted(line: Line, said: HeardDtype) -> Made:
    word = line.keyword(said.argument)
    for node in [word] if word is not None else line.operands():
        spec = line.spec(node)
        if isinstance(node, ast.Constant) or (spec is not None and spec.dtype in said.wanted):
            continue
        yield (
            f"Cast {short(node)} to {said.wanted[0]} at {line.at}",
            [line.cast(node, said.wanted[0])],
            f"The function expects {' or '.join(said.wanted)}.",
        )


def _beside_number(line: Line, operands: list[ast.expr]) -> Made:
    """A tensor of integers as floats, where it meets a number with a fraction."""
    tensors = [node for node in operands if not _is_number(line, node)]
    floats = {spec.dtype for spec in line.specs.values() if _floats(spec)}
    if len(operands) == 2 and len(tensors) == 1 and isinstance(line.node, ast.BinOp):
        dtype = floats.pop() if len(floats) == 1 else "float32"
        yield f"Cast {short(tensors[0])} to {dtype} at {line.at}", [line.cast(tensors[0], dtype)], "The other operand is a float."


def _is_number(line: Line, node: ast.expr) -> bool:
    """Whether an expression computes with numbers alone."""
    names = [ast.unparse(item) for item in nodes(node, (ast.Name, ast.Attribute))]
    return not any(name in line.specs for name in names) and not list(nodes(node, ast.Call))


def _pairs(line: Line, operands: list[ast.expr]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Which operand to cast, and the one to take the dtype from."""
    for node in operands:
        for operand in operands:
            # An operand that is computed in place has the dtype of what it is computed from.
            for other in [operand, *(name for name in nodes(operand, ast.Name) if name is not operand)] if operand is not node else []:
                mine, its = line.spec(node), line.specs.get(ast.unparse(other))
                # Never a float to a whole number: what stands behind its point would be lost, and every gradient with it.
                if its is None or not _floats(its) or isinstance(node, ast.Constant) or (mine is not None and mine.dtype == its.dtype):
                    continue
                yield node, other


def _weight(spec: Spec | None) -> int:
    """First what a layer of mixed precision computes in; last double precision, which no layer has unless asked for."""
    if spec is None:
        return 1
    return 2 if spec.dtype in ("float16", "bfloat16") else 0 if spec.dtype == "float64" else 1


def _floats(spec: Spec) -> bool:
    return spec.dtype.startswith(_FLOATS)


_FLOATS = ("float", "bfloat")
