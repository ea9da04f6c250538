"""Candidates where numbers of the classes meet numbers of the samples in a loss."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.layers import OperationRaised
from ...rules.facts.looked_up import RowsAsIndices
from ...rules.facts.reasons import PerClass
from ..edits.expression import IT, MODULE
from .edits import Made, of
from .line import calls_at, lines_of, short


def of_its_own(evidence: Evidence, finding: Finding) -> Made:
    """Each sample gets the number of its own class, by the labels that the loss is given first."""
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    if not isinstance(reason, PerClass):
        return
    for line in lines_of(evidence):
        arguments = line.scope.args.args if isinstance(line.scope, (ast.FunctionDef, ast.Lambda)) else []
        names = [one.arg for one in arguments if one.arg not in ("self", "cls")]
        labels = next((name for name in names if name in line.specs), names[0] if len(names) == 2 and len(evidence.y) == 1 else "")
        # The name of the labels may stand above the line.
        shape = (line.specs[labels] if labels in line.specs else evidence.y[0][1]).shape if labels else None
        weights = [node for node in line.operands() if (spec := line.spec(node)) is not None and spec.shape == (reason.classes,)]
        if not shape or len(weights) != 1:
            continue
        module = line.module()
        total, take = ("reduce_sum", "gather") if module == "tensorflow" else ("sum", "take")
        if shape[-1] == reason.classes and len(shape) > 1:
            new = f"{MODULE}.{total}({labels} * {IT}, axis=-1)"
        elif reason.positions or len(shape) == 1 or (len(shape) == 2 and shape[-1] == 1):
            flat = f"{labels}[..., 0]" if shape[-1] == 1 and len(shape) > 1 else labels
            new = f'{MODULE}.{take}({IT}, {MODULE}.cast({flat}, "int32"))'
        else:
            continue
        yield (
            f"Use the entry of {short(weights[0])} for each label's class at {line.at}",
            [line.edit(weights[0], new, module)],
            f"{short(weights[0])} has one value for each of {reason.classes} classes.",
        )


@of(RowsAsIndices)
def index_of_class(evidence: Evidence, finding: Finding, fact: RowsAsIndices) -> Made:
    """The index of the class in place of its one-hot vector, where a lookup wants it."""
    for line, call in calls_at(evidence, fact.operation.called, "gather", "take", "embedding_lookup"):
        if len(call.args) > 1:
            yield (
                f"Use the class index of {short(call.args[1])} at {line.at}: argmax over the last axis",
                [line.edit(call.args[1], f"{MODULE}.argmax({IT}, -1)", line.module())],
                "The lookup then returns one entry per label.",
            )
