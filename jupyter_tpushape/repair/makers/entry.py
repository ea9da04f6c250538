"""Candidates at the model's door: the declaration, or the data."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, KeyPath, Shape, elements, show_shape
from ...rules.entry import matched
from ...rules.facts.calls import CodedRows
from ...rules.words import axes_of
from ...sources.values import Stats
from ...trace.doors import accepted, fits
from ..edits import InputShape, InsertLayer
from ..text.source import nodes
from .edits import Made, images, insert, named, of, transform
from .line import constants, lines_at


def misfits(evidence: Evidence) -> Iterator[tuple[KeyPath, KeyPath, Any, Any]]:
    """The declared input's path, the path of the data that feeds it, and both specs."""
    for (door, want), (path, got) in matched(evidence):
        if not accepted(want, got) and want.shape is not None and got.shape is not None:
            yield door, path, want, got


def declaration(evidence: Evidence, door: KeyPath, shape: Shape, dtype: str = "") -> InputShape:
    found = evidence.doors[door]
    return InputShape(found.name, found.place, list(shape), dtype)


def declare_rows(evidence: Evidence, finding: Finding) -> Made:
    """Declare what one row of the data is."""
    for door, _, want, got in misfits(evidence):
        row = tuple(None if want.shape[1:][i : i + 1] == (None,) and len(want.shape) == len(got.shape) else n for i, n in enumerate(got.shape[1:]))
        # An empty axis, or a single value for several, is a fault of the data.
        if 0 in row or (not row and len(want.shape) > 1):
            continue
        yield (
            f"Declare the input as {show_shape(row)}, the shape of one sample",
            [declaration(evidence, door, row)],
            "Keeps your data and changes only the declared shape.",
        )


def shared_constant(evidence: Evidence, finding: Finding) -> Made:
    """The constant of the module that gives the declared size and others."""
    widths = {spec.shape[-1] for _, spec in evidence.y if spec.shape and len(spec.shape) > 1}
    for _, _, want, got in misfits(evidence):
        apart = {(a, b) for a, b in zip(want.shape[1:], got.shape[1:], strict=False) if a != b and len(want.shape) == len(got.shape)}
        (old, new) = next(iter(apart)) if len(apart) == 1 else (None, None)
        made = [node.location for node in evidence.flow.nodes if node.location is not None]
        for line in lines_at(evidence, made[0])[:1] if made and new in widths else ():
            # Where no layer is made, it may be a size of the data, which stays.
            places = [item for item in line.source.tree.body if any(item.lineno <= one.line <= (item.end_lineno or 0) for one in made)]
            read, inside = (
                Counter(one.id for item in where for one in nodes(item, ast.Name) if isinstance(one.ctx, ast.Load)) for where in (line.source.tree.body, places)
            )
            found = [(name, node) for name, node in constants(line.source.tree) if node.value == old and 1 < read[name] == inside[name]]
            if len(found) == 1:
                yield (
                    f"Set {found[0][0]} = {new}, the size of the data and of the labels",
                    [line.edit(found[0][1], str(new))],
                    f"The program uses it in {read[found[0][0]]} places.",
                )


@of(CodedRows)
def ids_of_rows(evidence: Evidence, finding: Finding, fact: CodedRows) -> Made:
    """The ids that one-hot rows of the data stand for, and the input declared as they come."""
    row = fact.shape[:-1]
    doors = [door for (door, want), (path, _) in matched(evidence) if path == fact.path and not fits((None, *(want.shape or ())[1:]), row)]
    yield (
        "Pass ids instead of one-hot vectors: argmax over the last axis",
        [transform(fact.path, "argmax"), *(declaration(evidence, door, row[1:]) for door in doors)],
        f"Each one-hot vector of {fact.shape[-1]} values represents one id.",
    )


