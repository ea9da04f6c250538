"""Candidates at the cause of sizes that do not meet: the padding, the stride, or the size at the door."""

from __future__ import annotations

import ast
import dataclasses
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding, Node, elements, show_shape
from ...graph import Cause, Part, Slid, Spread, chain, padded, unpadded, value, without_padding
from ...rules.facts.loss import GridApart
from ...rules.upstream import size_behind
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, append, configure, given, gives, halves, insert, known, named, of, owner_of, padding_of, received, same_size, way_to
from .ends import ends_of
from .line import lines_at, makers_of


def at_cause(evidence: Evidence, finding: Finding) -> Made:
    """The padding or the stride of the one layer whose size explains the rest."""
    cause = getattr(finding.fact, "cause", None)
    node = next((item for item in evidence.flow.nodes if isinstance(cause, Cause) and item.name == cause.who), None)
    if node is None or not isinstance(cause, Cause) or cause.more:
        return
    if cause.kind == "unpadded":
        if "Transpose" in node.op:
            yield (
                f"Set padding='same' on {node.name}, so that only its strides change the size",
                [configure(node.name, padding="same")],
                f"{cause.before} becomes {cause.before * cause.stride}.",
            )
            return
        why = f"{cause.before} stays {cause.before}." if cause.stride == 1 else "Nothing is cropped at the border."
        yield same_size(node, why, padding=padding_of(evidence, node))
    elif cause.kind == "factor":
        key = "strides" if "Transpose" in node.op else "size"
        told = node.config.get(key, 1)
        whole = cause.stride if not isinstance(told, (list, tuple)) else [cause.stride] * len(told)
        yield (
            f"Set {key}={cause.stride} on {node.name}, like the stride that it undoes",
            [configure(node.name, **{key: whole})],
            f"{cause.before} becomes {cause.before * cause.stride}.",
        )
    elif cause.kind == "strided" and not _shortcut(evidence):
        yield same_size(node, "No later layer restores the size.", strides=1, padding="same")


