"""What NumPy refuses to combine, to join, to look up or to make one array of, in the code that makes the data."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_contracts import HeardUnpack
from ..examine.heard_lines import HeardArrays, HeardBeyond, HeardJoined
from ..flow import Fact
from ..flow.syntax import names_in
from .facts.arrays import ClassBeyond, JoinedApart, ListsApart, ResultsApart, RowBeyond
from .facts.data import PipelineShapes
from .facts.layers import ArraysApart


def refused(evidence: Evidence, said: str, code: str) -> Fact | None:
    """The fact for a message of NumPy's; ``code`` is the expression that raised."""
    arrays, joined = hear(said, HeardArrays), hear(said, HeardJoined)
    classes, lists = evidence.facts.get("classes"), evidence.facts.get("lists")
    if arrays is not None and arrays.how == "combined":
        return PipelineShapes(arrays.first, arrays.second)
    if arrays is not None:
        return ArraysApart(arrays.how, arrays.first, arrays.second)
    if classes is not None:
        return ClassBeyond(classes.labels, classes.count, classes.lowest, classes.highest)
    if lists is not None:
        return ListsApart(lists.name, lists.shortest, lists.longest)
    unpack, beyond = hear(said, HeardUnpack), hear(said, HeardBeyond)
    if unpack is not None:
        return ResultsApart(code, unpack.wanted, unpack.many)
    if beyond is not None:
        return RowBeyond(code, beyond.index, beyond.size)
    return _joined(evidence, joined, code) if joined is not None else None


def _joined(evidence: Evidence, joined: HeardJoined, code: str) -> JoinedApart:
    raised = evidence.raised
    names = names_in(raised.text) if raised is not None else set()
    shapes = tuple(spec.shape for name, spec in raised.tensors if name in names and spec.shape is not None) if raised is not None else ()
    if len(shapes) < 2 or len({len(shape) for shape in shapes}) != 1:
        return JoinedApart(code, joined.axis, joined.first, joined.second, fits=joined.axis)
    differ = [axis for axis in range(len(shapes[0])) if len({shape[axis] for shape in shapes}) > 1]
    return JoinedApart(code, joined.axis, joined.first, joined.second, shapes, differ[0] if len(differ) == 1 else None)
