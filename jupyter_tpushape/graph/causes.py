"""Why two sizes differ that must be equal: the step that lost a pixel, missing padding, or a stride."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from .sizes import Axis, Feed, Given, Opaque, Product, Scaled, Shifted, Size, Slid, Spread, axes, below, chain, evaluate, passed, value

# How far the data's size is varied to find one that fits, and how many windows without padding are named as one cause.
_FAR = 128


class Cause(msgspec.Struct, frozen=True):
    """Where a size starts to differ from the expected one.

    Attributes:
        kind: ``lost``: a stride leaves a remainder that is not restored; ``unpadded``: a window without padding; ``strided``: a stride
            that nothing undoes; ``resized``: the weights were built for a different size of an axis of the data; ``cropped``: a cropping
            takes off another number than the branches are apart; ``factor``: a layer does not multiply by what the stride that it undoes divides by.
        who: the layer. before, after: the size there. back: the size after later layers that undo the stride, or that a cropping should
            leave, else ``None``.
        stride: its stride; for a factor, the one that it should have. more: how many further layers do the same.
        source, axis, size: the axis of the data that it begins with. fits: sizes of it, next to its own, that agree.
    """

    kind: Literal["lost", "unpadded", "strided", "resized", "cropped", "factor"]
    who: str
    before: int
    after: int
    back: int | None
    stride: int
    more: int
    source: str
    axis: int
    size: int | None
    fits: tuple[int, ...]


Step = Slid | Spread | Scaled | Shifted


def cause(size: Size, other: Size | int) -> Cause | None:
    """Why ``size`` differs from ``other``."""
    began = axes(size)
    target = other if isinstance(other, int) else value(other)
    if not began and target is not None:
        return _from_number(size, target)
    if len(began) != 1 or target is None or value(size) in (None, target):
        return None
    # A number that is the data's own size stands for it: labels as large as the input.
    wanted = began[0] if isinstance(other, int) and other == began[0].size else Opaque("", other) if isinstance(other, int) else other
    steps = chain(size)
    values = _values(began[0], steps)
    if values is None:
        return None
    # What both came through is not why they differ.
    shared = 0 if isinstance(other, int) else _shared(steps, chain(other))
    steps, values = steps[shared:], values[shared:]
    found = (
        _cropped(steps, values, target)
        or _alone(steps, values, target)
        or _factor(steps, values, target)
        or _everywhere(steps, values, target)
        or _lost(steps, values)
        or _together(steps, values, target)
    )
    if found is not None and found[0] == "lost" and not any(_near(size, wanted, began[0])) and padded(size) == padded(wanted):
        # No size of the data comes out even: windows without padding take more than a stride leaves over.
        valid = [i for i, step in enumerate(steps) if isinstance(step, Slid) and step.padding == "valid" and step.stride == 1 and step.window > 1]
        found = ("unpadded", valid[0], len(valid) - 1) if valid else found
    if found is None:
        return None
    kind, place, more = found
    one = steps[place]
    back = _back(steps, values, place) if kind == "lost" else target if kind in ("cropped", "factor") else None
    fits = tuple(_near(size, wanted, began[0])) if kind == "lost" else ()
    stride = more if kind == "factor" else one.stride if isinstance(one, (Slid, Spread)) else 1
    more = 0 if kind == "factor" else more
    return Cause(kind, one.who, values[place], values[place + 1], back, stride, more, began[0].who, began[0].axis, began[0].size, fits)


def _from_number(size: Size, target: int) -> Cause | None:
    """The one window without padding, in a size that begins with a number of the program: the map that a generator starts from.

    Of a size that begins behind code of the program's own, a stride as well.
    """
    steps = chain(size)
    begin = steps[0].of if steps else size
    values = _values(begin, steps) if isinstance(begin, (Given, Opaque)) and value(size) not in (None, target) else None
    found = _alone(steps, values, target) if values is not None else None
    if found is None or values is None or not isinstance(begin, (Given, Opaque)) or (found[0] != "unpadded" and isinstance(begin, Given)):
        return None
    one = steps[found[1]]
    stride = one.stride if isinstance(one, (Slid, Spread)) else 1
    return Cause(found[0], one.who, values[found[1]], values[found[1] + 1], None, stride, 0, begin.who, 0, begin.size, ())


def _shared(one: Sequence[Step], other: Sequence[Step]) -> int:
    return next((i for i, (mine, its) in enumerate(zip(one, other, strict=False)) if mine != its), min(len(one), len(other)))


def unlike(sizes: Sequence[Size]) -> Cause | None:
    """Why several sizes all differ: windows without padding on the way to each."""
    whole = {padded(size) for size in sizes}
    steps = [one for size in sizes for one in unpadded(size)]
    began = [axes(size) for size in sizes]
    if len(whole) > 1 or None in whole or not steps or any(len(one) != 1 for one in began):
        return None
    before, after = value(steps[0].of), value(steps[0])
    names = {one.who for one in steps}
    if before is None or after is None:
        return None
    start = began[0][0]
    return Cause("unpadded", steps[0].who, before, after, None, 1, len(names) - 1, start.who, start.axis, start.size, ())


def _values(begin: Axis | Given | Opaque, steps: Sequence[Step]) -> list[int] | None:
    if begin.size is None or (steps and steps[0].of != begin):
        return None
    values = [begin.size]
    for one in steps:
        values.append(passed(one, values[-1]))
    return values


Found = tuple[Literal["lost", "unpadded", "strided", "cropped", "factor"], int, int]


def _again(steps: Sequence[Step], begin: int, changed: dict[int, Step]) -> int:
    n = begin
    for i, one in enumerate(steps):
        n = passed(changed.get(i, one), n)
    return n


def _cropped(steps: Sequence[Step], values: list[int], target: int) -> Found | None:
    one = steps[-1] if steps else None
    return ("cropped", len(steps) - 1, 0) if isinstance(one, Shifted) and one.by < 0 < target <= values[-2] else None


def _alone(steps: Sequence[Step], values: list[int], target: int) -> Found | None:
    for i, one in enumerate(steps):
        shrinks = isinstance(one, Slid) and one.padding == "valid" and one.window > 1 and values[i + 1] < -(-values[i] // one.stride)
        grows = isinstance(one, Spread) and one.padding == "valid" and one.window > one.stride and one.extra is None
        if (shrinks or grows) and _again(steps, values[0], {i: msgspec.structs.replace(one, padding="same")}) == target:
            return "unpadded", i, 0
    strided = [
        i
        for i, one in enumerate(steps)
        if isinstance(one, Slid)
        and one.stride > 1
        and _undone(steps, i) is None
        and _again(steps, values[0], {i: msgspec.structs.replace(one, stride=1, padding="same")}) == target
    ]
    # Several strides of one size give the same in any order: it is the one that leaves the size asked for.
    place = next((i for i in strided if values[i] == target), strided[0] if strided else None)
    return None if place is None else ("strided", place, 0)


def _factor(steps: Sequence[Step], values: list[int], target: int) -> Found | None:
    """One layer of those that undo strides, the last stride first, that multiplies by another number."""
    strides: list[int] = []
    for i, one in enumerate(steps):
        if isinstance(one, Slid) and one.stride > 1:
            strides.append(one.stride)
        elif isinstance(one, (Scaled, Spread)) and strides:
            factor, wanted = one.factor if isinstance(one, Scaled) else one.stride, strides[-1]
            if factor == 1:
                continue
            strides.pop()
            other = msgspec.structs.replace(one, **{"factor" if isinstance(one, Scaled) else "stride": wanted})
            if factor != wanted and _again(steps, values[0], {i: other}) == target:
                return "factor", i, wanted
    return None


def _together(steps: Sequence[Step], values: list[int], target: int) -> Found | None:
    valid = {
        i: msgspec.structs.replace(one, padding="same")
        for i, one in enumerate(steps)
        if isinstance(one, Slid) and one.padding == "valid" and one.stride == 1 and one.window > 1
    }
    return ("unpadded", min(valid), len(valid) - 1) if valid and _again(steps, values[0], dict(valid)) == target else None


def _everywhere(steps: Sequence[Step], values: list[int], target: int) -> Found | None:
    bare = without_padding(steps)
    strided = any(steps[i].stride > 1 for i in bare if isinstance(steps[i], Slid))  # type: ignore[union-attr]
    again = _again(steps, values[0], {i: msgspec.structs.replace(steps[i], padding="same") for i in bare})
    return ("unpadded", bare[0], len(bare) - 1) if len(bare) > 1 and strided and again == target else None


def without_padding(steps: Sequence[Step]) -> list[int]:
    """The places of the windows, sliding or spreading, that are larger than their stride and have no padding."""
    return [i for i, one in enumerate(steps) if isinstance(one, (Slid, Spread)) and one.padding == "valid" and one.window > max(one.stride, 1)]


def _lost(steps: Sequence[Step], values: list[int]) -> Found | None:
    for i, one in enumerate(steps):
        if isinstance(one, Slid) and one.stride > 1 and _rest(one, values[i]) and _undone(steps, i) is not None:
            return "lost", i, 0
    return None


def unpadded(size: Size) -> list[Slid]:
    """The windows without padding and strides that an axis goes through."""
    return [one for one in chain(size) if isinstance(one, Slid) and one.padding == "valid" and one.stride == 1 and one.window > 1]


def padded(size: Size) -> int | None:
    """The size as it would be if every window without strides kept its size."""
    if isinstance(size, Slid):
        before = padded(size.of)
        padding = "same" if size.stride == 1 else size.padding
        return None if before is None else passed(msgspec.structs.replace(size, padding=padding), before)
    if isinstance(size, (Spread, Scaled, Shifted)):
        before = padded(size.of)
        return None if before is None else passed(size, before)
    return value(size)


def _undone(steps: Sequence[Step], place: int) -> tuple[int, bool] | None:
    """The later step that gives back what the stride at ``place`` took, and whether just that."""
    one = steps[place]
    left = one.stride if isinstance(one, Slid) else 1
    for i in range(place + 1, len(steps)):
        later = steps[i]
        if isinstance(later, Slid):
            left *= later.stride
        elif isinstance(later, (Scaled, Spread)):
            factor = later.factor if isinstance(later, Scaled) else later.stride
            if factor > 1 and factor % left == 0:
                return i, factor == left
            left = left // factor if left % factor == 0 else 0
        if not left:
            return None
    return None


def _back(steps: Sequence[Step], values: list[int], place: int) -> int | None:
    undone = _undone(steps, place)
    return values[undone[0] + 1] if undone is not None and undone[1] else None


def _rest(one: Slid, n: int) -> int:
    return (n - one.window) % one.stride if one.padding == "valid" and one.window > one.stride else n % one.stride


def even(size: Size, feed: Feed) -> bool:
    """Whether no stride on the way to a size leaves a rest."""
    if isinstance(size, Slid) and size.stride > 1:
        before = evaluate(size.of, feed)
        if before is None or _rest(size, before):
            return False
    return all(even(part, feed) for part in below(size))


def _near(size: Size, other: Size, axis: Axis) -> Iterator[int]:
    """The next smaller and the next larger size of the data's axis with which the two agree and nothing is lost on the way."""
    for direction in (-1, 1):
        for far in range(1, _FAR):
            n = (axis.size or 0) + direction * far
            if n < 1:
                break

            def feed(found: Axis, n: int = n) -> int | None:
                return n if found == axis else found.size

            one = evaluate(size, feed)
            if one is not None and one == evaluate(other, feed) and even(size, feed) and even(other, feed):
                yield n
                break


