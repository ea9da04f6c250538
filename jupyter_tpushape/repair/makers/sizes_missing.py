"""Candidates for a size that is read of an array without that axis."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.lines import SizeMissing
from .edits import Made, of, transform
from .line import lines_of


@of(SizeMissing)
def one_feature(evidence: Evidence, finding: Finding, fact: SizeMissing) -> Made:
    """A last axis of size 1 for the data, where it is the array, and that size for the one that is read."""
    paths = [path for path, spec in evidence.x if spec.shape and spec.shape[1:] == fact.shape[1:]]
    if fact.axis != len(fact.shape) or len(paths) != 1 or len(evidence.x) != 1:
        return
    for line in lines_of(evidence)[:1]:
        for node in line.around(ast.Subscript):
            if ast.unparse(node) == f"{fact.name}.shape[{fact.axis}]":
                yield (
                    f"Add a last axis of size 1 to the data, and use 1 for its size at line {node.lineno}",
                    [transform(paths[0], "expand_dims", axis=fact.axis), line.edit(node, "1")],
                    "Each value is then one feature.",
                )
