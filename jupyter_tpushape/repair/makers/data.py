"""Candidates in the code that makes the data: reshapes, rows and columns, arrays of different lengths."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Edit, EditKind, Finding, elements, show_shape
from ...rules.entry import matched
from ...rules.facts.data import Refused, Unfilled
from .edits import Made, where
from .entry import declaration


def recount(evidence: Evidence, finding: Finding) -> Made:
    """Let NumPy count the rows of a reshape in the data code."""
    shape = list(finding.fact.wanted) if isinstance(finding.fact, Unfilled) else []
    if len(shape) > 1 and shape[0] > 0:
        yield (
            f"Let NumPy count the rows: reshape(-1, {', '.join(map(str, shape[1:]))})",
            [Edit("data-transform", "data", {"op": "source", "shape": shape})],
            "each array has its own number of rows",
        )


def yield_tuple(evidence: Evidence, finding: Finding) -> Made:
    """The lists in a generator's elements, or in a PyDataset's, as tuples."""
    sample = evidence.sample
    if isinstance(finding.fact, Refused) and finding.fact.code in ("element-list", "parts-list") and sample is not None and sample.stages:
        name, parts = sample.stages[0].function, [i for i, part in enumerate((sample.x, sample.y, sample.weight)) if isinstance(part, list)]
        yield (
            f"Make the lists in {name} tuples",
            [Edit("data-transform", "data", {"op": "yield_tuple", "function": name, "parts": parts})],
            "a tuple is taken apart into inputs and labels, a list is not",
        )


def pad_rows(evidence: Evidence, finding: Finding) -> Made:
    """Lists of ids of several lengths brought to the one that the model declares, as ``pad_sequences`` does: zeros in front."""
    fact, declared = finding.fact, [spec.shape for _, spec in evidence.declared or []]
    if not isinstance(fact, Refused) or not fact.ids or len(declared) != 1 or not declared[0] or len(declared[0]) != 2:
        return
    if (length := declared[0][1]) is not None:
        yield (
            f"Pad the rows to {length}, with zeros in front",
            [Edit("data-transform", "x", {"op": "pad_rows", "length": length})],
            "as keras.utils.pad_sequences does; longer rows keep their last ids",
        )


def group_rows(evidence: Evidence, finding: Finding) -> Made:
    """Rows that are parts of a sample put together: as many to a sample as the model declares on its first axis."""
    labels = {leaf.concrete[0] for _, leaf in evidence.sample.leaves("y") if leaf.concrete} if evidence.sample is not None else set()
    counts = finding.fact.counts if isinstance(finding.fact, Refused) else ()
    for (_, want), (path, got) in matched(evidence):
        row, parts = (want.shape or ())[1:], (got.shape or ())[1:]
        if len(row) == len(parts) + 1 and row[0] and row[1:] == parts and len(counts) == 2 and counts[0] == row[0] * counts[1] and labels:
            yield (
                f"Put {row[0]} rows together to a sample of {show_shape(row)}",
                [Edit("data-transform", "x", {"op": "group_rows", "shape": list(row), **where(path)})],
                f"{counts[0]} rows for {counts[1]} labels are {row[0]} to each",
            )


def transpose_rows(evidence: Evidence, finding: Finding) -> Made:
    """Samples lie in columns: as many columns as there are labels."""
    rows = [leaf.concrete for _, leaf in evidence.sample.leaves()] if evidence.sample is not None else []
    if evidence.declared and len(evidence.x) == 1 and len(rows) > 1 and rows[0] is not None and len(rows[0]) == 2:
        yield (
            "Transpose the data: one sample a row",
            [Edit("data-transform", "x", {"op": "transpose", "perm": [1, 0]})],
            "there are as many columns as labels",
        )


def transpose_all(evidence: Evidence, finding: Finding) -> Made:
    """Samples lie in the columns of every array."""
    leaves = [(path, leaf.concrete) for path, leaf in evidence.sample.leaves()] if evidence.sample is not None else []
    shapes = [shape for _, shape in leaves]
    declared = [spec.shape for _, spec in evidence.declared or [] if spec.shape]
    if len(leaves) != 2 or len(declared) != 1 or any(shape is None or len(shape) != 2 for shape in shapes):
        return
    x, y = shapes
    counts = finding.fact.counts if isinstance(finding.fact, Refused) else ()
    if len(counts) == 2 and x[1] == y[1] and declared[0] is not None and len(declared[0]) == 2 and declared[0][1] == counts[0]:
        edits = [
            Edit("data-transform", "x", {"op": "transpose", "perm": [1, 0]}),
            Edit("label-transform", "y", {"op": "transpose", "perm": [1, 0]}),
        ]
        yield (
            "Transpose data and labels: one sample a row",
            edits,
            f"both have {x[1]} columns, and the model reads {counts[0]} numbers a sample",
        )


def whole_windows(evidence: Evidence, finding: Finding) -> Made:
    """Rows that fill no whole window are left out before a reshape; or each row holds more than the reshape says."""
    fact = finding.fact
    if not isinstance(fact, Unfilled) or len(fact.wanted) < 2 or any(n < 1 for n in fact.wanted):
        return
    shape = list(fact.wanted)
    yield (
        f"Leave out the last rows, which fill no window of {shape[0]}",
        [Edit("data-transform", "data", {"op": "source", "shape": shape, "fill": True})],
        "the windows before them stay as they are",
    )
    ratio, rest = divmod(fact.have, elements(tuple(shape)) or 1)
    if not rest and ratio > 1:
        last = shape[-1] * ratio
        edits = [Edit("data-transform", "data", {"op": "source", "shape": shape, "last": last})]
        for door, spec in evidence.declared or []:
            if spec.shape is not None and list(spec.shape[1:]) == shape[1:]:
                row = (*shape[1:-1], last)
                yield (
                    f"Read {last} channels: reshape to {show_shape((shape[0], *row))} and declare {show_shape(row)}",
                    [*edits, declaration(evidence, door, row)],
                    f"each row holds {ratio} times as many numbers",
                )
        yield f"Read {last} for the last axis of the reshape", edits, f"each row holds {ratio} times as many numbers"


def shared_rows(evidence: Evidence, finding: Finding) -> Made:
    """Arrays of different lengths: the rows that all of them have."""
    shared = getattr(evidence.sample, "rows", None)
    if not shared or not any(problem.code == "cardinality" for problem in evidence.sample.problems):
        return
    edits: list[Edit] = []
    for path, _ in evidence.sample.leaves("x", "y"):
        kind: EditKind = "data-transform" if path[0] == "x" else "label-transform"
        edits.append(Edit(kind, path[0], {"op": "pad_axis", "axis": 0, "size": shared, "cut": True, **where(path)}))
    if edits:
        yield (
            f"Keep the first {shared} rows, which all the arrays have",
            edits,
            "right only where row for row belongs together; the rows behind them are not used",
        )
