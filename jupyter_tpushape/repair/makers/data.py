"""Candidates in the code that makes the data: reshapes, rows and columns, arrays of different lengths."""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, elements, show_shape
from ...flow.paths import show
from ...flow.syntax import called
from ...rules.entry import batched_twice, matched
from ...rules.facts.data import ClassesAsWeights, RankNeeded, Refused, ReturnedDtype, SlicedApart, TextArray, Unfilled, WidthsVary, YieldedShape
from ...rules.facts.loss import GridApart
from ..edits import YieldArrays, data_code
from ..text.source import nodes
from .edits import Made, of, transform
from .entry import declaration
from .line import lines_of


def recount(evidence: Evidence, finding: Finding) -> Made:
    """Let NumPy count the rows of a reshape in the data code."""
    shape = list(finding.fact.wanted) if isinstance(finding.fact, Unfilled) else []
    if len(shape) > 1 and shape[0] > 0:
        yield (
            f"Let NumPy infer the number of rows: reshape(-1, {', '.join(map(str, shape[1:]))})",
            [data_code.CountRows("data", shape=shape)],
            "Each array has a different number of rows.",
        )


def yield_arrays(evidence: Evidence, finding: Finding) -> Made:
    """The samples in a generator's lists, or in a PyDataset's."""
    sample = evidence.sample
    if (isinstance(finding.fact, Refused) and finding.fact.code != "parts-list") or sample is None or not sample.stages:
        return
    parts, declared = (sample.x, sample.y, sample.weight), [spec.shape for _, spec in evidence.declared or []]
    counts = {len(part) for part in parts if isinstance(part, list)}
    shapes = {getattr(leaf, "concrete", None) for leaf in sample.x} if isinstance(sample.x, list) else set()
    labels = {leaf.concrete[0] for _, leaf in sample.leaves("y") if leaf.concrete} if not isinstance(sample.y, list) else counts
    whole = len(shapes) == 1 and len(declared) == 1 and declared[0] is not None and len(next(iter(shapes)) or ()) == len(declared[0]) - 1
    # A list of numbers is one array as well, with one for each sample.
    scalars = [part for part in parts if isinstance(part, list) and {getattr(leaf, "concrete", None) for leaf in part} == {()}]
    rows = {leaf.concrete[0] for _, leaf in sample.leaves("x") if leaf.concrete} if not isinstance(sample.x, list) else set()
    single = bool(scalars) and len(scalars) == sum(isinstance(part, list) for part in parts) and rows == counts
    if (whole and len(counts) == 1 and labels == counts and min(counts) > 1) or single:
        yield (
            f"Convert the lists of samples in {sample.stages[0].function} to arrays: np.array",
            [YieldArrays("data", sample.stages[0].function, [i for i, part in enumerate(parts) if isinstance(part, list)])],
            f"Each list holds the {min(counts)} {'numbers' if single else 'samples'} of a batch; Keras reads a list as several {'labels' if single else 'inputs'}.",
        )


def rows_inside(evidence: Evidence, finding: Finding) -> Made:
    """An array whose samples lie behind a first axis of size 1."""
    counts = finding.fact.counts if isinstance(finding.fact, Refused) else ()
    for path, leaf in evidence.sample.leaves("x", "y") if evidence.sample is not None and 1 in counts else ():
        first, rows = (*(leaf.concrete or ())[:1], *(leaf.shape or ())[1:2], None, None)[:2]
        if first == 1 != rows and rows in counts:
            yield (
                f"Squeeze the first axis of {show(path)} (size 1)",
                [transform(path, "squeeze", axis=0)],
                f"Its second axis has {rows} entries, one for each sample.",
            )


def batch_of_one(evidence: Evidence, finding: Finding) -> Made:
    """One sample without its batch axis, beside a label that has one."""
    counts = finding.fact.counts if isinstance(finding.fact, Refused) else ()
    declared = [spec.shape for _, spec in evidence.declared or []]
    leaves = [*evidence.sample.leaves("x")] if evidence.sample is not None and 1 in counts[1:] else []
    for path, leaf in leaves if len(leaves) == len(declared) == 1 and counts[0] > 1 else ():
        if leaf.shape is not None and len(leaf.shape) == len(declared[0] or ()) - 1:
            yield (
                f"Add a batch axis to {show(path)}: {show(path)}[None]",
                [transform(path, "expand_dims", axis=0)],
                "There is one label, so all the values are one sample.",
            )


