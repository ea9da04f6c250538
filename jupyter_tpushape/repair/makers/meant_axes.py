"""Candidates for a fold or an unfold that a chain of Dense layers lacks, where a width says which axes were meant."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Node, elements
from ...flow.observed import passes
from ...rules.facts.layers import WrongCount, WrongRank
from .edits import Fix, Made, failing, flattened, given, known, of, reshaped_before, upstream
from .line import factors, lines_at, written_in

_MODELS = ("Sequential", "Functional")


@of(WrongRank)
def as_multiplied(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """The axes whose sizes the width of the layer in front multiplies: ``Dense(7 * 7 * 64)`` holds maps of 7 × 7 and 64 channels."""
    node, shape = failing(evidence)
    if not shape or len(shape) != 2 or not known(shape[1:]):
        return
    maker = _wide(evidence, node)
    for line in lines_at(evidence, maker.location)[:1] if maker is not None else ():
        assert maker is not None
        # Several layers may be made on one line.
        widths = [one for one in written_in(line, maker, "units") if line.number(one) == shape[1]]
        sizes = [line.number(part) or 0 for part in factors(widths[0])] if len(widths) == 1 else []
        if len(sizes) != fact.wanted - 1 or len(sizes) < 2:
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
    first: list[Node] = []
    for above in upstream(evidence, node):
        before = given(evidence, above)
        if before is None or len(before) != len(shape) or before[1:-1] != shape[1:-1]:
            break
        if above.op == "Dense" or above.op in _MODELS:
            # A model may have layers inside that want the axes: then the trial goes on with what comes after it.
            first = [above, *first] if above.op in _MODELS or (first and first[0].op in _MODELS) else [above]
        elif not passes(evidence.flow, above):
            break
    for one in first[:2]:
        yield _folded(one)


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
