"""Candidates for the shapes to which ``padded_batch`` pads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...rules.facts.padded import PaddedApart
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .line import Line, lines_at, lines_of

_ORDER = ["batch_size", "padded_shapes", "padding_values", "drop_remainder"]


def _shapes(evidence: Evidence) -> Iterator[tuple[Line, ast.expr]]:
    """The shapes at the one ``padded_batch`` of the text that was running."""
    places = [lines_of(evidence), *(lines_at(evidence, stage.location) for stage in evidence.stages)]
    for line in [found[0] for found in places if found][:1]:
        calls = [call for call in nodes(line.source.tree, ast.Call) if isinstance(call.func, ast.Attribute) and call.func.attr == "padded_batch"]
        given = argument(calls[0], "padded_shapes", _ORDER) if len(calls) == 1 else None
        if given is not None:
            yield line, given


def _written(node: ast.AST) -> Shape | None:
    """The sizes in a list or tuple of numbers."""
    held = [one.value if isinstance(one, ast.Constant) else "" for one in node.elts] if isinstance(node, (ast.List, ast.Tuple)) else [""]
    return tuple(held) if all(one is None or type(one) is int for one in held) else None  # type: ignore[arg-type]


@of(PaddedApart)
def rank_of_part(evidence: Evidence, finding: Finding, fact: PaddedApart) -> Made:
    """As many axes as the part of an element has."""
    for line, given in _shapes(evidence) if fact.how == "rank" else ():
        for one in [one for one in nodes(given, ast.expr) if _written(one) == fact.given]:
            row = str(list(fact.row))
            yield f"Use {row} instead of {ast.unparse(one)} in padded_shapes at line {one.lineno}", [line.edit(one, row)], "This is the shape of that part."


@of(PaddedApart)
def parts_in_tuple(evidence: Evidence, finding: Finding, fact: PaddedApart) -> Made:
    """A tuple of shapes in place of a list of them."""
    for line, given in _shapes(evidence) if fact.how == "parts" else ():
        if isinstance(given, ast.List) and given.elts and all(_written(one) is not None for one in given.elts):
            new = f"({', '.join(map(line.source.of, given.elts))}{',' if len(given.elts) == 1 else ''})"
            yield f"Put the shapes in a tuple at line {given.lineno}: {new}", [line.edit(given, new)], "A list is one shape, and a tuple has one for each part."


@of(PaddedApart)
def longest(evidence: Evidence, finding: Finding, fact: PaddedApart) -> Made:
    """The length of the longest element of a batch in place of a fixed one."""
    for line, given in _shapes(evidence) if fact.how == "short" else ():
        sizes = [one for one in nodes(given, ast.expr) if line.number(one) is not None]
        if len(sizes) == 1:
            yield (
                f"Use None instead of {ast.unparse(sizes[0])} in padded_shapes at line {sizes[0].lineno}",
                [line.edit(sizes[0], "None")],
                "Each batch is then padded to its longest element.",
            )