def declare_text(evidence: Evidence, finding: Finding) -> Made:
    """Text for a model whose first layer reads text, and whose input says nothing of it."""
    for (door, want), (_, got) in matched(evidence):
        if got.dtype == "string" != want.dtype and want.shape is not None:
            found = evidence.doors[door]
            yield (
                f'Declare {found.word} as text: dtype="string"',
                [InputShape(found.name, found.place, list(want.shape[1:]), dtype="string")],
                "An input is numeric unless its dtype says otherwise.",
            )


def declare_wanted(evidence: Evidence, finding: Finding) -> Made:
    """The data has the axes that the first layer wants, and only the declaration has not."""
    inputs = {node.id for node in evidence.flow.nodes if node.kind == "input"}
    readers = [evidence.flow.node(edge.target) for edge in evidence.flow.edges if edge.source in inputs]
    first = next((node for node in readers if axes_of(node.op)), None)
    if first is None:
        return
    wanted = len(axes_of(first.op))
    for (door, want), (_, got) in matched(evidence):
        if want.shape is not None and got.shape is not None and len(want.shape) != wanted == len(got.shape):
            yield (
                f"Declare the input as {show_shape(got.shape[1:])}, the shape of one sample",
                [declaration(evidence, door, got.shape[1:])],
                f"The data has the axes that {first.name} expects.",
            )


def declare_known(evidence: Evidence, finding: Finding) -> Made:
    """Declare the axes that were left unknown as the data has them."""
    for (door, want), (path, got) in matched(evidence):
        if want.shape is None or got.shape is None or len(want.shape) != len(got.shape):
            continue
        row = tuple(size if declared is None else declared for declared, size in zip(want.shape[1:], got.shape[1:], strict=True))
        if None in want.shape[1:] and None not in row and not _varies(evidence, path):
            yield (
                f"Declare the input as {show_shape(row)}, the shape of one sample",
                [declaration(evidence, door, row)],
                "The axis that was declared as None has this size in the data.",
            )


def _varies(evidence: Evidence, path: KeyPath) -> bool:
    leaf = dict(evidence.sample.leaves()).get(path) if hasattr(evidence.sample, "leaves") else None
    return leaf is not None and leaf.shape is not None and None in leaf.shape[1:]


def declare_inner(evidence: Evidence, finding: Finding) -> Made:
    """Drop the batch axis from the declared shape."""
    for door, _, want, _ in misfits(evidence):
        if want.shape and len(want.shape) > 2:
            yield (
                f"Declare the shape of one sample: {show_shape(want.shape[2:])}",
                [declaration(evidence, door, want.shape[2:])],
                "An input shape does not include the batch axis.",
            )


def add_batch_axis(evidence: Evidence, finding: Finding) -> Made:
    """One sample becomes a batch of one."""
    if getattr(evidence.sample, "kind", "") == "dataset":
        return
    for _, path, want, got in misfits(evidence):
        if len(want.shape) != len(got.shape) + 1 and finding.rule != "missing-batch-axis":
            continue
        grow = transform(path, "expand_dims", axis=0)
        if len(want.shape) == 4 == len(got.shape) + 1 and None not in want.shape[1:] and not fits(want.shape[1:3], _whole(evidence, path)[:2]):
            resize = transform(path, "resize_images", size=list(want.shape[1:3]))
            yield (
                f"Add a batch axis to the image and resize it to {want.shape[1]} × {want.shape[2]}",
                [grow, resize],
                "The model keeps the size for which it was built.",
            )
        if len(want.shape) == len(got.shape) + 2:
            copies = [transform(path, "repeat_last", times=want.shape[-1])] if want.shape[-1] != 1 else []
            yield (
                "Add a batch axis and a last axis to the sample: x[None, ..., None]",
                [grow, transform(path, "expand_dims", axis=-1), *copies],
                "predict and fit expect batches, and the model a last axis.",
            )
            continue
        yield "Add a batch axis to the sample: x[None]", [grow], "predict and fit expect batches."
        if len(evidence.y) == 1 and len(evidence.x) == 1:
            labels = transform(("y",), "expand_dims", axis=0)
            yield "Add a batch axis to the sample and its label: x[None], y[None]", [grow, labels], "predict and fit expect batches."


