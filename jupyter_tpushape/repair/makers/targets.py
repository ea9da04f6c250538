"""Candidates for the target of a reshape: as many values as arrive, as near to what is written as possible."""

from __future__ import annotations

import math

from ...examine.evidence import Evidence
from ...flow import Finding, Node, Shape, elements
from ...rules.facts.loss import GridApart
from .edits import Fix, Made, configure, failing, given, insert, named, of, setting, upstream, way_to


def reshape_target(evidence: Evidence, finding: Finding) -> Made:
    """A target that holds as many numbers as there are, as near to the written one as possible."""
    node, shape = failing(evidence)
    target = node.config.get("target_shape")
    size = elements(shape[1:]) if shape else None
    if not target or size is None:
        return
    wanted = [int(n) for n in target]
    yield from _first_again(node, shape, wanted, size)
    kept = [i for i, n in enumerate(wanted) if shape is not None and i + 1 < len(shape) and n == shape[i + 1] and n > 1]
    if shape is not None and len(wanted) == len(shape) - 2:
        # Rows and columns stay, and what stands in front of them goes into the last axis.
        behind = [i for i, n in enumerate(wanted) if n == shape[i + 2]]
        kept = behind if behind == list(range(len(wanted) - 1)) else kept
    folds = foldings([int(n or 0) for n in shape[1:]], len(wanted)) if shape and not kept else []
    # What has more of the sizes that are written is nearer to what was meant.
    for folded in sorted(folds, key=lambda one: -sum(a == b for a, b in zip(one, wanted, strict=True))):
        yield (
            f"Reshape to {folded}, the size that arrives",
            [configure(node.name, target_shape=list(folded))],
            "The target shape was for a different size.",
        )
    made = [_with_axis(node, wanted, axis, size) for axis in _axes_to_change(wanted, kept)]
    # A target that is as high as wide was meant so.
    square = len(wanted) == 3 and wanted[0] == wanted[1]
    made = [(fix, target) for fix, target in made if target]
    apart = [fix for fix, target in made if square and target[0] != target[1]]
    yield from (fix for fix, _ in made if fix not in apart)
    if len(wanted) == 1:
        edit = configure(node.name, target_shape=[-1])
        yield "Reshape to one axis of any size: (-1,)", [edit], "Every value is kept, whatever their number."
    giver = next((item for item in upstream(evidence, node) if item.op == "Dense"), None)
    if giver is not None and all(n > 0 for n in wanted):
        yield setting(giver, "units", math.prod(wanted), ", the size of the target shape", "Adds weights.")
    yield from apart


def _with_axis(node: Node, wanted: list[int], axis: int, size: int) -> tuple[Fix, list[int]]:
    """The target with the size of one axis taken from the others; an empty one where that is no whole number."""
    rest = math.prod(n for i, n in enumerate(wanted) if i != axis and n > 0)
    made = [size // rest if i == axis else n for i, n in enumerate(wanted)] if rest and size % rest == 0 else []
    why = f"The size of axis {axis + 1} follows from the others."
    return (f"Reshape to {tuple(made)}, which has {size} values", [configure(node.name, target_shape=made)], why), made


def _first_again(node: Node, shape: Shape | None, wanted: list[int], size: int) -> Made:
    """An inner axis as the first one, in front of all others in one: a reshape alone would mix it with them."""
    row = [int(n or 0) for n in (shape or ())[1:]]
    if len(wanted) != 2 or len(row) < 3 or row.count(wanted[0]) != 1 or row[0] == wanted[0]:
        return
    place = row.index(wanted[0])
    order = [place + 1, *(i + 1 for i in range(len(row)) if i != place)]
    made = (wanted[0], size // wanted[0])
    yield (
        f"Move axis {place + 1} to the front with Permute({tuple(order)}), and reshape to {made}",
        [insert(node.name, "Permute", dims=order), configure(node.name, target_shape=list(made))],
        f"Each of the {made[0]} steps then keeps its {made[1]} values together.",
    )


@of(GridApart)
def steps_of_labels(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """A target that has as many steps as the labels, where another number of them was written; the rest follows from what arrives."""
    head, place, steps = named(evidence, fact.head.name), fact.axis - 1, fact.labels[fact.axis]
    for node in way_to(evidence, head) if head is not None and steps else ():
        target, shape = list(node.config.get("target_shape") or ()), given(evidence, node)
        size = elements(shape[1:]) if shape else None
        if node.op != "Reshape" or place >= len(target) or target[place] != fact.predictions[fact.axis] or not size or size % (steps or 1):
            continue
        yield from _first_again(node, shape, [steps or 1, -1] if len(target) == 2 and not place else [], size)
        others = [i for i in range(len(target)) if i != place]
        rest = size // (steps or 1)
        for axis in reversed(others):
            kept = math.prod(target[i] for i in others if i != axis)
            if kept > 0 and rest % kept == 0:
                made = [steps if i == place else rest // kept if i == axis else n for i, n in enumerate(target)]
                yield (
                    f"Reshape to {tuple(made)} in {node.name}",
                    [configure(node.name, target_shape=made)],
                    f"The labels have {steps} steps, and {size:,} values arrive.",
                )
        return


def foldings(row: list[int], rank: int) -> list[tuple[int, ...]]:
    """Shapes of ``rank`` axes that a row folds to where neighbors become one axis: the first axes stay first, then the last ones."""
    if not 1 < rank < len(row):
        return []
    more = len(row) - rank + 1
    return [(*row[: rank - 1], math.prod(row[rank - 1 :])), (math.prod(row[:more]), *row[more:])]


def _axes_to_change(wanted: list[int], kept: list[int]) -> list[int]:
    """Which number of a target to work out from the others. An axis that is kept as it came holds what it held: steps stay steps."""
    others = [i for i in range(len(wanted)) if i not in kept] or list(range(len(wanted)))
    return sorted(others, key=lambda i: (wanted[i] == 1, i))
