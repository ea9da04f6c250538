"""Reasons that the text around the failed line shows, beside the shapes: rows that were flattened or reduced."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from ..examine.counted import counted
from ..examine.evidence import Evidence, Given
from ..examine.heard import hear
from ..examine.heard_data import HeardEntries
from ..examine.written_slices import shifted, unindexed
from ..flow import KeyPath, Node, Shape, Who, elements, syntax
from ..flow.syntax import called
from .facts.reasons import InARow, Reason, SamplesReduced
from .facts.reasons_read import AxisInFront, CountsSamples, DimsDropped, Letters, Multiples, StepMore, Unindexed, VectorsCounted
from .upstream import ancestors


def read(evidence: Evidence, one: Given, other: Given) -> Reason | None:
    """Why two operands of an operation are incompatible."""
    for mine, its in ((one, other), (other, one)):
        row, shape = mine.spec.shape or (), its.spec.shape or ()
        flattened = mine.giver is not None or bool(mine.grows)  # a number of the program holds no samples
        if flattened and len(row) == 1 < len(shape) and row[0] == elements(shape) != shape[0]:
            return InARow(row, shape)
        found = _in_front(evidence, mine, its) or (_unindexed(evidence, mine, its.spec.shape or ()) if mine.giver is None else None)
        if found is not None:
            return found
    return _counts_samples(evidence, one.spec.shape or (), other.spec.shape or ()) or _step_more(evidence, one.spec.shape or (), other.spec.shape or ())


_REDUCES = frozenset({"Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm", "Norm"})


def dims_dropped(evidence: Evidence, mine: Given, its: Given) -> DimsDropped | None:
    """A reduction over the last axis of the samples' rows."""
    made, row, giver = mine.spec.shape or (), its.spec.shape or (), mine.giver
    before = evidence.flow.into(giver.id)[:1] if giver is not None and giver.op in _REDUCES else []
    shape = before[0].spec.shape if before else None
    if giver is None or not shape or shape[:-1] != made or len(made) != 1 or len(row) != 1:
        return None
    return DimsDropped(Who.of(giver), shape, row)


def _counts_samples(evidence: Evidence, one: Shape, other: Shape) -> CountsSamples | None:
    """A table with an entry for each sample, along an inner axis of the other operand that has another size."""
    batch = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None) or 0
    aligned = [(n or 0, m or 0) for n, m in zip(one[::-1], other[::-1], strict=False)]
    meets = [m for n, m in (*aligned, *((b, a) for a, b in aligned)) if n == batch and m not in (0, 1, batch)]
    for raised in (evidence.raised,) if evidence.raised is not None and batch and len(meets) == 1 else ():
        for found in counted(raised, batch, meets[0]):
            return CountsSamples(ast.unparse(found.node), found.node.lineno, batch, found.array, found.axis, meets[0])
    return None


def counted_vectors(evidence: Evidence) -> VectorsCounted | None:
    """What a function that counts pairs of classes was given in place of class indices."""
    raised = evidence.raised
    tree = syntax.parsed(raised.text.strip()) if raised is not None and "confusion_matrix(" in raised.text else None
    calls = [call for call in ast.walk(tree) if isinstance(call, ast.Call) and called(call) == "confusion_matrix"] if tree is not None else []
    shapes = {name: spec.shape or () for name, spec in raised.tensors} if raised is not None else {}
    for call in calls[:1]:
        given = [shapes.get(ast.unparse(one), ()) for one in (*call.args[:2], *(word.value for word in call.keywords if word.arg in ("labels", "predictions")))]
        vectors = tuple(shape for shape in given if len(shape) > 1 and (shape[-1] or 0) > 1)
        if vectors:
            return VectorsCounted("confusion_matrix", vectors)
    return None


def letters(evidence: Evidence, node: Node, operands: list[Given]) -> Letters | None:
    """The letters of an einsum's operand that has another number of axes."""
    tree = syntax.parsed(evidence.raised.text.strip()) if evidence.raised is not None and node.op == "Einsum" else None
    for call in ast.walk(tree) if tree is not None else ():
        text = call.args[0] if isinstance(call, ast.Call) and syntax.called(call) == "einsum" and call.args else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and "." not in text.value:
            for part, one in zip(text.value.replace(" ", "").split("->")[0].split(","), operands, strict=False):
                if len(part) != len(one.spec.shape or ()):
                    return Letters(part, one.spec.shape or ())
    return None


#: What some operations take for each axis of a tensor, by how their names begin.
_ENTRIES = {
    "tile": "multiple",
    "pad": "pair of paddings",
    "mirrorpad": "pair of paddings",
    "slice": "start and one size",
    "dynamicslice": "start and one size",
    "transpose": "entry of perm",
}


def multiples(evidence: Evidence, node: Node, operands: list[Given]) -> Multiples | None:
    """More or fewer multiples, or pairs of paddings, than a tensor has axes."""
    shapes, op = [one.spec.shape or () for one in operands], node.op.lower()
    what = next((_ENTRIES[start] for start in _ENTRIES if op.startswith(start)), "")
    said = hear(node.failure, HeardEntries)
    # The second operand of an update is no row of starts, but what is put there.
    count = said.count if said is not None else shapes[1][0] if len(shapes) > 1 and shapes[1] and "update" not in op else None
    tree = syntax.parsed(evidence.raised.text.strip()) if evidence.raised is not None and "slice" in op else None
    for call in ast.walk(tree) if tree is not None and shapes else ():
        if isinstance(call, ast.Call) and syntax.called(call) in ("slice", "dynamic_slice"):
            written = [len(one.elts) for one in (*call.args, *(word.value for word in call.keywords)) if isinstance(one, ast.Tuple)]
            count = next((one for one in written if one != len(shapes[0])), count)
    if not what or not shapes or count in (None, len(shapes[0])):
        return None
    return Multiples(shapes[0], count or 0, what)


