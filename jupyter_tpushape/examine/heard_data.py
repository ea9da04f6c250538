"""What frameworks say of data and of axes: labels beside predictions, arrays beside one another, what a pipeline's functions give, wrong axes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..flow import Shape
from ..flow.spec import either_of, sizes_of
from .heard import Heard, reads, said_as


class HeardCompared(Heard, frozen=True):
    """A loss was given labels and predictions of other sizes, where it compares value by value."""

    labels: Shape
    predictions: Shape


class HeardPositions(HeardCompared, frozen=True):
    """The same for a loss of class numbers, axis by axis up to the last one."""


@said_as(r"Shapes \(([^)]*)\) and \(([^)]*)\) are incompatible")
class HeardIncompatible(Heard, frozen=True):
    """Two shapes that a loss of tf_keras wants alike: those of labels and predictions."""

    labels: Shape
    predictions: Shape


_COMPARED = re.compile(
    r"must have (?:the same (?:shape|rank \(ndim\))|rank \(ndim\) `target\.ndim - 1`)(?P<all>\.? Received:| up until the last dimension:) target\.shape=\(([^)]*)\), output\.shape=\(([^)]*)\)"
    r"|`labels\.shape` must equal `logits\.shape` except for the last dimension\. Received: labels\.shape=\(([^)]*)\) and logits\.shape=\(([^)]*)\)"
    r"|`labels\.shape\.rank` must equal `logits\.shape\.rank - 1`\. Received: labels\.shape=\(([^)]*)\) of rank \d+ and logits\.shape=\(([^)]*)\)"
)
_LOGITS = re.compile(r"`logits` and `labels` must have the same shape, received \(\(([^)]*)\) vs \(([^)]*)\)\)")


@reads
def _compared(text: str) -> Iterator[Heard]:
    if found := _COMPARED.search(" ".join(text.split())):
        whole = (found["all"] or "").endswith("Received:") and "target.ndim - 1" not in found[0]
        kind = HeardCompared if whole else HeardPositions
        yield kind(sizes_of(either_of(found, 2, 4, 6)), sizes_of(either_of(found, 3, 5, 7)))
    if logits := _LOGITS.search(text):
        yield HeardCompared(sizes_of(logits[2]), sizes_of(logits[1]))


@said_as(r"^Dimensions (\d+) and (\d+) are not compatible")
class HeardSlices(Heard, frozen=True):
    """Arrays that are to be sliced together have ``first`` and ``second`` rows."""

    first: int
    second: int


@said_as(r"yielded an element of shape \(([^)]*)\) where an element of shape \(([^)]*)\) was expected")
class HeardYielded(Heard, frozen=True):
    """A generator gave an element of another shape than its signature says."""

    given: Shape
    wanted: Shape


@said_as(r"The padded shape \(([^)]*)\) is not compatible with the shape \(([^)]*)\) of the corresponding input component")
class HeardPadded(Heard, frozen=True):
    """``padded_batch`` was told to pad a part of an element to a shape of another rank."""

    given: Shape
    row: Shape


@said_as(
    r"If shallow structure is a sequence, input must also be a sequence|The two structures don't have the same (?:nested structure|sequence type|number of elements)"
)
class HeardNested(Heard, frozen=True):
    """What describes an element of a dataset is nested otherwise than the element."""


@said_as(r"Attempted to pad to a smaller size than (?:the|an) input element")
class HeardPaddedShort(Heard, frozen=True):
    """An element is longer than ``padded_batch`` was told to pad to."""


class HeardUneven(Heard, frozen=True):
    """Two samples of one batch with different shapes."""

    first: Shape
    second: Shape


_UNEVEN = re.compile(
    r"First element had shape \[(?P<a>[^\]]*)\] and element \d+ had shape \[(?P<b>[^\]]*)\]|\[tensor\]: \[(?P<d>[^\]]*)\], \[batch\]: \[(?P<c>[^\]]*)\]"
)


@reads
def _uneven(text: str) -> Iterator[Heard]:
    if found := _UNEVEN.search(text):
        both = sizes_of(found["a"] or found["c"] or ""), sizes_of(found["b"] or found["d"] or "")
        yield HeardUneven(*sorted(both, key=str))  # samples come in any order


class HeardReturned(Heard, frozen=True):
    """A Python function in a pipeline gave ``given`` for its ``index``-th value, where ``wanted`` was declared."""

    index: int
    given: str
    wanted: str


_RETURNED = re.compile(r"(?<!\d)(\d+)-th value returned by \w+ is (\w+), but expects (\w+)")
_C_NAMES = {"double": "float64", "float": "float32", "half": "float16"}


@reads
def _returned(text: str) -> Iterator[Heard]:
    if found := _RETURNED.search(text):
        yield HeardReturned(int(found[1]), _C_NAMES.get(found[2], found[2]), _C_NAMES.get(found[3], found[3]))


@said_as(r"`?labels\.shape\.rank`? must equal `?logits\.shape\.rank - 1`?\. Received: labels\.shape=\(([^)]*)\) of rank \d+ and logits\.shape=\(([^)]*)\)")
class HeardClassRows(Heard, frozen=True):
    """A function that reads class numbers was given rows of ``labels`` for ``predictions``."""

    labels: Shape
    predictions: Shape


@said_as(r"Can not squeeze dim\[(\d+)\]|select an axis to squeeze out .* dimensions=\((\d+)|Cannot squeeze axis=(\d+)")
class HeardSqueezed(Heard, frozen=True):
    """An axis that is not of size 1 was to be squeezed."""

    axis: int


@said_as(r"`pad_width` must have the same length .*\(of length (\d+)\) and|slice indices must match number of operand dimensions \((\d+)")
class HeardEntries(Heard, frozen=True):
    """An argument has ``count`` entries, and one belongs to each axis of a tensor."""

    count: int