def _whole(evidence: Evidence, path: KeyPath) -> Shape:
    return next((leaf.shape for at, leaf in evidence.sample.leaves() if at == path and leaf.shape), ()) if evidence.sample is not None else ()


def cast_data(evidence: Evidence, finding: Finding) -> Made:
    """Integers or doubles that meet the floats of a layer's weights."""
    looked_up = any(node.op.startswith(_INDEXES) for node in evidence.flow.nodes)
    cast = [(path, spec.dtype) for path, spec in evidence.x if spec.dtype.startswith(_NO_FLOATS) and not looked_up]
    if cast:
        edits = [transform(path, "cast", dtype="float32") for path, _ in cast]
        yield f"Cast the data from {cast[0][1]} to float32", edits, "Layers compute in float32; no value is lost."


_NO_FLOATS = ("int", "uint", "bool", "float64")
# What reads integers as indices.
_INDEXES = ("Embedding", "Gather", "Take", "Segment", "UnsortedSegment", "OneHot")


def reshape_data(evidence: Evidence, finding: Finding) -> Made:
    """The same numbers with the declared axes."""
    for _, path, want, got in misfits(evidence):
        target = want.shape[1:]
        if None in target or elements(target) != elements(got.shape[1:]):
            continue
        if len(target) == 1:
            yield ("Flatten each row of the data", [transform(path, "flatten_rows")], "The values keep their order.")
            continue
        # An autoencoder predicts its input.
        labels = [leaf for leaf, spec in evidence.y if spec.shape == got.shape]
        for more, said in ((labels, " and of the labels"), ([], "")) if labels else (([], ""),):
            yield (
                f"Reshape each row of the data{said} to {show_shape(target)}",
                [transform(leaf, "reshape_rows", shape=list(target)) for leaf in (path, *more)],
                "The values keep their order.",
            )


def declare_and_reshape(evidence: Evidence, finding: Finding) -> Made:
    """Declare the rows as they are, and reshape in front of the first layer."""
    for door, path, want, got in misfits(evidence):
        first = _first_layer(evidence, path)
        target = want.shape[1:]
        if first is None or None in target:
            continue
        new = insert(first, "Flatten") if len(target) == 1 else insert(first, "Reshape", target_shape=list(target))
        yield (
            f"Declare {show_shape(got.shape[1:])} and add {new.layer_class} before {first}",
            [declaration(evidence, door, got.shape[1:]), new],
            "The model then takes the data without changes.",
        )


def _first_layer(evidence: Evidence, path: KeyPath) -> str | None:
    door = evidence.input_at(path)
    if door is None:
        return None
    for edge in evidence.flow.out_of(door.id):
        node = evidence.flow.node(edge.target)
        if node.kind == "layer":
            return node.name
    ghosts = [node for node in evidence.flow.nodes if node.kind == "layer"]
    return ghosts[0].name if ghosts else None


