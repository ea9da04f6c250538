"""Candidates for what Keras does not find by the name that a configuration keeps."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.lines import Unregistered
from ..edits.expression import MODULE
from ..text.source import nodes
from .edits import Made, of
from .line import lines_of


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
