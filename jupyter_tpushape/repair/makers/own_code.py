"""Candidates for what code of the program's own takes of the framework: the shape in build, the data of a step, ids that are vectors."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.own_code import DataWhole, EmbeddedTwice, WeightOfBatch
from ..edits import RemoveLayer, Statement
from .edits import Made, of
from .line import lines_of, span_of


@of(WeightOfBatch)
def weight_of_sample(evidence: Evidence, finding: Finding, fact: WeightOfBatch) -> Made:
    """A weight with the axes behind the batch."""
    for line in lines_of(evidence)[:1]:
        for call in [item for item in line.around(ast.Call) if called(item) == "add_weight"]:
            given = next((word.value for word in call.keywords if word.arg == "shape"), call.args[0] if call.args else None)
            if isinstance(given, (ast.Name, ast.Attribute)):
                yield (
                    f"Leave out the batch axis: shape={ast.unparse(given)}[1:] at line {given.lineno}",
                    [line.edit(given, f"{ast.unparse(given)}[1:]")],
                    "All samples then share the weight.",
                )


@of(DataWhole)
def unpacked_data(evidence: Evidence, finding: Finding, fact: DataWhole) -> Made:
    """The inputs alone under the name of the data, before the step reads it."""
    for line in lines_of(evidence)[:1]:
        step = line.scope
        if isinstance(step, ast.FunctionDef) and step.name == "train_step" and step.args.args[-1].arg == fact.name:
            body = step.body[1:] if ast.get_docstring(step) is not None else step.body
            text = f"{fact.name} = {fact.name}[0]"
            yield (
                f"Take the inputs out of {fact.name} at the beginning of train_step: {text}",
                [Statement("model", line.raised.file, span_of(body[0]), text)],
                f"fit passes ({', '.join(fact.parts)}).",
            )


@of(EmbeddedTwice)
def embedded_once(evidence: Evidence, finding: Finding, fact: EmbeddedTwice) -> Made:
    """The second embedding on the ids themselves."""
    yield (
        f"Remove {fact.first.name}: {fact.layer.name} embeds the ids itself",
        [RemoveLayer(fact.first.name)],
        "An embedding reads ids.",
    )
