"""Candidates for masks that do not fit the tensor that carries them."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.observed import around
from ...rules.facts.masks import MaskApart
from ..edits.statements import Statement
from ..text.source import class_of, method_of, nodes
from .edits import Made, of
from .line import lines_at, listed, span_of


@of(MaskApart)
def ended(evidence: Evidence, finding: Finding, fact: MaskApart) -> Made:
    """The mask of the output of a layer of the program's own, where it passes on that of its input: cut alike, or none if it leaves no step."""
    node = next((one for one in evidence.flow.nodes if fact.passes is not None and one.name == fact.passes.name), None)
    for line in lines_at(evidence, node.location or node.called)[:1] if node is not None else ():
        cls = class_of(line.source.tree, node.op) if node is not None else None
        call, own = method_of(cls, "call"), method_of(cls, "compute_mask")
        if node is None or call is None or len(call.args.args) < 2:
            continue
        new, why = _of_output(call, "mask"), f"The output of {node.name} has other steps than its input."
        before, after = around(evidence.flow, node)
        if not new and {*map(len, before)} & {*map(len, after)}:
            continue  # which of the steps are left is not said
        returned = [item.value for item in nodes(own, ast.Return) if item.value is not None] if own is not None else []
        if own is not None and len(returned) == 1 and isinstance(returned[0], ast.Name):
            new = _of_output(call, returned[0].id) or "None"
            yield f"Return {new} from compute_mask at line {returned[0].lineno}", [line.edit(returned[0], new)], why
        elif own is None:
            indent = " " * call.col_offset
            text = f"def compute_mask(self, {call.args.args[1].arg}, mask=None):\n{indent}    return {new or 'None'}\n"
            yield (
                f"Add compute_mask to {node.op}, which returns {new or 'None'}",
                [Statement("model", line.raised.file, span_of(call), text)],
                why,
            )


def _of_output(call: ast.FunctionDef, mask: str) -> str:
    """The mask with the index that a layer takes of the steps of its input; ``""`` where it does anything else."""
    given, made = call.args.args[1].arg, [item.value for item in nodes(call, ast.Return)]
    index = made[0] if len(made) == 1 and isinstance(made[0], ast.Subscript) else None
    parts = listed(index.slice) if index is not None and ast.unparse(index.value) == given else []
    if len(parts) < 2 or not all(isinstance(one, ast.Slice) for one in parts[:2]) or ast.unparse(parts[0]) != ":":
        return ""
    return f"{mask}[:, {ast.unparse(parts[1])}]"