def other_crop(evidence: Evidence, finding: Finding) -> Made:
    """The cropping that a branch ends in, by as much as it takes to have the size of the other."""
    cause, edges = getattr(finding.fact, "cause", None), received(evidence)
    node = named(evidence, cause.who) if isinstance(cause, Cause) and cause.kind == "cropped" else None
    if node is None or len(edges) != 2:
        return
    for mine, other in (edges, edges[::-1]):
        before = next((edge.spec.shape for edge in evidence.flow.into(node.id)), None)
        inner = list(zip(before or (), other.spec.shape or (), strict=False))[1:-1]
        if mine.source != node.id or not before or len(before) != len(other.spec.shape or ()) or any(None in pair for pair in inner):
            continue
        gaps = [(a or 0) - (b or 0) for a, b in inner]
        if min(gaps) < 0:
            continue
        both = halves(gaps)
        alike = len(gaps) > 1 and len({*gaps}) == 1 and gaps[0] % 2 == 0
        yield (
            f"Crop {show_shape(before[1:-1])} to {show_shape((other.spec.shape or ())[1:-1])} in {node.name}: cropping={gaps[0] // 2 if alike else both}",
            [configure(node.name, cropping=gaps[0] // 2 if alike else both)],
            "The border is lost.",
        )


def all_padded(evidence: Evidence, finding: Finding) -> Made:
    """``padding="same"`` for all windows on the way to branches that only these windows make unlike."""
    edges = received(evidence)
    sizes = [evidence.origins.of(edge) for edge in edges]
    if len(sizes) < 2 or len({len(one) for one in sizes}) > 1:
        return
    found: dict[str, None] = {}
    for axis in range(1, len(sizes[0])):
        here = [one[axis] for one in sizes]
        if len({value(size) for size in here}) < 2:
            continue
        if len({padded(size) for size in here}) > 1 or None in map(padded, here):
            if axis < len(sizes[0]) - 1:
                return  # padding alone does not bring them together
            continue
        found.update(dict.fromkeys(step.who for size in here for step in unpadded(size)))
    if len(found) > 1:
        names = [*found]
        nodes = [named(evidence, name) for name in names]
        padding = "causal" if any(node is not None and padding_of(evidence, node) == "causal" for node in nodes) else "same"
        yield (
            f"Keep the spatial size in {', '.join(names[:-1])} and {names[-1]}: padding={padding!r}",
            [configure(name, padding=padding) for name in names],
            "Kernels of different sizes then output maps of the same size.",
        )


@of(GridApart)
def row_of_reshape(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """A row for each position of an axis, where a reshape with a -1 puts several of them, or a part of one, into a row."""
    _, predictions = ends_of(evidence, finding)
    sizes = evidence.origins.of(predictions) if predictions is not None else ()
    size, steps = sizes[fact.axis] if fact.axis < len(sizes) else None, fact.labels[fact.axis] or 0
    node = named(evidence, size.who) if isinstance(size, Part) and any(value(part) == steps for part in size.of) else None
    target = node.config.get("target_shape") if node is not None and isinstance(size, Part) else None
    if node is not None and isinstance(size, Part) and isinstance(target, (list, tuple)) and len(target) == 2 and target[0] == -1:
        row = size.written * (value(size) or 0) // steps
        yield (f"Reshape to (-1, {row}) in {node.name}", [configure(node.name, target_shape=[-1, row])], f"Each of the {steps} positions has {row} values.")


def padded_throughout(evidence: Evidence, finding: Finding) -> Made:
    """``padding="same"`` for every window on the way to an output that is too small or too large only for want of it."""
    cause = getattr(finding.fact, "cause", None)
    if not isinstance(cause, Cause) or cause.kind != "unpadded" or not cause.more or not isinstance(finding.fact, GridApart):
        return
    _, predictions = ends_of(evidence, finding)
    if predictions is None:
        return
    found: dict[str, None] = {}
    strides = False
    for axis in range(1, len(finding.fact.predictions) - 1):
        steps = chain(size_behind(evidence, predictions, axis)[0])
        found.update(dict.fromkeys(steps[i].who for i in without_padding(steps)))
        strides = strides or any(isinstance(step, (Slid, Spread)) and step.stride > 1 for step in steps)
    names = [*found]
    if len(names) > 1:
        yield (
            f"Keep the {'sizes even' if strides else 'spatial size'} in {', '.join(names[:-1])} and {names[-1]}: padding='same'",
            [configure(name, padding="same") for name in names],
            "Each stride then halves the size that a later layer doubles." if strides else "Each layer then returns a map as large as it receives.",
        )


def spread_evenly(evidence: Evidence, finding: Finding) -> Made:
    """``padding="same"`` for the transposed convolutions on the way to an output that they made too large: each then multiplies its size by its stride."""
    _, predictions = ends_of(evidence, finding)
    if not isinstance(finding.fact, GridApart) or predictions is None:
        return
    rows = zip(finding.fact.predictions[1:-1], finding.fact.labels[1:-1], strict=False)
    if any((have or 0) < (want or 0) for have, want in rows):
        return
    found: dict[str, None] = {}
    for size in evidence.origins.of(predictions)[1:-1]:
        steps = chain(size)
        found.update(dict.fromkeys(steps[i].who for i in without_padding(steps) if isinstance(steps[i], Spread)))
    if found:
        yield (
            f"Set padding='same' on {' and '.join(found)}",
            [configure(name, padding="same") for name in found],
            "Each then multiplies the size by its stride, and adds no border.",
        )


def stride_beside(evidence: Evidence, finding: Finding) -> Made:
    """The stride of one branch, given to the convolution that stands beside it in the other."""
    cause, joint = getattr(finding.fact, "cause", None), evidence.failed
    if not isinstance(cause, Cause) or cause.kind != "strided" or cause.more or joint is None:
        return
    strided = named(evidence, cause.who)
    edges = received(evidence)
    if strided is None or len(edges) != 2:
        return
    for edge in edges:
        node = evidence.flow.node(edge.source)
        way = way_to(evidence, node)
        beside = next((item for item in way if item.kind == "layer" and "kernel_size" in item.config), None)
        if beside is None or strided in way or "strides" in beside.config or "Transpose" in beside.op:
            continue
        if _source(evidence, beside) == _source(evidence, strided):
            yield from _as_written(evidence, beside, strided)
            yield (
                f"Use the stride of {strided.name} on {beside.name}: strides={cause.stride}",
                [configure(beside.name, strides=cause.stride)],
                "Both branches then downsample equally.",
            )


def _as_written(evidence: Evidence, beside: Node, strided: Node) -> Made:
    for line, other in itertools.product(lines_at(evidence, beside.location)[:1], lines_at(evidence, strided.location)[:1]):
        mine, its = makers_of(line, beside), makers_of(other, strided)
        stride = argument(its[0], "strides", ["filters", "kernel_size", "strides"]) if len(mine) == len(its) == 1 else None
        if stride is None or isinstance(stride, ast.Constant) or argument(mine[0], "strides", ["filters", "kernel_size", "strides"]):
            continue
        if line.source.file == other.source.file and ast.unparse(line.scope) == ast.unparse(other.scope):
            if isinstance(stride, ast.IfExp):  # the stride of the branch that the other convolution is in
                under = [one for one in nodes(line.scope, ast.If) if ast.unparse(one.test) == ast.unparse(stride.test)]
                calls = [call for one in under for item in one.body for call in nodes(item, ast.Call)]
                stride = stride.body if any(call is mine[0] for call in calls) else stride
            text = other.source.of(stride)
            yield (
                f"Use the stride of {strided.name} on {beside.name}: strides={text}",
                [line.more(mine[0], f"strides={text}")],
                "Both branches then downsample equally.",
            )


def _source(evidence: Evidence, node: Node) -> str:
    return next((edge.source for edge in evidence.flow.into(node.id)), "")


def _shortcut(evidence: Evidence) -> bool:
    shapes = [edge.spec.shape for edge in evidence.operands()]
    node = evidence.failed
    return node is not None and node.op == "Add" and all(shapes) and len({shape[-1] for shape in shapes if shape}) > 1


def pad_and_crop(evidence: Evidence, finding: Finding) -> Made:
    """Every size made a multiple of what the strides need at the door, and cut back at the output."""
    cause = getattr(finding.fact, "cause", None)
    # Without labels nobody knows whether the output may be larger.
    if not isinstance(cause, Cause) or cause.kind != "lost" or len(cause.fits) < 2 or (evidence.where == "build" and not evidence.y):
        return
    door = next((node for node in evidence.flow.nodes if node.kind == "input" and node.name == cause.source), None)
    shape = gives(evidence, door) if door is not None else None
    step = abs(cause.fits[1] - cause.fits[0])
    if door is None or not shape or len(shape) not in (3, 4, 5) or not known(shape[1:-1]) or not step:
        return
    rank, sizes = len(shape) - 2, [n for n in shape[1:-1] if n is not None]
    pads = [[(-n % step) // 2, -n % step - (-n % step) // 2] for n in sizes]
    even = tuple(n + sum(pad) for n, pad in zip(sizes, pads, strict=True))
    written = pads if rank > 1 else pads[0]
    edit = insert(door.name, f"ZeroPadding{rank}D", padding=written)
    edits = [dataclasses.replace(edit, position="after", readers="all")]
    # What breaks while it is built has no output yet: what is left to crop is then the next finding.
    as_large = evidence.where != "build" and any(spec.shape and tuple(spec.shape[1 : rank + 1]) == tuple(sizes) for _, spec in evidence.y)
    ends = [end for end in (_end(evidence, node) for node in evidence.flow.nodes if node.kind == "output") if end is not None]
    if as_large:
        edits += [append(end.name, f"Cropping{rank}D", cropping=written) for end in ends]
    yield (
        f"Pad {show_shape(tuple(sizes))} to {show_shape(even)} in the model" + (", and crop its output back" if as_large else ""),
        edits,
        f"Multiples of {step} divide evenly at every stride, and every label keeps its pixel.",
    )


def crop_output(evidence: Evidence, finding: Finding) -> Made:
    """The output cut to the size of the labels, where strides rounded it up."""
    cause = getattr(finding.fact, "cause", None)
    if (isinstance(cause, Cause) and cause.kind != "lost") or len(evidence.y) != 1 or len(evidence.outputs) != 1:
        return
    have, want = evidence.outputs[0][1].shape, evidence.y[0][1].shape
    if have and want and len(want) == len(have) - 1 > 1:  # the class of each position
        want = (*want, have[-1])
    end = next((_end(evidence, node) for node in evidence.flow.nodes if node.kind == "output"), None)
    if end is None or not have or not want or len(have) != len(want) or len(have) not in (3, 4, 5):
        return
    inner = [(a, b) for a, b in zip(have[1:-1], want[1:-1], strict=True) if a is not None and b is not None]
    _, predictions = ends_of(evidence, finding)
    sizes = evidence.origins.of(predictions)[1:-1] if predictions is not None else ()
    if any(a != b and not chain(size) for (a, b), size in zip(inner, sizes, strict=False)):
        return  # rows of several maps, or a size that is written: nothing was rounded up
    if len(inner) != len(have) - 2 or any(a < b or a > b * 1.5 for a, b in inner):
        return
    crop = [[(a - b) // 2, (a - b) - (a - b) // 2] for a, b in inner]
    rank = len(inner)
    yield (
        f"Crop the output to {show_shape(tuple(b for _, b in inner))}: add Cropping{rank}D after {end.name}",
        [append(end.name, f"Cropping{rank}D", cropping=crop if rank > 1 else crop[0])],
        "Removes what the strides rounded up.",
    )


def _end(evidence: Evidence, output: Node) -> Node | None:
    for edge in evidence.flow.into(output.id):
        node = evidence.flow.node(edge.source)
        return node if node.kind == "layer" else owner_of(evidence, node)
    return None


def keep_positions(evidence: Evidence, finding: Finding) -> Made:
    """The layer of one branch whose stride made it smaller than the others."""
    edges = evidence.operands()
    shapes = [edge.spec.shape for edge in edges]
    cause = getattr(finding.fact, "cause", None)
    if len(shapes) < 2 or any(not shape or len(shape) not in (3, 4, 5) for shape in shapes):
        return
    if (isinstance(cause, Cause) and cause.kind == "lost") or _shortcut(evidence):
        # A stride that later layers undo is not the mistake: the size is.
        return
    inner = [tuple(shape[1:-1]) for shape in shapes if shape]
    largest = max(inner, key=lambda sizes: elements(sizes) or 0)
    for edge, sizes in zip(edges, inner, strict=True):
        if sizes == largest:
            continue
        start = evidence.flow.node(edge.source)
        for node in way_to(evidence, start):
            before = given(evidence, node)
            if before is None or len(before) != len(sizes) + 2:
                break
            if tuple(before[1:-1]) == largest and node.kind == "layer" and _strided(node):
                yield (
                    f"Keep the spatial size in {node.name}: strides=1, padding='same'",
                    [configure(node.name, strides=[1] * len(sizes), padding="same")],
                    "The other branches keep theirs.",
                )
                break


def _strided(node: Node) -> bool:
    steps = node.config.get("strides") or node.config.get("pool_size") or 1
    most = max(steps) if isinstance(steps, (list, tuple)) else steps
    return ("Pooling" in node.op or node.op.startswith(("Conv", "Separable", "Depthwise"))) and isinstance(most, int) and most > 1