def yield_tuple(evidence: Evidence, finding: Finding) -> Made:
    """The lists in a generator's elements, or in a PyDataset's."""
    sample = evidence.sample
    if isinstance(finding.fact, Refused) and finding.fact.code in ("element-list", "parts-list") and sample is not None and sample.stages:
        name, parts = sample.stages[0].function, [i for i, part in enumerate((sample.x, sample.y, sample.weight)) if isinstance(part, list)]
        yield (
            f"Change the lists in {name} to tuples",
            [data_code.YieldTuple("data", name, parts)],
            "Keras unpacks a tuple into inputs and labels, but not a list.",
        )


@of(YieldedShape)
def yielded_axis(evidence: Evidence, finding: Finding, fact: YieldedShape) -> Made:
    """An axis of size 1 more, or less, at what a generator yields."""
    stages = evidence.stages
    if not stages:
        return
    few, many = sorted((fact.given, fact.wanted), key=len)
    axes = [axis for axis, size in enumerate(many) if size == 1 and (*many[:axis], *many[axis + 1 :]) == few]
    if not axes or len(many) != len(few) + 1:
        return
    axis = axes[-1]
    lacks = len(fact.given) < len(fact.wanted)
    index = ", ".join([*([":"] * axis if axis + 1 < len(many) else ["..."]), "None" if lacks else "0"])
    for part in range(2):
        yield (
            f"Yield {show_shape(fact.wanted)} in {stages[0].function}: [{index}]",
            [data_code.YieldIndexed("data", stages[0].function, part, index)],
            "Keeps every value.",
        )


@of(YieldedShape)
def signature_of_model(evidence: Evidence, finding: Finding, fact: YieldedShape) -> Made:
    """The signature alone is wrong, where the generator yields what the model declares."""
    if any((spec.shape or ())[1:] == tuple(fact.given) for _, spec in evidence.declared or ()):
        yield from signature(evidence, finding)


@of(YieldedShape)
def signature(evidence: Evidence, finding: Finding, fact: YieldedShape) -> Made:
    """The shape that a generator yields, in its signature."""
    alike = len(fact.given) == len(fact.wanted)
    row = [None if alike and said is None else got for got, said in zip_longest(fact.given, fact.wanted)][: len(fact.given)]
    yield (
        f"Declare {show_shape(tuple(row))} in output_signature",
        [data_code.SignatureShape("data", list(fact.wanted), row)],
        "A generator's signature describes one element, without the batch axis.",
    )


def batched_once(evidence: Evidence, finding: Finding) -> Made:
    """The batch itself, where a generator or PyDataset gives it as one row of a larger batch."""
    stages, parts = evidence.stages, batched_twice(evidence)
    if parts and stages and stages[0].op in ("generator", "pydataset"):
        yield (
            f"Remove the first axis, of size 1, in {stages[0].function}: [0]",
            [data_code.YieldIndexed("data", stages[0].function, i, "0") for i in parts],
            "Each element is already a batch.",
        )


@of(SlicedApart)
def sliced_tuple(evidence: Evidence, finding: Finding, fact: SlicedApart) -> Made:
    """Inputs in a tuple, of which each is sliced, and not in a list."""
    for count in {min(fact.first, fact.second)}:
        yield (f"Put the {count} arrays of the list into a tuple", [data_code.SlicedTuple("data", count)], "Each array is then sliced by rows.")


@of(ReturnedDtype)
def returned_dtype(evidence: Evidence, finding: Finding, fact: ReturnedDtype) -> Made:
    """The declared dtype for what a Python function of the pipeline returns."""
    yield (
        f"Return value {fact.index} as {fact.wanted}",
        [data_code.ReturnedDtype("data", fact.index, fact.wanted)],
        "The function then returns what Tout declares.",
    )


@of(WidthsVary)
def counted_classes(evidence: Evidence, finding: Finding, fact: WidthsVary) -> Made:
    """As many classes in each batch as the model has outputs."""
    if fact.classes is not None:
        yield (
            f"Set num_classes={fact.classes} in to_categorical",
            [data_code.CountedClasses("data", fact.classes)],
            "Every batch then has one column for each output of the model.",
        )


