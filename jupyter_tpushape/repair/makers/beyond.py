"""Candidates for an index beyond the end of its axis: the last place, or one more value in front of the loss that reads it."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.ranges import IndexBeyond
from ..text.source import nodes
from .edits import Made, configure, of, way_to, width_of
from .line import lines_at, whole_number


@of(IndexBeyond)
def one_value_more(evidence: Evidence, finding: Finding, fact: IndexBeyond) -> Made:
    """As many values in the last axis of the predictions as the labels have, which are read at the same index."""
    rows = [spec.shape for _, spec in evidence.y if spec.shape and len(spec.shape) == len(fact.shape)]
    wanted = fact.index + 1
    if fact.axis != len(fact.shape) - 1 or not any(shape == (*fact.shape[:-1], wanted) for shape in rows):
        return
    edge = next(one for one in evidence.flow.edges if one.id == finding.edges[0])
    giver = evidence.flow.node(edge.source)
    said = f"at axis {fact.axis}, as the labels have"
    target = giver.config.get("target_shape")
    for head in way_to(evidence, giver):
        width = width_of(head)
        units = head.config.get(width)
        if not isinstance(units, int):
            continue
        if head is giver and units == fact.size:
            yield f"Set {width}={wanted} on {head.name}: {wanted} values {said}", [configure(head.name, **{width: wanted})], ""
        elif isinstance(target, (list, tuple)) and target and target[-1] == fact.size and units % fact.size == 0:
            more = units // fact.size * wanted
            yield (
                f"Set {width}={more} on {head.name} and target_shape={(*target[:-1], wanted)} on {giver.name}: {wanted} values {said}",
                [configure(head.name, **{width: more}), configure(giver.name, target_shape=[*target[:-1], wanted])],
                "The loss reads the labels at this index, too.",
            )
        return


@of(IndexBeyond)
def last_place(evidence: Evidence, finding: Finding, fact: IndexBeyond) -> Made:
    """The last place of an axis of positions, where an index counts from 1."""
    if fact.index != fact.size or fact.axis in (0, len(fact.shape) - 1):
        return
    for line in lines_at(evidence, finding.location)[:1]:
        found = [
            part
            for item in nodes(line.scope, ast.Subscript)
            if item.lineno == line.raised.line and isinstance(item.slice, ast.Tuple) and len(item.slice.elts) > fact.axis
            for part in [item.slice.elts[fact.axis]]
            if line.number(part) == fact.index or isinstance(part, (ast.Name, ast.Attribute))
        ]
        for part in found[:1] if len(found) == 1 else ():
            new = "-1" if whole_number(part) is not None else f"{ast.unparse(part)} - 1"
            yield (
                f"Use index {new} instead of {ast.unparse(part)} at {line.at}",
                [line.edit(part, new)],
                "This is the last place, which JAX reads already.",
            )
