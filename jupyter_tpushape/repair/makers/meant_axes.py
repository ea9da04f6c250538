"""Candidates for a fold or an unfold that a chain of Dense layers lacks, where a width says which axes were meant."""

from __future__ import annotations

import ast
import math

from ...examine.evidence import Evidence
from ...flow import Finding, Node, elements
from ...flow.observed import passes
from ...rules.facts.layers import WrongCount, WrongRank

from .edits import Fix, Made, failing, flattened, given, known, of, reshaped_before, upstream
from .line import lines_at, written_in


@of(WrongRank)
def as_multiplied(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """The axes whose sizes the width of the layer in front multiplies: ``Dense(7 * 7 * 64)`` holds maps of 7 × 7 and 64 channels."""
    node, shape = failing(evidence)
    if not shape or len(shape) != 2 or not known(shape[1:]):
        return
    maker = _wide(evidence, node)
    for line in lines_at(evidence, maker.location)[:1] if maker is not None else ():
        assert maker is not None
        widths = written_in(line, maker, "units")
        numbers = [line.number(part) for part in _factors(widths[0])] if len(widths) == 1 else []
        sizes = [n for n in numbers if n]
        if len(sizes) != len(numbers) or len(sizes) != fact.wanted - 1 or len(sizes) < 2 or math.prod(sizes) != shape[1]:
            continue
        if len(sizes) == 3 and sizes[1] == sizes[2] != sizes[0]:
            sizes = [*sizes[1:], sizes[0]]  # 64 * 7 * 7: the channels come last
        yield reshaped_before(node.name, "Restore the axes: add ", sizes, f"{maker.name} has {ast.unparse(widths[0])} units.")


@of(WrongCount)
def folded_first(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """Flatten before the first Dense layer, where each row of a sample has become as many values as the sample should have."""
    node, shape = failing(evidence)
    if not shape or not fact.per_sample or len(shape) < 3 or shape[-1] != elements(fact.target):
        return
    first: Node | None = None
    for above in upstream(evidence, node):
        before = given(evidence, above)
        if before is None or len(before) != len(shape) or before[1:-1] != shape[1:-1]:
            break
        if above.op == "Dense":
            first = above
        elif not passes(evidence.flow, above):
            break
    if first is not None:
        yield _folded(first)


def _folded(first: Node) -> Fix:
    return flattened(first.name, "Dense works on the last axis only: each sample then has the values that the target needs.")


def _wide(evidence: Evidence, node: Node) -> Node | None:
    """The Dense layer that made the last axis, with nothing in between that changes it."""
    for above in upstream(evidence, node):
        if above.op == "Dense":
            return above
        if not passes(evidence.flow, above):
            break
    return None


def _factors(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [node]