@of(Refused)
def pad_rows(evidence: Evidence, finding: Finding, fact: Refused) -> Made:
    """Lists of ids of several lengths brought to the one that the model declares, as ``pad_sequences`` does: zeros in front."""
    declared = [spec.shape for _, spec in evidence.declared or []]
    if not (fact.ids or fact.steps or fact.alike) or len(declared) > 1:
        return
    if fact.alike:
        yield "Stack the rows into one array", [transform(fact.path, "stack_rows")], "All rows have the same shape."
        return
    if fact.steps:
        shape = declared[0] if declared and declared[0] else ()
        if fact.path == ("x",) and len(shape) > 2:
            how: dict[str, Any] = {"rank": len(shape), **({"length": shape[1]} if shape[1] else {})}
            yield (
                f"Pad each row at the start, with zeros, to {f'{shape[1]} steps' if shape[1] else 'the length of the longest'}",
                [transform(("x",), "pad_steps", **how)],
                "Like keras.utils.pad_sequences. A Masking layer would skip these steps.",
            )
        return
    if not declared or not declared[0] or declared[0] == (None, None):
        yield (
            "Pad each row at the start, with zeros, to the length of the longest",
            [transform(("x",), "pad_longest")],
            "Like keras.utils.pad_sequences. Choose a longer length if later data may need it.",
        )
        return
    if len(declared[0]) == 2 and (length := declared[0][1]) is not None:
        yield (
            f"Pad each row to {length} at the start, with zeros",
            [transform(("x",), "pad_rows", length=length)],
            "Like keras.utils.pad_sequences: longer rows keep their last ids.",
        )


def no_animations(evidence: Evidence, finding: Finding) -> Made:
    """Images decoded with a known rank, and with as many channels as the model declares."""
    channels = {spec.shape[-1] for _, spec in evidence.declared or [] if spec.shape is not None and len(spec.shape) == 4} - {None}
    for line in lines_of(evidence)[:1] if isinstance(finding.fact, RankNeeded) else ():
        for call in nodes(line.scope, ast.Call):
            given = {word.arg for word in call.keywords}
            if called(call) != "decode_image" or "expand_animations" in given:
                continue
            more = f", channels={next(iter(channels))}" if len(channels) == 1 and "channels" not in given and len(call.args) == 1 else ""
            yield (
                f"Read images of a known rank at line {call.lineno}: expand_animations=False",
                [line.edit(call, f"{ast.unparse(call)[:-1]}{more}, expand_animations=False)")],
                "An image then has three axes; of an animation, only the first frame is read.",
            )


@of(Refused)
def as_numbers(evidence: Evidence, finding: Finding, fact: Refused) -> Made:
    """An array of objects, texts or long floats as numbers of one dtype."""
    if fact.code == "plain-lists":
        yield f"Convert {show(fact.path)} to an array", [transform(fact.path, "as_array")], "Keeps every number."
    if fact.dtype:
        yield (f"Convert {show(fact.path)} to {fact.dtype}", [transform(fact.path, "cast", dtype=fact.dtype)], "Every value can be read as a number.")


@of(TextArray)
def text_tensor(evidence: Evidence, finding: Finding, fact: TextArray) -> Made:
    """An array of texts as the tensor that a model takes."""
    yield f"Convert {show(fact.path)} to a tensor of strings", [transform(fact.path, "text_tensor")], "Keeps every text."


def unsliced(evidence: Evidence, finding: Finding) -> Made:
    """The data without a slice that takes off what its shape lacks."""
    labels = {(spec.shape or ())[1:] for _, spec in evidence.y}
    for (_, want), (path, got) in matched(evidence):
        wanted, given = (want.shape or ())[1:], (got.shape or ())[1:]
        apart = [i for i, sizes in enumerate(zip(wanted, given, strict=False), 1) if sizes[0] != sizes[1]]
        more, less = (wanted[apart[0] - 1], given[apart[0] - 1]) if len(apart) == 1 and len(wanted) == len(given) > 1 else (None, None)
        if more and less and more > less and labels == {wanted}:
            yield (
                f"Keep all of axis {apart[0]} of {show(path)}: remove the slice of the data code",
                [data_code.WholeAxis("data", apart[0], more - less)],
                f"The labels have {more} entries there, as the model declares.",
            )


