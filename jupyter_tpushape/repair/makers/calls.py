"""Candidates for layers that were made where they were to be called."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.calls import NotCalled
from ..text.source import nodes
from .edits import Made
from .line import called, lines_at


def call_layer(evidence: Evidence, finding: Finding) -> Made:
    """The layer made without the tensors, and called on them."""
    fact, raised = finding.fact, evidence.raised
    line = next(iter(lines_at(evidence, finding.location)), None)
    if line is None or raised is None or not isinstance(fact, NotCalled):
        return
    known = {name for name, _ in raised.tensors}
    for call in nodes(line.scope, ast.Call):
        if called(call) != fact.cls or not call.lineno <= line.raised.line <= (call.end_lineno or 0):
            continue
        given = [item for item in call.args if _names(item) <= known and _names(item)]
        if len(given) != 1:
            continue
        rest = ", ".join([ast.unparse(item) for item in call.args if item is not given[0]] + [ast.unparse(word) for word in call.keywords])
        tensor = ast.unparse(given[0])
        yield (
            f"Make {fact.cls} and call it on {tensor}",
            [line.edit(call, f"{ast.unparse(call.func)}({rest})({tensor})").value],
            "a layer is made with its settings and then called on its input",
        )


def _names(node: ast.expr) -> set[str]:
    """The expressions that an argument is, or that a list of them holds."""
    return {ast.unparse(item) for item in node.elts} if isinstance(node, (ast.List, ast.Tuple)) else {ast.unparse(node)}
