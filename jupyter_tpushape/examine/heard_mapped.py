"""What the operations of a running pipeline say: a crop larger than its picture, a row that a table does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..flow import Shape
from .heard import Heard, reads


class HeardCrop(Heard, frozen=True):
    """A random crop of shape ``wanted`` was to be taken from a picture of shape ``given``."""

    given: Shape
    wanted: Shape


class HeardRow(Heard, frozen=True):
    """A lookup read row ``index`` of a table with ``size`` rows."""

    index: int
    size: int


_CROP = re.compile(r"Need value\.shape >= size, got \]? ?\[([\d ]+)\] \[([\d ]+)\]")
_ROW = re.compile(r"indices\[[\d,]*\] = (-?\d+) is not in \[0, (\d+)\)")


@reads
def _mapped(text: str) -> Iterator[Heard]:
    if found := _CROP.search(" ".join(text.split())):
        yield HeardCrop(*(tuple(map(int, sizes.split())) for sizes in found.groups()))
    if row := _ROW.search(text):
        yield HeardRow(int(row[1]), int(row[2]))
