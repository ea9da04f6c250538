"""Candidates for what is loaded: weights from a file, and what a configuration names."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...rules.facts.contracts import WeightApart
from ...rules.facts.lines import Unregistered
from ..edits.expression import MODULE
from ..text.source import nodes
from .edits import Made, named, of
from .line import calls_at, lines_of


@of(WeightApart)
def head_left_out(evidence: Evidence, finding: Finding, fact: WeightApart) -> Made:
    """All other weights of a file, where the last layer has another number of outputs than the one that was saved."""
    node = named(evidence, fact.owner.name) if fact.owner is not None else None
    if node is None or len(fact.wanted) != len(fact.given) or fact.wanted[:-1] != fact.given[:-1] or _read(evidence, node):
        return
    for line, call in calls_at(evidence, finding.location, "load_weights"):
        given = {item.arg for item in call.keywords}
        if "skip_mismatch" in given:
            continue
        # Names that Keras counts up differ from those in the file, which would then be read as a file without these layers.
        own = not any(layer.weights and _counted(layer) for layer in evidence.flow.nodes if layer.kind == "layer")
        older = evidence.framework == "tf_keras" and "by_name" not in given and own
        for more in ("skip_mismatch=True", "by_name=True, skip_mismatch=True")[: 1 + older]:
            yield (
                f"Leave out the weights of {node.name} at {line.at}: {more}",
                [line.more(call, more)],
                f"All other weights are loaded. {node.name} differs from the saved layer in its outputs, so it starts from initial values.",
            )


def _counted(layer: Node) -> bool:
    """Whether a layer's name is that of its class, with a number or without."""
    return layer.name.replace("_", "").lower().startswith(layer.op.lower())


def _read(evidence: Evidence, node: Node) -> bool:
    """Whether another layer with weights reads what a layer returns."""
    pending, seen = [node.id], set[str]()
    while pending:
        for edge in evidence.flow.out_of(pending.pop()):
            target = evidence.flow.node(edge.target)
            if target.id not in seen:
                seen.add(target.id)
                if target.weights:
                    return True
                pending.append(target.id)
    return False


@of(Unregistered)
def register(evidence: Evidence, finding: Finding, fact: Unregistered) -> Made:
    """The function or class with the decorator by which Keras finds it."""
    for line in lines_of(evidence)[:1]:
        for made in nodes(line.source.tree, (ast.FunctionDef, ast.ClassDef)):
            if made.name == fact.name:
                yield (
                    f"Register the {fact.what} {fact.name} at line {made.lineno}",
                    [line.before(made, f"@{MODULE}.register_keras_serializable()", f"{evidence.framework}.saving")],
                    "Keras then finds it by its name.",
                )


# A function of another library may share a name with one of Keras and compute something else.
_LIBRARIES = ("tf", "tensorflow", "keras", "tf_keras")


@of(Unregistered)
def by_name(evidence: Evidence, finding: Finding, fact: Unregistered) -> Made:
    """A function of another library by its name alone, which the framework knows."""
    for line in lines_of(evidence)[:1]:
        for given in nodes(line.node, ast.Attribute) if fact.what == "function" and line.node is not None else ():
            if given.attr == fact.name and ast.unparse(given).split(".")[0] in _LIBRARIES:
                yield (
                    f'Write "{fact.name}" instead of {ast.unparse(given)} at {line.at}',
                    [line.edit(given, f'"{fact.name}"')],
                    "Keras knows the function by its name.",
                )
