"""Reshapes whose target joins axes that are not next to each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ..examine.evidence import Evidence
from ..flow import Node, Shape
from .upstream import ancestors

# More ways than this are not tried.
_MOST = 20_000


def groups_apart(before: Sequence[int | None], after: Sequence[int | None], split: bool) -> list[list[int]]:
    """The axes of one shape that each axis of the other is the product of, where at least two join axes that are apart; empty where none do.

    (rows, columns, r, r, channels) to (rows * r, columns * r, channels) is the way back from blocks, without the transpose that it needs.
    What is left over is joined with the samples. ``split``: a reshape has just split the axes.
    """
    have, want = [n or 0 for n in before], [n or 0 for n in after]
    each = math.prod(have) // (math.prod(want) or 1)
    want = [each, *want] if each > 1 else want
    if len(have) < 4 or not 2 <= len(want) < len(have) or len(want) ** len(have) > _MOST or min(*have, *want) < 2 or math.prod(have) != math.prod(want):
        return []
    if not split and _adjacent(have, want):
        return []
    found: list[list[list[int]]] = []
    for places in itertools.product(range(len(want)), repeat=len(have)):
        groups = [[axis for axis, place in enumerate(places) if place == at] for at in range(len(want))]
        if all(math.prod(have[axis] for axis in group) == size for group, size in zip(groups, want, strict=True)) and all(groups):
            found.append(groups)
    # Blocks of rows and columns of one size may be told apart only by their order.
    found.sort()
    apart = [
        groups
        for groups in found
        if sum(_gap(group) for group in groups) > (not split) and (split or [group[0] for group in groups] == sorted(group[0] for group in groups))
    ]
    return apart[0] if apart else []


def _adjacent(have: list[int], want: list[int]) -> bool:
    reached = set(itertools.accumulate(have, lambda a, b: a * b))
    return set(itertools.accumulate(want, lambda a, b: a * b)) <= reached


def _gap(group: list[int]) -> bool:
    return group[-1] - group[0] >= len(group)


def patch_side(before: Sequence[int | None], after: Sequence[int | None]) -> int:
    """The side of the square patches that a target has as many of as a map of."""
    rows, columns, channels = (n or 0 for n in before) if len(before) == 3 else (0, 0, 0)
    for side in range(2, rows):
        if not rows % side and not columns % side and side * side % (columns or 1):
            many, block = (rows // side, columns // side), (side, side, channels)
            heads, tails = (many, (math.prod(many),)), (block, (side * side, channels), (math.prod(block),))
            if tuple(after) in [(*head, *tail) for head in heads for tail in tails]:
                return side
    return 0


def channels_ahead(before: Sequence[int | None], after: Sequence[int | None], turned: bool) -> bool:
    """Whether a target takes the last axis of its input for the first one and all others for the second: (rows, columns, channels) to (channels, positions).

    That is right for channels that come first. ``turned``: a transpose of the two axes follows, so positions and channels were meant. Without one,
    a target that splits or joins whole rows may be meant.
    """
    have = [n or 0 for n in before]
    if len(have) < 3 or len(after) != 2 or min(have) < 1 or have[-1] < 2:
        return False
    channels, positions = have[-1], math.prod(have[:-1])
    if list(after) != [channels, positions] or positions < 2 or channels in itertools.accumulate(have, lambda a, b: a * b):
        return False
    return turned or bool(channels % have[0] and have[0] % channels)


# Rows and columns of windows side by side, as a transpose brings them there before a reshape makes rows of windows.
WINDOWS = [0, 1, 3, 2, 4, 5]


def put_back(evidence: Evidence, node: Node, given: Shape, after: Shape) -> tuple[int, ...]:
    """The windows of a map, (rows, height, columns, width), which a reshape of rows of windows takes for whole rows of the map; ``()`` otherwise.

    The same of two reshapes, of which the first one splits the rows of windows again.
    """
    split = evidence.flow.node(evidence.flow.into(node.id)[0].source) if len(given) == 6 else None
    if split is not None and split.op.lower() == "reshape":
        node, given = split, next((edge.spec.shape or () for edge in evidence.flow.into(split.id)), ())
    if len(given) != 3 or len(after) != 4 or given[-1] != after[-1]:
        return ()
    for cut in ancestors(evidence, node.id):
        whole = next((edge.spec.shape for edge in evidence.flow.into(cut.id)), None) or ()
        if cut.op.lower() == "transpose" and cut.config.get("operand1") == WINDOWS and len(whole) == 6:
            _, rows, height, columns, width, _ = (n or 0 for n in whole)
            fits = (rows * height, columns * width, height * width) == (after[1], after[2], given[1])
            return (rows, height, columns, width) if fits and columns > 1 and min(height, width) > 1 else ()
    return ()


def pixels_moved(evidence: Evidence, node: Node, given: Shape, after: Shape) -> int:
    """The factor by which a reshape makes a map of a convolution larger in both directions, or smaller, for its channels; 0 for any other reshape."""
    if len(given) != 4 or len(after) != 4 or None in (*given[1:], *after[1:]):
        return 0
    (h, w, c), (rows, columns, channels) = ([size or 0 for size in shape[1:]] for shape in sorted((given, after), key=lambda shape: shape[1] or 0))
    factor = rows // h if h else 0
    if factor < 2 or (rows, columns, channels * factor * factor) != (h * factor, w * factor, c):
        return 0
    maker = next((one for one in ancestors(evidence, node.id) if one.weights), None)
    return factor if maker is not None and maker.family == "convolution" else 0
