"""Candidates for several labels in the columns of one array, and for one label in several arrays."""

from __future__ import annotations

import itertools

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.compiled import WrongNumber
from .edits import Made, named, of, transform


@of(WrongNumber)
def columns(evidence: Evidence, finding: Finding, fact: WrongNumber) -> Made:
    """One array whose columns are the labels of several outputs, taken apart."""
    if fact.what != "labels" or fact.given != 1 or len(evidence.y) != 1 or len(evidence.y[0][0]) != 1:
        return
    shape, wanted = evidence.y[0][1].shape, len(evidence.outputs)
    if shape is not None and len(shape) == 2 and shape[1] == wanted:
        yield (
            f"Split the {wanted} columns of the labels, one for each output: {', '.join(fact.outputs)}",
            [transform(("y",), "unstack", count=wanted)],
            "Keras matches a list of labels to the outputs in order.",
        )
        return
    widths = _widths(evidence, fact.outputs, (shape or (0, 0))[-1] or 0)
    if shape is not None and len(shape) == 2 and len(widths) == wanted and shape[1] == sum(widths):
        for backward in (False, True)[: 1 + (len(set(widths)) == 2 == wanted)]:
            order = widths[::-1] if backward else widths
            names = [f"{name} ({count})" for name, count in zip(fact.outputs, widths, strict=True)]
            yield (
                f"Split the {shape[1]} columns of the labels between the outputs: {', '.join(names[::-1] if backward else names)}",
                [transform(("y",), "split_last", widths=order, **({"backward": True} if backward else {}))],
                "Keras matches a list of labels to the outputs in order.",
            )


def _widths(evidence: Evidence, names: tuple[str, ...], columns: int) -> list[int]:
    """How many columns each output has: one for each of its values, or the index of a class for a softmax; empty where they do not add up."""
    sizes = [(shape[1] or 0) if (shape := spec.shape or ()) and len(shape) == 2 else 0 for _, spec in evidence.outputs]
    coded = [bool((node := named(evidence, name)) and node.config.get("activation") == "softmax") for name in names]
    for index in (False, True):
        found = [1 if index and one else size for size, one in itertools.zip_longest(sizes, coded, fillvalue=False)]
        if all(found) and sum(found) == columns:
            return found
    return []


@of(WrongNumber)
def as_columns(evidence: Evidence, finding: Finding, fact: WrongNumber) -> Made:
    """Several arrays of labels, one for each value of the only output, as the columns of one."""
    shapes = {tuple(spec.shape or ())[1:] for _, spec in evidence.y}
    head = evidence.outputs[0][1].shape if len(evidence.outputs) == 1 else None
    if fact.what != "labels" or len(evidence.y) != fact.given or not head or len(head) != 2 or head[1] != fact.given or len(shapes) != 1:
        return
    shape = shapes.pop()
    if shape in ((), (1,)) and all(len(path) == 2 and isinstance(path[1], int) for path, _ in evidence.y):
        yield (
            f"Stack the {fact.given} arrays of labels as the columns of one",
            [transform(("y",), "stack_last" if shape == () else "join_last")],
            f"The output has {fact.given} values per sample, one for each of them.",
        )
