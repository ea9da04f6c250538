"""Candidates for layers that a model calls and does not hold: the function that calls them is called itself."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.outside import OutsideModel
from ..text.source import nodes
from .edits import Made, of
from .line import lines_at


@of(OutsideModel)
def held_as_well(evidence: Evidence, finding: Finding, fact: OutsideModel) -> Made:
    """The layers that an object of a plain class holds, in a list that the model holds as well."""
    where = [evidence.flow.node(name).location for name in finding.nodes]
    made = {(one.file, one.line) for one in where if one is not None}
    for line in lines_at(evidence, where[0])[:1] if len({file for file, _ in made}) == 1 else ():
        for cls in (item for item in nodes(line.source.tree, ast.ClassDef) if not item.bases):
            held = [item for item in nodes(cls, ast.Assign) if any(item.lineno <= at <= (item.end_lineno or 0) for _, at in made)]
            names = [ast.unparse(item.targets[0]) for item in held]
            objects = [item for item in nodes(line.source.tree, ast.Assign) if called(item.value) == cls.name]
            found = {at for _, at in made for item in held if item.lineno <= at <= (item.end_lineno or 0)}
            target = ast.unparse(objects[0].targets[0]) if len(objects) == 1 else ""
            if len(found) != len(made) or not target.startswith("self.") or not all(name.startswith("self.") for name in names):
                continue
            layers = ", ".join(name.replace("self", target, 1) for name in names)
            text = f"{line.source.of(objects[0])}\n{' ' * objects[0].col_offset}{target}_layers = [{layers}]"
            yield (
                f"Store the layers of {target} in a list of the model, at line {objects[0].lineno}",
                [line.edit(objects[0], text)],
                "A model tracks the layers in its attributes and in lists of them, but not those in other objects.",
            )


@of(OutsideModel)
def function_itself(evidence: Evidence, finding: Finding, fact: OutsideModel) -> Made:
    """The function that a layer wraps, called on what the layer is called on: its layers are then those of the model."""
    caller = fact.caller
    if caller is None:
        return
    for line in lines_at(evidence, caller.called)[:1]:
        wraps = [call.func for call in line.around(ast.Call) if isinstance(call.func, ast.Call) and called(call.func) == caller.op]
        for wrap in wraps if len(wraps) == 1 else ():
            given = wrap.args[0] if wrap.args else next((one.value for one in wrap.keywords if one.arg == "function"), None)
            if given is None or any(isinstance(one, ast.Starred) for one in nodes(wrap, ast.Starred)):
                continue
            text = ast.unparse(given)
            yield (
                f"Call the function itself instead of {caller.op} at {line.at}",
                [line.edit(wrap, f"({text})" if isinstance(given, ast.Lambda) else text)],
                "The model then contains the layers that the function calls.",
            )
