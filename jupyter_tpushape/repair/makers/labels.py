"""Candidates at the loss itself: the loss, and the labels."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np

from ...examine.evidence import Evidence
from ...examine.heard import HeardSizes, hear
from ...flow import Finding, KeyPath, Node, elements, show_shape
from ...flow.paths import flatten, show
from ...rules.compared import class_labels, kind_of, seen_at, stats_at, texts_of, written_numbers
from ...rules.entry import matched
from ...rules.facts.compiled import ColourMasks, MetricReads
from ...rules.facts.layers import OperationRaised
from ...rules.facts.loss import GridApart, LabelRank, LossRaised, RowsOfValues, SingleValues, WrongUnits
from ...rules.facts.ranges import IdOutOfRange, LabelOutOfRange, LabelScale, WordOutOfRange
from ...rules.words import axes_of
from ..edits import Edit, Listed, MetricArgument, Rebatch
from ..text.names import arguments_of
from .edits import Made, configure, known, named, of, setting, transform
from .ends import compared, ends_of, head_of, highest_of, label_path, loss_node, twin
from .entry import declaration

# Bytes of pictures reach it, and have at least so many values a sample; classes and ratings do neither.
_BRIGHT, _PIXELS = 32, 16
_SPARSE = ("sparse_categorical_crossentropy",)


def sparse_loss(evidence: Evidence, finding: Finding) -> Made:
    """The same loss for class numbers."""
    if not (isinstance(finding.fact, SingleValues) and finding.fact.values == "numbers"):
        for _, loss in twin(evidence, finding, ("categorical_crossentropy", "binary_crossentropy"), _SPARSE[0]):
            yield f"Use {loss.loss}, which expects class indices", [loss], "Keeps the labels unchanged."


def dense_loss(evidence: Evidence, finding: Finding) -> Made:
    """The same loss for one-hot rows."""
    if not (isinstance(finding.fact, RowsOfValues) and finding.fact.values in ("marks", "numbers")):
        for _, loss in twin(evidence, finding, _SPARSE, "categorical_crossentropy"):
            yield f"Use {loss.loss}, which expects one-hot vectors", [loss], "Keeps the labels unchanged."


@of(RowsOfValues)
def marked_loss(evidence: Evidence, finding: Finding, fact: RowsOfValues) -> Made:
    """A loss for each class by itself, where a label marks several of them."""
    if fact.values != "marks" or fact.labels != fact.predictions:
        return
    _, predictions = ends_of(evidence, finding)
    head = head_of(evidence, evidence.flow.node(predictions.source)) if predictions is not None else None
    for _, loss in twin(evidence, finding, _SPARSE, "binary_crossentropy"):
        bent = [head] if head is not None and not loss.options and head.config.get("activation") != "sigmoid" else []
        yield (
            f"Use {loss.loss}, which compares each class separately" + "".join(f", and a sigmoid in {one.name}" for one in bent),
            [loss, *(configure(one.name, activation="sigmoid") for one in bent)],
            "Each sample can belong to several classes.",
        )


def listed_losses(evidence: Evidence, finding: Finding) -> Made:
    """Losses by name of outputs that have none."""
    flow = evidence.flow
    ends = [node for node in flow.nodes if node.kind == "output"]
    names = [flow.node(edge.source).name for node in ends for edge in flow.into(node.id)]
    if evidence.declared is None and len(names) == len(ends) > 1:
        yield (
            f"Pass the losses as a list, in the order of the outputs: {', '.join(names)}",
            [Listed("model", "loss", names)],
            "The outputs of a subclassed model have no names: it returns a tuple.",
        )


def class_numbers(evidence: Evidence, finding: Finding) -> Made:
    """Labels that are text become the numbers that they write, or those of their classes."""
    outputs = evidence.outputs
    if len(evidence.y) != 1 or evidence.y[0][1].dtype not in ("string", "object", "str") or len(outputs) != 1 or not outputs[0][1].shape:
        return
    path, width = evidence.y[0][0], outputs[0][1].shape[-1]
    texts = texts_of(evidence, path)
    numbers = written_numbers(texts)
    if numbers:
        yield f"Convert the labels from text to {numbers}", [transform(path, "parse", dtype=numbers)], "The text of each label is a number."
        return
    classes = sorted(texts)
    if len(classes) == (2 if width == 1 else width):
        shown = ", ".join(f"{name} is {number}" for number, name in enumerate(classes))
        tensor = (
            {"tensor": True} if any(array.dtype.kind == "O" and isinstance(array.flat[0], bytes) for array in seen_at(evidence, path) if array.size) else {}
        )
        yield (
            f"Convert the labels to class indices: {shown if len(classes) < 6 else f'0 to {len(classes) - 1}, in alphabetical order'}",
            [transform(path, "class_numbers", classes=classes, **tensor)],
            "A loss needs numbers.",
        )


@of(LabelOutOfRange)
def numbered(evidence: Evidence, finding: Finding, fact: LabelOutOfRange) -> Made:
    """Values such as 0 and 255 become class indices."""
    seen = [array for array in seen_at(evidence, fact.path) if array.dtype.kind in "iuf"]
    values = {item for array in seen for item in np.unique(array[:64]).tolist()}
    classes = sorted(int(item) for item in values if item == int(item))
    # Numbers that lie close together may be classes of which the sample lacks some.
    apart = min((b - a for a, b in itertools.pairwise(classes)), default=0) > fact.size
    if fact.whole and apart and len(classes) == len(values) == fact.size and classes[0] == 0:
        shown = ", ".join(f"{value} is {number}" for number, value in enumerate(classes))
        yield (
            f"Convert the labels to class indices: {shown if len(classes) < 6 else f'0 to {len(classes) - 1}, in their order'}",
            [transform(fact.path, "class_numbers", classes=classes)],
            f"The labels have {len(classes)} different values, as many as there are classes.",
        )


def one_hot_labels(evidence: Evidence, finding: Finding) -> Made:
    """Class numbers become rows."""
    if isinstance(finding.fact, SingleValues) and finding.fact.values == "numbers":
        return
    labels, predictions = ends_of(evidence, finding)
    if labels is None or predictions is None or not predictions.spec.shape:
        return
    depth = predictions.spec.shape[-1]
    # What a function of the user's own computes with need not be a class.
    classes = not isinstance(finding.fact, OperationRaised) or class_labels(evidence, labels, predictions)
    seen = isinstance(finding.fact, SingleValues) and finding.fact.values == "classes"
    if depth and depth > 1 and classes and (seen or labels.spec.dtype.startswith(("int", "uint"))):
        yield (
            f"Convert the labels to one-hot vectors of size {depth}",
            [transform(label_path(evidence, finding), "one_hot", depth=depth)],
            "Keeps the loss unchanged.",
        )


@of(MetricReads)
def one_hot_for_metric(evidence: Evidence, finding: Finding, fact: MetricReads) -> Made:
    """One-hot labels, and the loss for them, where a metric compares vectors."""
    depth = fact.predictions[-1]
    for _, loss in twin(evidence, finding, _SPARSE, "categorical_crossentropy") if not fact.classes and len(evidence.y) == 1 else ():
        yield (
            f"Convert the labels to one-hot vectors of size {depth}, and use {loss.loss}",
            [transform(evidence.y[0][0], "one_hot", depth=depth), loss],
            "The loss is the same, and the metric compares vectors with vectors.",
        )


@of(MetricReads)
def classes_for_metric(evidence: Evidence, finding: Finding, fact: MetricReads) -> Made:
    """A metric of class indices that takes the argmax of the predictions itself."""
    node = named(evidence, fact.metric)
    if node is None or not fact.classes:
        return
    kind = getattr(getattr(sys.modules.get(evidence.framework), "metrics", None), node.op, None)
    if "sparse_y_pred" in arguments_of(kind):
        yield (
            f"Set sparse_y_pred=False on {node.op}",
            [MetricArgument(node.name, node.op, "sparse_y_pred", False)],
            "The metric then takes the argmax of the predictions.",
        )


@of(LossRaised)
def values_for_metric(evidence: Evidence, finding: Finding, fact: LossRaised) -> Made:
    """The number of values that each prediction has, for a metric that was told another."""
    node, size = named(evidence, fact.name), (fact.predictions or (None,))[-1]
    if node is not None and fact.argument and size is not None:
        yield (f"Set {fact.argument}={size} on {node.op}", [MetricArgument(node.name, node.op, fact.argument, size)], f"Each prediction has {size} values.")


@of(WrongUnits)
def from_zero(evidence: Evidence, finding: Finding, fact: WrongUnits) -> Made:
    """One-hot vectors without the value of class 0."""
    if fact.from_one:
        yield (
            "Remove the unused first value of the labels, that of class 0",
            [transform(label_path(evidence, finding), "without_first")],
            "No observed label is of class 0: the classes are numbered from 1.",
        )


@of(WrongUnits)
def marked_classes(evidence: Evidence, finding: Finding, fact: WrongUnits) -> Made:
    """A 0 or a 1 for each class, where a label lists the numbers of its classes."""
    if fact.listed:
        depth = fact.predictions[-1]
        yield (
            f"Convert the class indices of each label to a vector of {depth} zeros and ones",
            [transform(label_path(evidence, finding), "k_hot", depth=depth)],
            f"Each of the {fact.labels[-1]} listed classes becomes a 1.",
        )


@of(ColourMasks)
def classes_of_colors(evidence: Evidence, finding: Finding, fact: ColourMasks) -> Made:
    """A class for each color of the masks, where as many colors were seen as there are classes."""
    path = label_path(evidence, finding)
    seen = seen_at(evidence, path)
    seen = [value.reshape(-1, value.shape[-1]) for value in seen if value.dtype.kind in "iuf" and value.ndim > 1]
    colors = np.unique(np.concatenate(seen), axis=0) if seen else np.zeros((0, 3))
    if len(colors) == fact.predictions[-1] and (colors == colors.astype(int)).all():
        yield (
            f"Convert the {len(colors)} colors of the masks to one-hot vectors",
            [transform(path, "colors", colors=colors.astype(int).tolist())],
            "As many colors were seen as the model has classes; classes are in the order of their colors.",
        )


@of(GridApart)
def next_steps(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """Labels that begin one step later, where an input holds them without their last step."""
    x, labels = _first_labels(evidence, fact)
    if labels is None or labels.shape[1] != (fact.predictions[1] or 0) + 1:
        return
    fed = [path for path, values in x.items() if values is not None and np.array_equal(values, labels[:, :-1])]
    same = [path for path, values in x.items() if values is not None and np.array_equal(values, labels)]
    if fed or same:
        left = f"{show(fed[0])} is all" if fed else f"the model predicts from all of {show(same[0])}"
        yield (
            f"Predict the next step: use labels[:, 1:], because {left} but the last step{' of the labels' if fed else ''}",
            [transform(evidence.y[0][0], "next_steps")],
            "Each step is then compared with the next one.",
        )


@of(GridApart)
def last_step_unfed(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """An input without its last step, where the labels are that input from its second step on."""
    x, labels = _first_labels(evidence, fact)
    steps = fact.predictions[1] or 0
    for (door, want), (path, _) in matched(evidence) if labels is not None and labels.shape[1] == steps - 1 else ():
        values = x.get(path)
        if values is None or values.shape[1:2] != (steps,) or not np.array_equal(values[:, 1:], labels):
            continue
        edits: list[Edit] = [transform(path, "pad_axis", axis=1, size=steps - 1, cut=True)]
        if want.shape is not None and want.shape[1:2] == (steps,):
            edits.append(declaration(evidence, door, (steps - 1, *want.shape[2:])))
        yield (f"Feed {show(path)}[:, :-1]: the labels are {show(path)}[:, 1:], the next step of each", edits, "The last step has no label.")


def label_numbers(evidence: Evidence, finding: Finding) -> Made:
    """Rows become class numbers."""
    fact = finding.fact
    if isinstance(fact, RowsOfValues) and fact.values not in ("", "one-hot"):
        return
    yield ("Convert the one-hot vectors to class indices: argmax", [transform(label_path(evidence, finding), "argmax")], "Keeps the loss unchanged.")


def are_whole(evidence: Evidence) -> bool:
    """Whether the labels are whole numbers: those that are pictures themselves may be what a small input is to become."""
    stats = evidence.label_stats.get(evidence.y[0][0]) if len(evidence.y) == 1 else None
    return stats is not None and stats.whole


@of(GridApart)
def resized_too(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """Labels of the size to which the pipeline brings the inputs."""
    if fact.resized and len(fact.labels) == 4 and are_whole(evidence):
        size = list(fact.predictions[1:3])
        yield (
            f"Resize the labels to {show_shape(tuple(size))} as well, by the nearest pixel",
            [transform(evidence.y[0][0], "resize", size=size)],
            f"{fact.resized} resizes the inputs alone. The nearest pixel keeps the classes of a mask.",
        )


@of(LabelScale)
def between_0_and_1(evidence: Evidence, finding: Finding, fact: LabelScale) -> Made:
    """Labels of two values as 0 and 1."""
    if fact.two:
        high = int(fact.highest) if fact.highest == int(fact.highest) else fact.highest
        yield (
            f"Use 1 for {fact.highest:g} and 0 for {f'{fact.lowest:g}' if fact.lowest else 'the rest'}",
            [transform(fact.path, "is_value", value=high)],
            "The labels are then the two classes.",
        )
    elif fact.lowest >= 0 and _BRIGHT <= fact.highest <= 255 and _many_values(evidence, fact):
        yield ("Divide the labels by 255", [transform(fact.path, "scale", by=255)], "Bytes then become values from 0 to 1.")


def _many_values(evidence: Evidence, fact: LabelScale) -> bool:
    shape = next((spec.shape for path, spec in evidence.y if path == fact.path), None)
    return shape is not None and (elements(shape[1:]) or _PIXELS) >= _PIXELS


@of(LabelRank)
def encoded_once(evidence: Evidence, finding: Finding, fact: LabelRank) -> Made:
    """One-hot vectors in place of those that were encoded once more."""
    if fact.twice:
        yield (
            "Undo the second one-hot encoding: argmax over the last axis",
            [transform(label_path(evidence, finding), "argmax")],
            "The labels are then the one-hot vectors of the first one.",
        )


def one_channel(evidence: Evidence, finding: Finding) -> Made:
    """One channel of labels that hold the same in each."""
    labels, _ = ends_of(evidence, finding)
    path = evidence.carried(labels) if labels is not None else None
    for _, y, p in compared(evidence, finding) if evidence.sample is not None else ():
        seen = seen_at(evidence, path)
        same = (value.dtype.kind in "buif" and (value[..., :1] == value).all() and value.min() != value.max() for value in seen)
        if y[:-1] == p[:-1] and p[-1] == 1 and len(y) > 2 and seen and all(same):
            yield (
                f"Keep one of the {y[-1]} channels of the labels",
                [transform(label_path(evidence, finding), "column")],
                "Every channel has the same values, as in a grayscale image loaded as color.",
            )


def label_numbers_binary(evidence: Evidence, finding: Finding) -> Made:
    """Two one-hot columns for a single sigmoid unit."""
    path = label_path(evidence, finding)
    for _, y, p in compared(evidence, finding):
        if y[-1] == 2 and p[-1] == 1:
            edits = [transform(path, "argmax"), *([transform(path, "expand_dims", axis=-1)] if len(y) == len(p) else [])]
            yield "Keep one column: the class index", edits, "The second column repeats the first."


def more_rows(evidence: Evidence, finding: Finding) -> Made:
    """A row for every id that was seen."""
    highest = highest_of(finding)
    node = evidence.flow.node(finding.nodes[0])
    if highest is not None:
        words = isinstance(finding.fact, WordOutOfRange)
        why = "One row for each entry of the vocabulary." if words else "As many as the sampled ids need; the whole vocabulary may be larger."
        encodes = isinstance(finding.fact, IdOutOfRange) and finding.fact.encodes
        yield setting(node, "num_tokens" if encodes else "input_dim", highest + 1, f", for ids 0 to {highest}", why)


def label_axes(evidence: Evidence, finding: Finding) -> Made:
    """Axes of size 1 in the labels."""
    path, kind = label_path(evidence, finding), kind_of(loss_node(evidence, finding) or Node("", "", "loss", ""))
    for _, y, p in compared(evidence, finding):
        for axis in range(1, len(y)):
            if y[axis] == 1 and len(y) > 1 and (len(y) > len(p) or kind == "sparse"):
                edit = transform(path, "squeeze", axis=axis)
                yield f"Squeeze axis {axis} of the labels (size 1)", [edit], "Squeezing an axis of size 1 keeps every value."
        for axis in range(1, len(p)) if len(y) == len(p) - 1 else ():
            if p[axis] == 1:
                edit = transform(path, "expand_dims", axis=axis)
                yield f"Expand the labels at axis {axis} to match the predictions", [edit], "An axis of size 1 does not add values."
        if len(y) > 2 and elements(y[1:]) == elements(p[1:]):
            yield f"Reshape each label to {show_shape(p[1:])}", [transform(path, "reshape_rows", shape=list(p[1:]))], "Keeps every value."


def each_position(evidence: Evidence, finding: Finding) -> Made:
    """The one label that all samples have for each position of a map, as for a discriminator that judges patches."""
    path, loss = label_path(evidence, finding), loss_node(evidence, finding)
    for last, y, p in compared(evidence, finding) if loss is not None and kind_of(loss) in ("binary", "regression") else ():
        stats, head = stats_at(evidence, path), head_of(evidence, last)
        if (
            head is not None
            and axes_of(head.op)
            and len(p) > 2
            and getattr(finding.fact, "cause", "") != "map"
            and (y[1:] or (1,)) == p[-1:] == (1,)
            and stats is not None
            and stats.minimum == stats.maximum
            and known(p[1:])
        ):
            edit = transform(path, "spread", shape=[-1] + [1] * (len(p) - 1), times=[1, *p[1:]])
            yield f"Give each of the {elements(p[1:])} positions the label of its sample: {show_shape(p[1:])}", [edit], f"{head.name} judges each position."


def rows_of_one(evidence: Evidence, finding: Finding) -> Made:
    """Labels (B,) and predictions (B, 1) that meet in the user's own code."""
    flat = [(path, spec) for path, spec in evidence.y if spec.shape and len(spec.shape) == 1 and not spec.dtype.startswith(("int", "uint", "bool", "string"))]
    columns = [(path, spec) for path, spec in evidence.y if spec.shape and len(spec.shape) == 2 and spec.shape[1] == 1]
    for found, op, title in (
        (flat, "expand_dims", "Add a last axis to the labels: (batch, 1)"),
        (columns, "squeeze", "Squeeze the last axis of the labels: (batch,)"),
    ):
        if len(found) == 1:
            yield title, [transform(found[0][0], op, axis=-1)], "Labels and predictions then have the same rank."


def whole_batch(evidence: Evidence, finding: Finding) -> Made:
    """A table with one row a sample, inside the loss."""
    rows = getattr(evidence.sample, "rows", None)
    batch = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
    node = evidence.failed
    said = hear(node.failure, HeardSizes) if node is not None else None
    if rows and batch and rows != batch and said is not None and {rows, batch} <= set(said.sizes):
        yield (
            f"Feed all {rows} rows as one batch",
            [Rebatch("data", rows, True)],
            "The loss holds one value per row; passing those as sample_weight scales better.",
        )


def _first_labels(evidence: Evidence, fact: GridApart) -> tuple[dict[KeyPath, Any], Any]:
    sample = evidence.sample
    if fact.axis != 1 or sample is None or not sample.sampled or len(evidence.y) != 1:
        return {}, None
    x, y, _ = sample.sampled[0]
    labels = dict(flatten(y, "y")).get(evidence.y[0][0])
    return dict(flatten(x, "x")), labels if labels is not None and labels.ndim > 1 else None
