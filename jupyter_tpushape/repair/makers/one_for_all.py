"""Candidates for an input that is handed over once and not for each sample."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...examine.row_steps import Array
from ...flow import Finding
from ...rules.entry import once_for_all
from ..edits.expression import IT, MODULE
from .edits import Made
from .same_rows import line_in


def repeated(evidence: Evidence, finding: Finding) -> Made:
    """One array for the whole data, such as the adjacency matrix of a graph, repeated for each sample."""
    once = once_for_all(evidence)
    arrays: tuple[Array, ...] = evidence.facts.get("arrays", ())
    mine = [one for one in arrays if one.path in once]
    rest = [one for one in arrays if one.path not in once]
    if len(mine) != 1 or not rest or len({one.rows for one in rest}) != 1:
        return
    named = next((one for one in rest if one.path[0] == "x" and one.names and one.at.scope is mine[0].at.scope), None)
    for line in line_in(evidence, mine[0].at.file, mine[0].node):
        count = f"len({named.names[0]})" if named is not None else str(rest[0].rows)
        yield (
            f"Repeat the one array of {mine[0].rows} rows for each sample at line {mine[0].node.lineno}",
            [line.edit(mine[0].node, f"{MODULE}.repeat({IT}[None], {count}, axis=0)", "numpy")],
            "It has the shape that one sample of this input has.",
        )
