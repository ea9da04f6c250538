"""Candidates for names of a class: an attribute that was kept under a bare name, or is read by one."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.layers import LayerRaised
from ..text.source import class_of, method_of, nodes
from .edits import Fix, Made, of
from .forms import words_said
from .line import Line, lines_at, lines_of


@of(LayerRaised)
def own_names(evidence: Evidence, finding: Finding, fact: LayerRaised) -> Made:
    """``self.name`` where a method has ``name``, and the class has the other."""
    said = words_said(evidence)
    for line in lines_of(evidence)[:1] if {"attribute", "name"} & said else ():
        owner = line.owner()
        kept = {node.attr for node in nodes(owner, ast.Attribute) if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"}
        read = line.node
        if isinstance(read, ast.Name) and read.id in kept and read.id in said:
            yield _as_own(line, read)
        local = [
            node
            for method in nodes(owner, ast.FunctionDef)
            if method.name in ("__init__", "build")
            for node in nodes(method, ast.Name)
            if isinstance(node.ctx, ast.Store) and isinstance(read, ast.Attribute) and node.id == read.attr
        ]
        if isinstance(read, ast.Attribute) and ast.unparse(read.value) == "self" and read.attr not in kept and len(local) == 1:
            yield _as_own(line, local[0])


def _as_own(line: Line, name: ast.Name) -> Fix:
    return (f"Use self.{name.id} instead of {name.id} at line {name.lineno}", [line.edit(name, f"self.{name.id}")], "Methods share only attributes.")


@of(LayerRaised)
def shapes_by_name(evidence: Evidence, finding: Finding, fact: LayerRaised) -> Made:
    """The shapes that ``build`` or ``compute_output_shape`` takes, named after what ``call`` takes."""
    said, node = words_said(evidence), evidence.failed
    for line in lines_at(evidence, node.called or node.location)[:1] if node is not None and "foo_shape" in said else ():
        call, *methods = (method_of(class_of(line.source.tree, fact.layer.op), name) for name in ("call", "build", "compute_output_shape") if name in said)
        for method in methods:
            if call is not None and method is not None:
                names = {one.arg: f"{to.arg}_shape" for one, to in zip(method.args.args[1:], call.args.args[1:], strict=False)}
                read = [(one, getattr(one, "arg", "") or getattr(one, "id", "")) for one in nodes(method, (ast.arg, ast.Name))]
                yield (
                    f"Name the arguments of {method.name} {', '.join(names.values())} at line {method.lineno}",
                    [line.edit(one, names[name]) for one, name in read if name in names],
                    "Keras matches them with the arguments of call.",
                )