def group_rows(evidence: Evidence, finding: Finding) -> Made:
    """Rows that are parts of a sample put together."""
    labels = {leaf.concrete[0] for _, leaf in evidence.sample.leaves("y") if leaf.concrete} if evidence.sample is not None else set()
    counts = finding.fact.counts if isinstance(finding.fact, Refused) else ()
    for (_, want), (path, got) in matched(evidence):
        row, parts = (want.shape or ())[1:], (got.shape or ())[1:]
        if len(row) == len(parts) + 1 and row[0] and row[1:] == parts and len(counts) == 2 and counts[0] == row[0] * counts[1] and labels:
            yield (
                f"Group every {row[0]} rows into one sample of {show_shape(row)}",
                [transform(path, "group_rows", shape=list(row))],
                f"{counts[0]} rows for {counts[1]} labels make {row[0]} rows per label.",
            )


@of(Refused)
def positions_of_samples(evidence: Evidence, finding: Finding, fact: Refused) -> Made:
    """Rows that are positions put together to samples."""
    rest = next((leaf.shape[1:] for path, leaf in evidence.sample.leaves() if path == fact.flat and leaf.shape), None)
    if fact.flat and rest is not None:
        shape = [*fact.positions, *rest]
        yield (
            f"Group every {elements(fact.positions):,} rows of {show(fact.flat)} into one sample of {show_shape(tuple(shape))}",
            [transform(fact.flat, "group_rows", shape=shape)],
            "Each sample then has its own positions.",
        )


@of(Refused)
def transpose_rows(evidence: Evidence, finding: Finding, fact: Refused) -> Made:
    """Samples lie in the columns of one array."""
    if fact.turned:
        yield (
            f"Transpose {'the data' if fact.turned == ('x',) else show(fact.turned)}: one sample per row",
            [transform(fact.turned, "transpose", perm=[1, 0])],
            "Its columns are the samples.",
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
    if len(counts) == 2 and x[1] == y[1] and len(declared[0]) == 2 and declared[0][1] == counts[0]:
        edits = [transform(("x",), "transpose", perm=[1, 0]), transform(("y",), "transpose", perm=[1, 0])]
        yield ("Transpose data and labels: one sample per row", edits, f"Both have {x[1]} columns, and the model reads {counts[0]} values per sample.")


@of(Unfilled)
def whole_windows(evidence: Evidence, finding: Finding, fact: Unfilled) -> Made:
    """Rows that fill no whole window are left out before a reshape."""
    if any(n < 1 for n in fact.wanted):
        return
    shape = list(fact.wanted)
    yield (
        f"Drop the last rows, which do not fill a window of {shape[0]}" if len(shape) > 1 else f"Drop the last values, which do not fill a row of {shape[0]}",
        [data_code.WholeWindows("data", shape=shape, fill=True)],
        "The others are unchanged.",
    )
    ratio, rest = divmod(fact.have, elements(tuple(shape)) or 1)
    if not rest and ratio > 1 and len(shape) > 1:
        last = shape[-1] * ratio
        edits = [data_code.LastAxis("data", shape=shape, last=last)]
        for door, spec in evidence.declared or []:
            if spec.shape is not None and list(spec.shape[1:]) == shape[1:]:
                row = (*shape[1:-1], last)
                yield (
                    f"Use {last} channels: reshape to {show_shape((shape[0], *row))} and declare {show_shape(row)}",
                    [*edits, declaration(evidence, door, row)],
                    f"Each row has {ratio} times as many values.",
                )
        yield f"Use {last} as the size of the last axis in the reshape", edits, f"Each row has {ratio} times as many values."


@of(GridApart)
def padded_alike(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """Labels of each step padded as the sequences are."""
    if fact.axis == 1 and (fact.labels[1] or 0) < (fact.predictions[1] or 0):
        yield (
            "Pad the labels to the same length as the sequences",
            [data_code.PaddedAlike("data")],
            f"Without maxlen, pad_sequences pads to the longest sequence: {fact.labels[1]} steps here.",
        )


def shared_rows(evidence: Evidence, finding: Finding) -> Made:
    """Arrays of different lengths: the rows that all of them have."""
    shared = getattr(evidence.sample, "rows", None)
    if not shared or isinstance(finding.fact, ClassesAsWeights) or not any(problem.code == "cardinality" for problem in evidence.sample.problems):
        return
    edits = [transform(path, "pad_axis", axis=0, size=shared, cut=True) for path, _ in evidence.sample.leaves("x", "y")]
    if edits:
        yield (f"Keep the first {shared} rows, which all arrays have", edits, "Correct only if row i of each array is the same sample. Later rows are dropped.")
