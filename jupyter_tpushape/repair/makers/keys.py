"""Candidates for random numbers that are drawn a second time from one key."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.keys import KeyReused
from ..edits.expression import IT
from .edits import Made, of
from .line import lines_at


@of(KeyReused)
def derived(evidence: Evidence, finding: Finding, fact: KeyReused) -> Made:
    """A separate key for the second draw."""
    calls = [(line, line.node) for line in lines_at(evidence, finding.location) if isinstance(line.node, ast.Call)]
    for line, call in sorted(calls, key=lambda pair: (pair[1].lineno, pair[1].col_offset), reverse=True):
        key = line.keyword("key") or next(iter(call.args), None)
        draws = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in ("jax.random", "random", "jr")
        if draws and isinstance(call.func, ast.Attribute) and isinstance(key, (ast.Name, ast.Attribute)):
            yield (
                f"Use a separate key at {line.at}: fold_in({ast.unparse(key)}, 1)",
                [line.edit(key, f"{ast.unparse(call.func.value)}.fold_in({IT}, 1)")],
                "Each key gives its own numbers.",
            )
            return
