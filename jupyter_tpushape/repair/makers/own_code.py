"""Candidates for what code of the program's own takes of the framework: the shape in build, the data of a step, ids that are vectors."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.own_code import DataWhole, EmbeddedTwice, LabelsRefused, NamesCrossed, WeightOfBatch
from ..edits import RemoveLayer
from ..text.source import nodes
from .edits import Made, of, transform
from .line import lines_at, lines_of, running


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
    for line in running(evidence):
        step = line.scope
        if isinstance(step, ast.FunctionDef) and step.name == "train_step" and step.args.args[-1].arg == fact.name:
            body = step.body[1:] if ast.get_docstring(step) is not None else step.body
            text = f"{fact.name} = {fact.name}[0]"
            yield (
                f"Take the inputs out of {fact.name} at the beginning of train_step: {text}",
                [line.before(body[0], text)],
                f"fit passes ({', '.join(fact.parts)}).",
            )


@of(EmbeddedTwice)
def embedded_once(evidence: Evidence, finding: Finding, fact: EmbeddedTwice) -> Made:
    """The second embedding on the ids themselves."""
    yield (
        f"Remove {' and '.join((fact.first.name, *reversed(fact.between)))}: {fact.layer.name} embeds the ids itself",
        [RemoveLayer(name) for name in (fact.first.name, *reversed(fact.between))],
        "An embedding reads ids.",
    )


@of(NamesCrossed)
def own_names(evidence: Evidence, finding: Finding, fact: NamesCrossed) -> Made:
    """Each parameter under its own name."""
    for line in lines_at(evidence, finding.location)[:1]:
        pairs = {(f"self.{name}", given): name for name, given in ((fact.one, fact.other), (fact.other, fact.one))}
        kept = [
            (item.value, pairs[ast.unparse(item.targets[0]), ast.unparse(item.value)])
            for item in nodes(line.scope, ast.Assign)
            if (ast.unparse(item.targets[0]), ast.unparse(item.value)) in pairs
        ]
        if len(kept) == 2:
            yield (
                f"Store {fact.one} as self.{fact.one} and {fact.other} as self.{fact.other}",
                [line.edit(value, name) for value, name in kept],
                "Each parameter then has its own name.",
            )


@of(LabelsRefused)
def labels_cast(evidence: Evidence, finding: Finding, fact: LabelsRefused) -> Made:
    """The labels in the dtype that the metric computes in."""
    edits = [transform(path, "cast", dtype=fact.wanted) for path, spec in evidence.y if spec.dtype == fact.given]
    if edits and fact.wanted.startswith("float"):
        yield f"Cast the labels from {fact.given} to {fact.wanted}", edits, "Their values stay the same."
