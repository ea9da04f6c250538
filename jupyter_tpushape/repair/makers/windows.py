"""Candidates where a window is larger than what it slides over."""

from __future__ import annotations

import ast
import itertools
import math

from ...examine.evidence import Evidence
from ...flow import Finding, Shape, show_shape
from ...flow.syntax import called
from ...graph import Cause, chain, padded, unpadded, value
from ...rules.facts.layers import OperationRaised, WindowTooLarge, WrongCount
from ...rules.facts.loss import GridApart
from ...rules.facts.mixing import Interleaved
from ...rules.facts.reasons import Uneven, cut_blocks
from ...rules.regrouped import WINDOWS, pixels_moved, put_back
from ...rules.upstream import ancestors
from ...rules.words import listed
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, append, configure, created, failing, insert, of
from .ends import ends_of
from .line import defaults, lines_at, lines_of, own_layer, reshaped, short


@of(Interleaved)
def windows_put_back(evidence: Evidence, finding: Finding, fact: Interleaved) -> Made:
    """The way back from windows to the map that they were cut from: rows of windows first, and columns beside their own rows."""
    sizes = put_back(evidence, evidence.flow.node(finding.nodes[0]), fact.before, fact.after)
    for line in lines_at(evidence, finding.location) if sizes else ():
        array, _ = reshaped(line)
        if array is not None:
            rows, height, columns, width = sizes
            apart = (-1, rows, columns, height, width, fact.before[-1])
            yield (
                f"Transpose the windows back before the reshape of {short(array)} at {line.at}",
                [line.edit(array, f"{MODULE}.transpose({MODULE}.reshape({IT}, {apart}), {tuple(WINDOWS)})", line.module())],
                "A reshape does not move values, and windows lie side by side.",
            )
            return


@of(Interleaved)
def shuffled_pixels(evidence: Evidence, finding: Finding, fact: Interleaved) -> Made:
    """The channels of a pixel for the pixels of a block, or the way back."""
    node = evidence.flow.node(finding.nodes[0])
    factor = pixels_moved(evidence, node, fact.before, fact.after)
    for line in lines_at(evidence, finding.location) if factor else ():
        array, _ = reshaped(line)
        (rows, columns, channels), larger = fact.before[1:], (fact.after[1] or 0) > (fact.before[1] or 0)
        apart = (rows, columns, factor, factor, fact.after[-1]) if larger else (fact.after[1], factor, fact.after[2], factor, channels)
        if array is not None:
            yield (
                f"Split into blocks of {factor} × {factor} before the reshape of {short(array)} at {line.at}",
                [line.edit(array, f"{MODULE}.transpose({MODULE}.reshape({IT}, {(-1, *apart)}), {tuple(WINDOWS)})", line.module())],
                "A reshape does not move values, and the pixels of a block are in different rows.",
            )
            return


def swapped_axes(evidence: Evidence, finding: Finding) -> Made:
    """An axis of size 1 as the channels, behind the axes that the window slides over."""
    node, shape = failing(evidence)
    if shape and isinstance(finding.fact, WindowTooLarge) and finding.fact.narrow:
        order = [*range(2, len(shape)), 1]
        yield (
            f"Move the axis of size 1 to the end before {node.name}: add Permute({tuple(order)})",
            [insert(node.name, "Permute", dims=order)],
            f"{node.name} then slides over {show_shape((None, *shape[2:], 1))}, which has one channel.",
        )


@of(WindowTooLarge)
def reshaped_last(evidence: Evidence, finding: Finding, fact: WindowTooLarge) -> Made:
    """The axis of size 1 that a Reshape in front of the window puts first, at the end."""
    node, edges = evidence.failed, evidence.failed_inputs()
    giver = evidence.flow.node(edges[0].source) if node is not None and len(edges) == 1 else None
    target = giver.config.get("target_shape") if giver is not None and giver.op == "Reshape" else None
    if giver is not None and isinstance(target, (list, tuple)) and len(target) > 1 and target[0] == 1:
        turned = [*target[1:], 1]
        yield (
            f"Reshape to {show_shape(tuple(turned))} in {giver.name}, with one channel",
            [configure(giver.name, target_shape=turned)],
            f"The window then slides over {turned[0]} positions.",
        )


@of(WindowTooLarge)
def single_steps(evidence: Evidence, finding: Finding, fact: WindowTooLarge) -> Made:
    """Strides of 1 in convolutions that step as far as their kernel is wide."""
    if fact.stepped:
        names = [one.name for one in fact.stepped]
        yield (
            f"Set strides=1 on {', '.join(names)}",
            [configure(name, strides=1) for name in dict.fromkeys(names)],
            "The third argument of a convolution is strides, not the second size of the kernel.",
        )


