"""Candidates for a training step in which a sequence is fed without its last step and compared whole, or the other way round."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.shifted import shifted
from ...flow import Finding, Node
from ...rules.facts.lines import LossCalled
from ...rules.facts.loss import GridApart
from ...rules.words import SLICES
from .edits import Made, given, gives, of
from .line import lines_of, running, short


@of(GridApart)
def other_end(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The slice that goes with the one beside it: what is fed ends one step earlier than what is compared, which begins one step later."""
    for line in running(evidence) if fact.cut else ():
        for one in shifted(line.raised):
            if ast.unparse(one.cut) == fact.cut:
                said = "first" if one.other.endswith("[:, 1:]") else "last"
                yield (
                    f"Use {one.other} at line {one.whole.lineno}, the sequence without its {said} step",
                    [line.edit(one.whole, one.other)],
                    f"Each step is then compared with the next one: line {one.cut.lineno} uses {fact.cut}.",
                )


@of(LossCalled)
def next_step(evidence: Evidence, finding: Finding, fact: LossCalled) -> Made:
    """Labels that begin one step later, at the line that compares them, where the model leaves out the last step of what it is fed."""
    y, p = fact.labels, fact.predictions
    if len(y) < 2 or len(p) < 2 or y[1] is None or y[1] - 1 != p[1] or y[2:] not in (p[2:], p[2:-1]):
        return
    cut = next((node for node in evidence.flow.nodes if _cuts_last(evidence, node)), None)
    for line in lines_of(evidence)[:1] if cut is not None else ():
        for node, shape in line.shaped()[:2]:
            if shape == y and isinstance(node, (ast.Name, ast.Attribute)):
                yield (
                    f"Compare with the next step at {line.at}: {short(node)}[:, 1:]",
                    [line.edit(node, f"{ast.unparse(node)}[:, 1:]")],
                    f"The model leaves out the last step at {cut.called if cut is not None else line.at}.",
                )


def _cuts_last(evidence: Evidence, node: Node) -> bool:
    """Whether an operation takes all steps but the last."""
    before, after = given(evidence, node) or (), gives(evidence, node) or ()
    cut = len(before) == len(after) > 1 and None not in (before[1], after[1]) and (before[1] or 0) - 1 == after[1]
    return cut and node.op.lower() in SLICES and node.called is not None and ":-1" in node.called.text.replace(" ", "")
