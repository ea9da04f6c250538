"""What messages say of axes that cannot be squeezed, and of arguments with an entry for each axis."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .heard import Heard, reads


class HeardSqueezed(Heard, frozen=True):
    """An axis that is not of size 1 was to be squeezed."""

    axis: int


_SQUEEZED = re.compile(r"Can not squeeze dim\[(\d+)\]|select an axis to squeeze out .* dimensions=\((\d+)|Cannot squeeze axis=(\d+)")


@reads
def _squeezed(text: str) -> Iterator[Heard]:
    if found := _SQUEEZED.search(text):
        yield HeardSqueezed(int(found[1] or found[2] or found[3]))


class HeardEntries(Heard, frozen=True):
    """An argument has ``count`` entries, and one belongs to each axis of a tensor."""

    count: int


_ENTRIES = re.compile(
    r"`pad_width` must have the same length .*\(of length (\d+)\) and|slice indices must match number of operand dimensions \((\d+)"
)


@reads
def _entries(text: str) -> Iterator[Heard]:
    if found := _ENTRIES.search(text):
        yield HeardEntries(int(found[1] or found[2]))