@of(WindowTooLarge)
def exchanged_numbers(evidence: Evidence, finding: Finding, fact: WindowTooLarge) -> Made:
    """The number of filters and the size of the window in each other's place."""
    if fact.filters:
        yield (
            f"Swap the two numbers of {fact.layer.name}: filters={fact.window[0]} and kernel_size={fact.filters}",
            [configure(fact.layer.name, filters=fact.window[0], kernel_size=fact.filters)],
            "A convolution takes filters first.",
        )


def keep_size(evidence: Evidence, finding: Finding) -> Made:
    """padding="same" where the window ran out of room, and above it."""
    node, shape = failing(evidence)
    fact = finding.fact
    if (isinstance(fact, WindowTooLarge) and (fact.narrow or fact.picture)) or _inserted(evidence, shape):
        return  # it would read nothing but padding, or slide over the channels of a picture
    yield (f'Keep the spatial size in {node.name}: padding="same"', [configure(node.name, padding="same")], "The window may extend past the border.")
    above = [
        item
        for item in evidence.flow.nodes
        if item.kind == "layer"
        and item.id != node.id
        and item.op.startswith(("Conv", "MaxPooling", "AveragePooling", "SeparableConv"))
        and item.config.get("padding", "valid") == "valid"
    ]
    if above:
        edits = [configure(item.name, padding="same") for item in [node, *above]]
        yield f'Keep the spatial size: padding="same" in {len(edits)} layers', edits, "Fewer positions are lost at each border."
    size = node.config.get("pool_size")
    if isinstance(size, (list, int)) and shape:
        rank = len(shape) - 2
        yield (
            f"Set pool_size=1 and strides=1 on {node.name}",
            [configure(node.name, pool_size=[1] * rank, strides=[1] * rank)],
            "There is only one position left to pool.",
        )


@of(WindowTooLarge)
def whole_axis(evidence: Evidence, finding: Finding, fact: WindowTooLarge) -> Made:
    """A window that spans one axis, such as all electrodes or all features."""
    node, shape = failing(evidence)
    inner = (shape or ())[1:-1]
    key = next((key for key in ("kernel_size", "pool_size") if key in node.config), "")
    long = [axis for axis, (a, b) in enumerate(zip(fact.window, inner, strict=False)) if b and a > b]
    alone = len(fact.window) == len(inner) > 1 and all(size == 1 for axis, size in enumerate(fact.window) if axis not in long)
    if not key or len(long) != 1 or not alone or not (inner[long[0]] or 0) > 1:
        return
    whole = [inner[axis] if axis in long else 1 for axis in range(len(inner))]
    yield (
        f"Span the whole axis in {node.name}: {key}={tuple(whole)}",
        [configure(node.name, **{key: whole})],
        f"The window covers one axis alone, and that has {inner[long[0]]} positions.",
    )


def _inserted(evidence: Evidence, shape: Shape | None) -> bool:
    edge = next(iter(evidence.failed_inputs()), None)
    sizes = evidence.origins.of(edge)[1:-1] if edge is not None and shape and len(shape) > 2 else ()
    return any(value(size) == 1 and not chain(size) for size in sizes)


@of(WindowTooLarge)
def inserted_last(evidence: Evidence, finding: Finding, fact: WindowTooLarge) -> Made:
    """The channel axis that the program inserts in front of the picture, at its end."""
    _, shape = failing(evidence)
    for line in lines_at(evidence, finding.location)[:1] if _inserted(evidence, shape) else ():
        for call in nodes(line.source.tree, ast.Call):
            axis = argument(call, "axis", ["x", "axis"]) if called(call) == "expand_dims" else None
            if isinstance(axis, ast.Constant) and type(axis.value) is int and 0 < axis.value < len(shape or ()) - 1:
                yield (f"Insert the axis of size 1 at the end at line {axis.lineno}: axis=-1", [line.edit(axis, "-1")], "The channels are the last axis.")


def upsampled(evidence: Evidence, finding: Finding) -> Made:
    """The stride of a pooling or convolution, given to the transposed convolution behind it that has none and so undoes nothing."""
    cause = getattr(finding.fact, "cause", None)
    if not isinstance(cause, Cause) or cause.kind != "strided" or cause.more:
        return
    for edge in evidence.failed_inputs():
        start = evidence.flow.node(edge.source)
        way = list(itertools.takewhile(lambda node: node.name != cause.who, [start, *ancestors(evidence, start.id)]))
        plain = [node for node in way if "Transpose" in node.op and "strides" not in node.config]
        if plain and any(node.name == cause.who for node in ancestors(evidence, start.id)):
            yield (
                f"Upsample in {plain[-1].name}: strides={cause.stride}",
                [configure(plain[-1].name, strides=cause.stride, padding="same")],
                f"A transposed convolution with a stride of 1 does not undo the stride of {cause.who}.",
            )


