"""Candidates for a training step in which a sequence is fed without its last step and compared whole, or the other way round."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.shifted import shifted
from ...flow import Finding, Node
from ...flow.syntax import assigned
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LossCalled
from ...rules.facts.loss import GridApart
from ...rules.facts.loss_silent import SameSteps
from ...rules.facts.reasons_read import StepMore
from ...rules.words import SLICES
from ..text.source import nodes
from .edits import Made, gives, of
from .line import lines_at, lines_of, listed, running, short


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


@of(OperationRaised)
def as_many_steps(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The steps of a sequence that are compared, else those that are fed, in place of all of them."""
    reason = fact.reason
    for line in running(evidence) if isinstance(reason, StepMore) else ():
        assert isinstance(reason, StepMore)
        for one in shifted(line.raised):
            if (ast.unparse(one.cut), one.whole.lineno) != (reason.cut, reason.whole_at):
                continue
            named = {ast.unparse(value): ast.unparse(target) for item in nodes(line.scope, ast.Assign) for target, value in assigned(item)}
            for text in (one.other, reason.cut):
                new = named.get(text, text)
                yield (
                    f"Use {new} instead of {ast.unparse(one.whole)} at line {one.whole.lineno}",
                    [line.edit(one.whole, new)],
                    f"It has {reason.steps - 1} of the {reason.steps} steps{'' if new == text else f': {text}'}.",
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
    edges = evidence.flow.into(node.id)
    before, after = (edges[0].spec.shape if edges else None) or (), gives(evidence, node) or ()
    cut = len(before) == len(after) > 1 and None not in (before[1], after[1]) and (before[1] or 0) - 1 == after[1]
    return cut and node.op.lower() in SLICES and node.called is not None and ":-1" in node.called.text.replace(" ", "")


@of(SameSteps)
def labels_one_later(evidence: Evidence, finding: Finding, fact: SameSteps) -> Made:
    """The labels' slice begins one step later; or, where both are without the first step, the fed one ends one earlier."""
    what, node, other = ("labels", finding.nodes[0], "1:") if fact.cut == ":-1" else ("input", finding.nodes[1], ":-1")
    where = evidence.flow.node(node).called
    # Several slices of a line run from left to right.
    here = [one.id for one in evidence.flow.nodes if one.op.lower() in SLICES and one.called == where]
    for line in lines_at(evidence, where)[:1]:
        written = [item for item in line.around(ast.Subscript) if isinstance(item.slice, ast.Tuple)]
        written.sort(key=lambda item: (item.lineno, item.col_offset))
        item = written[here.index(node)] if len(here) == len(written) else None
        if item is not None and [ast.unparse(part) for part in listed(item.slice)] == [":", fact.cut]:
            new = f"{ast.unparse(item.value)}[:, {other}]"
            yield f"Use {new} as the {what} at line {item.lineno}", [line.edit(item, new)], "Each step is then compared with the next one."