def _step_more(evidence: Evidence, one: Shape, other: Shape) -> StepMore | None:
    aligned = [(n or 0, m or 0) for n, m in zip(one[::-1], other[::-1], strict=False)]
    most = {max(pair) for pair in aligned if abs(pair[0] - pair[1]) == 1 and min(pair) > 1}
    for raised in (evidence.raised, *evidence.raised.callers) if evidence.raised is not None and most else ():
        shapes = {name: spec.shape or () for name, spec in raised.tensors}
        for found in shifted(raised):
            whole = ast.unparse(found.whole)
            steps = shapes.get(whole, ())[1:2]
            if steps and steps[0] in most:
                return StepMore(ast.unparse(found.cut), found.cut.lineno, whole, found.whole.lineno, steps[0] or 0)
    return None


def _unindexed(evidence: Evidence, mine: Given, other: Shape) -> Unindexed | None:
    """An array of the program's own of which, or of whose like, the function reads one entry elsewhere: an entry would broadcast to the other operand."""
    raised, shape = evidence.raised, mine.spec.shape or ()
    ends = zip(shape[:0:-1], other[::-1], strict=False)
    if raised is None or len(shape) < 2 or len(shape) - 1 > len(other) or not all(1 in (n, m) or n == m for n, m in ends):
        return None
    known = {name: spec.shape for name, spec in raised.tensors}
    held = dict.fromkeys(raised.variables)
    for node, entry in unindexed(raised, lambda text: known.get(text) == shape or text in held):
        return Unindexed(ast.unparse(node), shape, node.lineno, entry.of(entry.array), entry.line)
    return None


def _in_front(evidence: Evidence, mine: Given, its: Given) -> AxisInFront | None:
    shape = mine.spec.shape or ()
    rows = (its.spec.shape or (None,))[0]
    behind = (1 in mine.grows and 0 not in mine.grows) if mine.grows or its.grows else shape[1:2] == (None,) == (rows,)
    first = 0 in its.grows or (not its.grows and (its.spec.shape or (1,))[0] is None)
    if mine.giver is None or not behind or not first or shape[:1] != (1,):
        return None
    for node in [mine.giver, *ancestors(evidence, mine.giver.id)]:
        made = next((edge.spec.shape for edge in evidence.flow.out_of(node.id) if edge.spec.shape), None) or (shape if node is mine.giver else None)
        for edge in evidence.flow.into(node.id) if node.kind == "op" and node.called is not None else ():
            before = edge.spec.shape or ()
            if len(before) > 0 and before[0] == rows and made == (1, *before):
                return AxisInFront(Who.of(node), before)
    return None


_REDUCTIONS = frozenset({"sum", "mean", "max", "min", "prod", "all", "any", "argmax", "argmin", "logsumexp"})


def samples_reduced(evidence: Evidence, operands: list[Given], target: Shape) -> SamplesReduced | None:
    """What took the samples out of an operand that has none."""
    told = any(one.grows for one in operands)
    wanted = target[:1] == (None,) or any(_has_samples(one) for one in operands)
    for one in operands if wanted else ():
        if one.giver is None or _has_samples(one) or one.spec.shape is None:
            continue
        for node in [one.giver, *ancestors(evidence, one.giver.id)]:
            given = _reduced_first(evidence, node)
            if given is not None and (given[0] is None or (told and _rows(evidence) == given[0])):
                return SamplesReduced(Who.of(node), given)
    return None


def _has_samples(given: Given) -> bool:
    return 0 in given.grows or (given.spec.shape or (0,))[0] is None


def _rows(evidence: Evidence) -> int:
    return next((spec.shape[0] or 0 for _, spec in evidence.x if spec.shape), 0)


def _reduced_first(evidence: Evidence, node: Node) -> Shape | None:
    """What a reduction got, where it leaves out the first axis, or leaves one entry of it, and keeps all others."""
    edges, made = evidence.flow.into(node.id), next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
    given = edges[0].spec.shape if edges else None
    reduces = node.kind == "op" and node.op.lower().removeprefix("reduce_").removeprefix("reduce") in _REDUCTIONS
    return given if reduces and given and len(given) > 1 and made in (given[1:], (1, *given[1:])) else None


def flattened_rows(evidence: Evidence, counts: Sequence[int]) -> tuple[KeyPath, Shape] | None:
    """The array whose rows are the positions of the other's samples, and the axes of these positions."""
    leaves = list(evidence.sample.leaves("x", "y")) if evidence.sample is not None and len(counts) == 2 else []
    # Of arrays, a leaf has the rows of the whole.
    rows = [(path, leaf.shape or ()) for path, leaf in leaves]
    if len(rows) != 2 or min(counts) < 1 or max(counts) % min(counts):
        return None
    each = max(counts) // min(counts)
    many, few = (0, 1) if counts[0] > counts[1] else (1, 0)
    inner = [shape[1:-1] for shape in [rows[few][1], *(spec.shape or () for _, spec in evidence.outputs)]] + [rows[few][1][1:]]
    for axes in inner:
        if axes and None not in axes and each > 1 and math.prod(n or 0 for n in axes) == each:
            return rows[many][0], axes
    return None