def odd(branches: Sequence[Size]) -> int | None:
    """Which of several sizes that were to be equal is the odd one; of two, the one whose own way explains it."""
    values = [value(size) for size in branches]
    counts = {n: values.count(n) for n in values}
    if len(counts) < 2 or None in counts:
        return None
    if len(branches) > 2 and (alone := [i for i, n in enumerate(values) if counts[n] == 1]) and len(alone) == 1:
        return alone[0]
    if len(branches) == 2:
        why = [cause(branches[0], branches[1]), cause(branches[1], branches[0])]
        for explained in ([one is not None for one in why], [one is not None and one.kind == "cropped" for one in why]):
            if explained[0] != explained[1]:
                return explained.index(True)
    return None


def instead(size: Size, wanted: int) -> tuple[str, str, int, int, int] | None:
    """A constant that determines a size, and the constant that would give ``wanted``: layer, argument, constant, resulting size, new constant."""
    begin = size
    while isinstance(begin, (Slid, Spread, Scaled, Shifted)):
        begin = begin.of
    now = value(size)
    if not isinstance(begin, Given) or now is None or now == wanted:
        return None
    steps = chain(size)
    for n in range(1, 4 * max(begin.size, wanted) + 1):
        made = n
        for one in steps:
            made = passed(one, made) if made > 0 else 0
        if made == wanted:
            return begin.who, begin.argument, begin.size, now, n
    return None


def resized(size: Size, wanted: int) -> Cause | None:
    """A different image size with which the folded axes have ``wanted`` values."""
    began = [axis for axis in axes(size) if axis.axis > 0]
    sizes = {axis.size for axis in began}
    now = value(size)
    if not isinstance(size, Product) or len(sizes) != 1 or now is None or (first := sizes.pop()) is None:
        return None
    fits = []
    for n in range(1, 4 * first):

        def feed(axis: Axis, n: int = n) -> int | None:
            return n if axis in began else axis.size

        if evaluate(size, feed) == wanted:
            fits.append((not even(size, feed), abs(n - first), n))
    return Cause("resized", size.who, now, wanted, None, 1, 0, began[0].who, began[0].axis, first, (min(fits)[2],)) if fits else None
