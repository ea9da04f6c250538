"""Candidates for code that was written for an older version of Keras: arguments and modules by the names of today."""

from __future__ import annotations

import ast
import sys

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.lines import NoAttribute, UnknownArguments
from ..edits.expression import MODULE
from ..text.source import called, nodes
from .edits import Made, of
from .line import lines_of

# None: nothing takes its place.
_TODAY = {"lr": "learning_rate", "decay": None, "nb_filter": "filters", "border_mode": "padding", "subsample": "strides",
          "output_dim": "units", "init": "kernel_initializer", "W_regularizer": "kernel_regularizer"}  # fmt: skip


@of(UnknownArguments)
def arguments_of_today(evidence: Evidence, finding: Finding, fact: UnknownArguments) -> Made:
    """The arguments of a call by their names of today, without those that are gone."""
    for line in lines_of(evidence):
        call = line.node
        words = call.keywords if isinstance(call, ast.Call) else []
        given = {word.arg for word in words}
        old = [word for word in words if word.arg in _TODAY and _TODAY[word.arg] not in given]
        if not isinstance(call, ast.Call) or not old:
            continue
        kept = [(_TODAY.get(word.arg, word.arg) if word in old else word.arg, ast.unparse(word.value)) for word in words if word.arg]
        written = [*map(ast.unparse, call.args), *(f"{name}={value}" for name, value in kept if name)]
        changes = [f"{word.arg} is {_TODAY[word.arg or '']} now" if _TODAY[word.arg or ""] else f"{word.arg} is gone" for word in old]
        yield (
            f"Use today's arguments of {called(call)}: {', '.join(changes)}",
            [line.edit(call, f"{ast.unparse(call.func)}({', '.join(written)})")],
            "These names are from an older version of Keras.",
        )


@of(UnknownArguments)
def declared_batch(evidence: Evidence, finding: Finding, fact: UnknownArguments) -> Made:
    """An Input in front of the first layer of a list, in place of the shape of a batch that the layer was given."""
    for line in lines_of(evidence):
        for call in nodes(line.scope, ast.Call):
            shape = next((word for word in call.keywords if word.arg == "batch_input_shape"), None)
            inside = any(call in item.elts for item in nodes(line.scope, ast.List))
            if shape is None or not inside:
                continue
            rest = [
                *map(ast.unparse, call.args),
                *(f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords if word is not shape and word.arg),
            ]
            new = f"{MODULE}.Input(batch_shape={ast.unparse(shape.value)}), {ast.unparse(call.func)}({', '.join(rest)})"
            yield (
                f"Declare the batch in an Input: batch_shape={ast.unparse(shape.value)}",
                [line.edit(call, new, evidence.framework or "keras")],
                "Keras 3 takes the shape of a batch in Input alone.",
            )


def module_of_today(evidence: Evidence, finding: Finding) -> Made:
    """A layer where it is today: not in a module of experiments any more."""
    fact = finding.fact
    package = sys.modules.get(evidence.framework)
    if not isinstance(fact, NoAttribute) or package is None:
        return
    for line in lines_of(evidence):
        old = ast.unparse(line.node) if isinstance(line.node, ast.Attribute) else ""
        chains = [item for item in nodes(line.scope, ast.Attribute) if old and ast.unparse(item).startswith(f"{old}.")]
        for item in chains:
            if hasattr(package.layers, item.attr) and isinstance(line.node, ast.Attribute):
                yield (
                    f"Use {ast.unparse(line.node.value)}.{item.attr} instead of {ast.unparse(item)}",
                    [line.edit(item, f"{ast.unparse(line.node.value)}.{item.attr}")],
                    "The layer has moved out of the experimental modules.",
                )