def rank_data(evidence: Evidence, finding: Finding) -> Made:
    """An axis of size 1 more or less in the data."""
    for door, path, want, got in misfits(evidence):
        row, target = got.shape[1:], want.shape[1:]
        stats = evidence.sample.stats.get(path) if hasattr(evidence.sample, "stats") else None
        if len(row) + 1 == len(target) and (depth := target[-1]) and fits(target[:-1], row) and _ids_below(stats, depth):
            yield (
                f"Convert the data to one-hot vectors of size {depth}: rows of {show_shape((*row, depth))}",
                [transform(path, "one_hot", depth=depth)],
                f"The values are integers below {depth}, and the input declares {depth} values for each.",
            )
        times = [i for i in range(len(row)) if len(row) + 1 == len(target) and row[:i] == target[:i] and row[i + 1 :] == target[i + 2 :]]
        for i in times[:1]:
            inner, size = target[i + 1], row[i]
            if inner and size and inner > 1 and size > inner and size % inner == 0 and target[i] in (None, size // inner):
                parts = (*row[:i], size // inner, *target[i + 1 :])
                yield (
                    f"Split axis {i + 1} of the data into {size // inner} × {inner}: rows of {show_shape(parts)}",
                    [transform(path, "reshape_rows", shape=list(parts))],
                    "The values keep their order.",
                )
        if len(row) + 1 == len(target):
            for axis in range(len(target), 0, -1):
                grown = (*row[: axis - 1], 1, *row[axis - 1 :])
                if all(a is None or a == b for a, b in zip(target, grown, strict=True)):
                    at = -1 if axis == len(target) else axis
                    yield (
                        f"Add the missing axis to the data: rows of {show_shape(grown)}",
                        [transform(path, "expand_dims", axis=at)],
                        "An axis of size 1 does not add values.",
                    )
        if len(row) - 1 == len(target):
            for axis in range(1, len(got.shape)):
                less = tuple(n for i, n in enumerate(got.shape) if i != axis)[1:]
                if got.shape[axis] == 1 and all(a is None or a == b for a, b in zip(target, less, strict=True)):
                    yield (
                        f"Squeeze the extra axis of the data: rows of {show_shape(less)}",
                        [transform(path, "squeeze", axis=axis)],
                        "Squeezing an axis of size 1 keeps every value.",
                    )
        yield from declare_rows(evidence, finding)
        # The last axis of an image with as many values as are declared is that of its channels.
        if len(row) < len(target) and not (len(target) > 2 and row and row[-1] == target[-1] != 1):
            grown = (*row, *([1] * (len(target) - len(row))))
            yield f"Add a last axis to the data and declare {show_shape(grown)}", [
                transform(path, "expand_dims", axis=-1), declaration(evidence, door, grown),
            ], "An axis of size 1 does not add values."  # fmt: skip
            if len(row) == 1:
                grown = (1, *row)
                yield f"Treat each row as one time step and declare {show_shape(grown)}", [
                    transform(path, "expand_dims", axis=1), declaration(evidence, door, grown),
                ], "Each sample is a sequence of one step; every value is kept."  # fmt: skip
        if len(row) > len(target):
            yield "Flatten each row of the data and declare its length", [
                transform(path, "flatten_rows"), declaration(evidence, door, (elements(row),)),
            ], "The axes of a sample are lost."  # fmt: skip


def _ids_below(stats: Stats | None, depth: int) -> bool:
    if stats is None or not stats.whole or stats.minimum is None or stats.maximum is None:
        return False
    return stats.minimum >= 0 and depth > 2 and depth / 2 < stats.maximum + 1 <= depth


def rank_declared(evidence: Evidence, finding: Finding) -> Made:
    """The declared shape agrees with the data, and the first layer wants more or fewer axes."""
    for (door, want), (path, got) in matched(evidence):
        if want.shape is None or got.shape is None:
            continue
        row = got.shape[1:]
        yield f"Add a last axis of size 1 to the data and declare {show_shape((*row, 1))}", [
            transform(path, "expand_dims", axis=-1), declaration(evidence, door, (*row, 1)),
        ], "An axis of size 1 does not add values."  # fmt: skip
        if len(row) == 1:
            yield f"Treat each row as one time step and declare {show_shape((1, *row))}", [
                transform(path, "expand_dims", axis=1), declaration(evidence, door, (1, *row)),
            ], "Each sample is a sequence of one step; every value is kept."  # fmt: skip
        if len(row) > 1 and row[-1] == 1:
            yield f"Squeeze the last axis of the data and declare {show_shape(row[:-1])}", [
                transform(path, "squeeze", axis=-1), declaration(evidence, door, row[:-1]),
            ], "Squeezing an axis of size 1 keeps every value."  # fmt: skip


def rank_undeclared(evidence: Evidence, finding: Finding) -> Made:
    """Nothing is declared, and the first layer wants one axis more."""
    failed = evidence.failed
    edges = evidence.failed_inputs()
    if evidence.declared or failed is None or len(evidence.x) != 1 or not edges or not evidence.x[0][1].shape:
        return
    wanted, shape = len(axes_of(failed.op)), evidence.x[0][1].shape
    if evidence.flow.node(edges[0].source).kind == "input" and wanted == len(shape) + 1:
        grown = (*shape[1:], 1)
        yield (
            f"Add the missing axis to the data: rows of {show_shape(grown)}",
            [transform(("x",), "expand_dims", axis=-1)],
            "An axis of size 1 does not add values.",
        )


def image_rows(evidence: Evidence, finding: Finding) -> Made:
    """Flat rows for a model that declares nothing and begins with a layer for images."""
    failed = evidence.failed
    edges = evidence.failed_inputs()
    if evidence.declared or failed is None or len(evidence.x) != 1 or not edges or len(axes_of(failed.op)) != 4:
        return
    shape = evidence.x[0][1].shape
    if evidence.flow.node(edges[0].source).kind != "input" or not shape or len(shape) != 2 or not shape[1]:
        return
    for side, channels in images(shape[1]):
        yield (
            f"Reshape each row of the data to an image: {(side, side, channels)}",
            [transform(("x",), "reshape_rows", shape=[side, side, channels])],
            f"{shape[1]} is {side} × {side}" + (f" × {channels}." if channels > 1 else "."),
        )


def grey_for_backbone(evidence: Evidence, finding: Finding) -> Made:
    """Grey pictures as color ones, where a network from a library reads them."""
    for _, path, want, got in misfits(evidence):
        flat = len(got.shape) == 3 and fits(want.shape[1:3], got.shape[1:])
        gray = flat or (len(got.shape) == 4 and got.shape[-1] == 1)
        node = named(evidence, _first_layer(evidence, path) or "")
        line = node.location.text if node is not None and node.location is not None else ""
        if gray and len(want.shape) == 4 and want.shape[-1] == 3 and node is not None and node.op not in line:
            new = [transform(path, "expand_dims", axis=-1)] if flat else []
            yield (
                "Repeat the gray images 3 times on a new last axis" if flat else "Repeat the single channel 3 times",
                [*new, transform(path, "repeat_last", times=3)],
                "The pretrained weights expect color images; this repeats the gray channel.",
            )


def resize_axis(evidence: Evidence, finding: Finding) -> Made:
    """The data's last axis brought to the declared size."""
    for door, path, want, got in misfits(evidence):
        if len(want.shape) != len(got.shape):
            continue
        if len(got.shape) == 4 and want.shape[-1] == 1:
            yield ("Convert the images to grayscale: average their channels", [transform(path, "mean_last")], "Color information is lost.")
        if len(got.shape) == 4 and got.shape[-1] == 1 and want.shape[-1]:
            yield (
                f"Repeat the single channel {want.shape[-1]} times",
                [transform(path, "repeat_last", times=want.shape[-1])],
                "Turns a grayscale image into a color image.",
            )
        off = [i for i in range(1, len(got.shape)) if want.shape[i] not in (None, got.shape[i])]
        first = _first_layer(evidence, path)
        if len(got.shape) == 4 and set(off) <= {1, 2} and first is not None and None not in want.shape[1:3]:
            size = {"height": want.shape[1], "width": want.shape[2]}
            resize = InsertLayer(first, layer_class="Resizing", config=size, position="before")
            yield (
                f"Resize the images to {want.shape[1]} × {want.shape[2]}: add Resizing before {first}",
                [declaration(evidence, door, got.shape[1:]), resize],
                "The later layers keep their sizes; the images are rescaled.",
            )
        if len(off) == 1:
            verb = "Cut" if got.shape[off[0]] > want.shape[off[0]] else "Pad"
            yield (
                f"{verb} axis {off[0]} of the data to {want.shape[off[0]]}",
                [transform(path, "pad_axis", axis=off[0], size=want.shape[off[0]], cut=verb == "Cut")],
                "This adds or removes values.",
            )