def even_blocks(evidence: Evidence, finding: Finding) -> Made:
    """Blocks that do not fill an axis."""
    owner, fact = own_layer(evidence), finding.fact
    shape: Shape = ()
    target: Shape = ()
    if isinstance(fact, WrongCount):
        shape, target = fact.given, fact.target
    elif isinstance(fact, OperationRaised) and isinstance(fact.reason, Uneven):
        shape, target = fact.reason.shape, fact.reason.target
    cuts = cut_blocks(shape, target)
    if owner is None or not cuts:
        return
    axes = {cut.axis: cut for cut in cuts}
    rank = len(shape) - 2
    if rank in (1, 2, 3) and all(cut.axis <= rank for cut in cuts):
        missing = [-axes[n].size % axes[n].block if n in axes else 0 for n in range(1, rank + 1)]
        sides = [[0, n] for n in missing]
        grown = {axes[n].size + missing[n - 1] for n in axes}
        yield (
            f"Pad the input of {owner.name} with zeros from {cuts[0].size} to {' and '.join(map(str, sorted(grown)))}: add ZeroPadding{rank}D",
            [insert(owner.name, f"ZeroPadding{rank}D", padding=sides if rank > 1 else sides[0])],
            f"It then divides evenly into blocks of {cuts[0].block}.",
        )
    blocks = {cut.block for cut in cuts}
    arguments = {**next((defaults(line) for line in lines_of(evidence)), {}), **owner.config}
    keys = [key for key, value in arguments.items() if type(value) is int and {value} == blocks]
    for key in keys if len(keys) == 1 else ():
        common = math.gcd(*(cut.size for cut in cuts))
        fitting = [n for n in range(2, common) if common % n == 0]
        for n in sorted(fitting, key=lambda n: abs(n - cuts[0].block))[:1]:
            yield created(owner, key, n, f": {cuts[0].size} is a multiple of {n}", "Every value is kept.")


@of(OperationRaised)
def strided(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many times the size from a transposed convolution without a stride as a map is smaller than the one that it meets."""
    shapes = [edge.spec.shape or () for edge in evidence.failed_inputs()]
    if len(shapes) != 2 or len(shapes[0]) != 4 or len(shapes[1]) != 4 or shapes[0][0] != shapes[1][0]:
        return
    for here, (mine, other) in zip(evidence.failed_inputs(), (shapes, shapes[::-1]), strict=True):
        times = {(b or 0) / (a or 1) for a, b in zip(mine[1:3], other[1:3], strict=True)}
        factor = times.pop() if len(times) == 1 else 0.0
        start = evidence.flow.node(here.source)
        plain = [node for node in (start, *ancestors(evidence, start.id)) if "Transpose" in node.op and "strides" not in node.config]
        if factor in (2.0, 3.0, 4.0) and plain:
            yield (
                f"Upsample in {plain[0].name}: strides={int(factor)}",
                [configure(plain[0].name, strides=int(factor), padding="same")],
                f"Its stride of 1 keeps the size, {mine[1]} × {mine[2]}, but the other operand is {other[1]} × {other[2]}.",
            )


def padded_and_cropped(evidence: Evidence, finding: Finding) -> Made:
    """padding="same" in every window without it, and the output cut to the labels."""
    _, predictions = ends_of(evidence, finding)
    fact = finding.fact
    if not isinstance(fact, GridApart) or predictions is None or len(fact.labels) != len(fact.predictions):
        return
    last = evidence.flow.node(predictions.source)
    sizes, wanted = evidence.origins.of(predictions)[1:-1], [n or 0 for n in fact.labels[1:-1]]
    names = list(dict.fromkeys(step.who for size in sizes for step in unpadded(size)))
    kept = [padded(size) or 0 for size in sizes]
    if not names or last.kind != "layer" or len(kept) != len(wanted) or any(not b <= a <= 1.5 * b for a, b in zip(kept, wanted, strict=True)):
        return
    crop = [[(a - b) // 2, (a - b) - (a - b) // 2] for a, b in zip(kept, wanted, strict=True)]
    rank = len(crop)
    cut = [append(last.name, f"Cropping{rank}D", cropping=crop if rank > 1 else crop[0])] if kept != wanted else []
    yield (
        f"Keep the spatial size in {listed(tuple(names))}: padding='same'" + (f", and add Cropping{rank}D after {last.name}" if cut else ""),
        [*(configure(name, padding="same") for name in names), *cut],
        "Windows without padding and odd sizes that are halved change the size of the output.",
    )
