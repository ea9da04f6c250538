"""Candidates where branches meet: one of them brought to the shape of the other."""

from __future__ import annotations

import dataclasses

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape, elements, show_shape
from ...graph import Cause, chain, padded, unpadded, value, without_padding
from ...rules.facts.loss import GridApart
from ...rules.upstream import maker_of
from ...trace.axes import RECURRENT
from .edits import (
    Made,
    append,
    at,
    configure,
    failing,
    given,
    gives,
    insert,
    known,
    last_step_of,
    named,
    owner_of,
    pooling,
    received,
    same_size,
    upstream,
    way_to,
)
from .ends import ends_of


def merge(evidence: Evidence, finding: Finding) -> Made:
    """Branches brought to one shape."""
    node, _ = failing(evidence)
    edges = evidence.operands()
    shapes = [edge.spec.shape for edge in edges]
    if len(shapes) < 2 or any(not shape for shape in shapes):
        return
    if node.op == "Concatenate":
        yield from _concat_axis(node, [shape for shape in shapes if shape])
    else:
        wide = [_broadcast(shape or (), [other or () for other in shapes]) for shape in shapes]
        if len(shapes) == 2 and wide == shapes:
            yield from _shortcut_first(evidence, node, edges)
        shapes = [*wide]
    base = min(range(len(shapes)), key=lambda i: elements(tuple(n or 1 for n in (shapes[i] or ()))) or 0)
    for index, shape in enumerate(shapes):
        small = shapes[base] or ()
        if shape is None or index == base or shape == small:
            continue
        name = evidence.flow.node(edges[index].source).name
        yield from _align(node, index, name, shape, small, node.op == "Concatenate")
        other = evidence.flow.node(edges[base].source).name
        concat = node.op == "Concatenate"
        yield from _grow(node, base, other, small, shape, concat)
        # The one with fewer numbers may still be the one with more positions.
        yield from _grow(node, index, name, shape, small, concat)
        yield from _align(node, base, other, small, shape, concat)


def _broadcast(shape: Shape, others: list[Shape]) -> tuple[int | None, ...]:
    """A shape whose inner axes of size 1, which an element-wise merge repeats, have the sizes that they are repeated to."""
    if any(len(other) != len(shape) for other in others):
        return shape
    sizes = [next((other[axis] for other in others if other[axis] != 1), 1) for axis in range(len(shape))]
    return tuple(wide if size == 1 and axis > 0 else size for axis, (size, wide) in enumerate(zip(shape, sizes, strict=True)))


def _shortcut_first(evidence: Evidence, node: Node, edges: list[Edge]) -> Made:
    """The shortcut of a residual block, from which the other branch comes, projected to as many channels as that one has."""
    for i, (mine, other) in enumerate(((edges[0], edges[1]), (edges[1], edges[0]))):
        big, small = mine.spec.shape or (), other.spec.shape or ()
        above = {item.id for item in upstream(evidence, evidence.flow.node(other.source))}
        if mine.source not in above or len(big) != len(small) or len(big) not in (3, 4, 5) or big[-1] == small[-1]:
            continue
        name, rank, like = evidence.flow.node(mine.source).name, len(big) - 2, maker_of(evidence, other, len(small) - 1).name
        ratios = [(a or 0) // (b or 1) for a, b in zip(big[1:-1], small[1:-1], strict=True)]
        if any(not a or not b or a != b * n for a, b, n in zip(big[1:-1], small[1:-1], ratios, strict=True)) and big[1:-1] != small[1:-1]:
            continue
        if any(n > 1 for n in ratios):
            yield (
                f"Project the shortcut {name} with a strided 1x1 convolution: Conv{rank}D({small[-1]}, 1, strides={tuple(ratios)})",
                [at(node, i, f"Conv{rank}D", like, filters=small[-1], kernel_size=[1] * rank, strides=ratios)],
                "This is standard in residual blocks; the other branch is unchanged.",
            )
            continue
        yield (
            f"Project the shortcut {name} to {small[-1]} channels with a 1x1 convolution",
            [at(node, i, f"Conv{rank}D", like, filters=small[-1], kernel_size=[1] * rank)],
            "This is standard in residual blocks; the other branch is unchanged.",
        )


def at_cause(evidence: Evidence, finding: Finding) -> Made:
    """The padding or the stride of the one layer whose size explains the rest."""
    cause = getattr(finding.fact, "cause", None)
    node = next((item for item in evidence.flow.nodes if isinstance(cause, Cause) and item.name == cause.who), None)
    if node is None or not isinstance(cause, Cause) or cause.more:
        return
    if cause.kind == "unpadded":
        # Beside causal convolutions, one that sees the future would be another thing.
        causal = "1D" in node.op and any(item.config.get("padding") == "causal" for item in evidence.flow.nodes)
        padding = "causal" if causal else "same"
        if "Transpose" in node.op:
            yield (
                f"Set padding='same' on {node.name}, so that only its strides change the size",
                [configure(node.name, padding="same")],
                f"{cause.before} becomes {cause.before * cause.stride}.",
            )
            return
        why = f"{cause.before} stays {cause.before}." if cause.stride == 1 else "Nothing is cropped at the border."
        yield same_size(node, why, padding=padding)
    elif cause.kind == "strided" and not _shortcut(evidence):
        yield same_size(node, "No later layer restores the size.", strides=1, padding="same")


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
        yield (
            f"Keep the spatial size in {', '.join(names[:-1])} and {names[-1]}: padding='same'",
            [configure(name, padding="same") for name in names],
            "Kernels of different sizes then output maps of the same size.",
        )


def padded_throughout(evidence: Evidence, finding: Finding) -> Made:
    """``padding="same"`` for every window on the way to an output that is too small or too large only for want of it."""
    cause = getattr(finding.fact, "cause", None)
    if not isinstance(cause, Cause) or cause.kind != "unpadded" or not cause.more or not isinstance(finding.fact, GridApart):
        return
    _, predictions = ends_of(evidence, finding)
    found: dict[str, None] = {}
    for size in evidence.origins.of(predictions)[1:-1] if predictions is not None else ():
        steps = chain(size)
        found.update(dict.fromkeys(steps[i].who for i in without_padding(steps)))
    names = [*found]
    if len(names) > 1:
        yield (
            f"Keep the sizes even in {', '.join(names[:-1])} and {names[-1]}: padding='same'",
            [configure(name, padding="same") for name in names],
            "Each stride then halves the size that a later layer doubles.",
        )


def ended_sequence(evidence: Evidence, finding: Finding) -> Made:
    """The last step alone of a recurrent layer whose branch has one axis more than the others."""
    edges = received(evidence)
    least = min((len(edge.spec.shape or ()) for edge in edges), default=0)
    for edge in edges:
        node = evidence.flow.node(edge.source)
        inner = str(node.config.get("layer", "")) if node.op == "TimeDistributed" else ""
        ends = node.config.get("return_sequences") if node.op in RECURRENT else inner in RECURRENT
        if ends and len(edge.spec.shape or ()) == least + 1:
            yield last_step_of(node, "The other branches output one vector, but this one outputs a sequence.")


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
            yield (
                f"Use the stride of {strided.name} on {beside.name}: strides={cause.stride}",
                [configure(beside.name, strides=cause.stride)],
                "Both branches then downsample equally.",
            )


def _source(evidence: Evidence, node: Node) -> str:
    return next((edge.source for edge in evidence.flow.into(node.id)), "")


def _shortcut(evidence: Evidence) -> bool:
    """Whether a branch with a stride and other channels meets one that has neither: then the short one is to follow."""
    shapes = [edge.spec.shape for edge in evidence.operands()]
    node = evidence.failed
    return node is not None and node.op == "Add" and all(shapes) and len({shape[-1] for shape in shapes if shape}) > 1


def pad_and_crop(evidence: Evidence, finding: Finding) -> Made:
    """Every size made a multiple of what the strides need at the door, and cut back at the output: nothing of the data is lost."""
    cause = getattr(finding.fact, "cause", None)
    if not isinstance(cause, Cause) or cause.kind != "lost" or len(cause.fits) < 2:
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
    end = next((_end(evidence, node) for node in evidence.flow.nodes if node.kind == "output"), None)
    if end is None or not have or not want or len(have) != len(want) or len(have) not in (3, 4, 5):
        return
    inner = [(a, b) for a, b in zip(have[1:-1], want[1:-1], strict=True) if a is not None and b is not None]
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
    """The layer that an output comes from."""
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
    """Whether a convolution or pooling takes steps of more than one position."""
    steps = node.config.get("strides") or node.config.get("pool_size") or 1
    most = max(steps) if isinstance(steps, (list, tuple)) else steps
    return ("Pooling" in node.op or node.op.startswith(("Conv", "Separable", "Depthwise"))) and isinstance(most, int) and most > 1


def last_axis(evidence: Evidence, finding: Finding) -> Made:
    """Branches joined along the batch: features stand on the last axis."""
    for node in map(evidence.flow.node, finding.nodes):
        if node.op == "Concatenate" and node.config.get("axis") == 0:
            yield (
                f"Concatenate the features: Concatenate(axis=-1) instead of {node.name}",
                [configure(node.name, axis=-1)],
                "Axis 0 is the batch: concatenating along it mixes the samples of both branches.",
            )


def _concat_axis(node: Node, shapes: list[Shape]) -> Made:
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        return
    differs = [i for i in range(1, rank) if len({shape[i] for shape in shapes}) > 1]
    if len(differs) == 1:
        axis = differs[0]
        yield (
            f"Concatenate along axis {axis}, the one that differs: Concatenate(axis={axis})",
            [configure(node.name, axis=axis)],
            "All other axes match.",
        )


def _align(node: Node, index: int, name: str, big: Shape, small: Shape, concat: bool) -> Made:
    """The larger branch made smaller."""
    if len(big) == len(small) and len(big) in (3, 4, 5):
        inner = list(zip(big[1:-1], small[1:-1], strict=True))
        channels = big[-1] != small[-1] and not concat
        rank = len(big) - 2
        if any(a != b for a, b in inner) and all(a and b and a >= b and (a // b) * b <= a for a, b in inner):
            ratios = [(-(-a // b)) if a and b else 1 for a, b in inner]
            exact = all(a == (b or 0) * r for (a, b), r in zip(inner, ratios, strict=True))
            if channels and exact:
                yield (
                    f"Project {name} with a strided 1x1 convolution: Conv{rank}D({small[-1]}, 1, strides={tuple(ratios)})",
                    [at(node, index, f"Conv{rank}D", filters=small[-1], kernel_size=[1] * rank, strides=ratios)],
                    "This is standard in residual blocks.",
                )
            elif not channels and all(-(-(a or 0) // r) == b for (a, b), r in zip(inner, ratios, strict=True)):
                for kind in ("MaxPooling", "AveragePooling"):
                    yield (
                        f"Pool {name} like the other branch: {kind}{rank}D({tuple(ratios)})",
                        [at(node, index, f"{kind}{rank}D", pool_size=ratios, padding="same")],
                        "Adds no weights.",
                    )
            if not channels:
                crop = [[(a - b) // 2, (a - b) - (a - b) // 2] for a, b in inner if a is not None and b is not None]
                yield (
                    f"Crop {name} to {show_shape(small[1:-1])}: Cropping{rank}D",
                    [at(node, index, f"Cropping{rank}D", cropping=crop if rank > 1 else crop[0])],
                    "The border is lost.",
                )
        elif channels and big[1:-1] == small[1:-1]:
            yield (
                f"Project {name} to {small[-1]} channels with a 1x1 convolution",
                [at(node, index, f"Conv{rank}D", filters=small[-1], kernel_size=[1] * rank)],
                "This is standard in residual blocks.",
            )
    if len(big) == len(small) == 2 and big[-1] != small[-1] and not concat:
        yield f"Project {name} to {small[-1]}: Dense({small[-1]})", [at(node, index, "Dense", units=small[-1])], "Adds trainable weights."
    if len(big) > len(small) and known(big[1:]):
        if len(small) == 2 and len(big) in (3, 4, 5):
            yield f"Flatten {name}", [at(node, index, "Flatten")], "Keeps every value."
            yield (
                f"Pool {name} to one vector: GlobalAveragePooling{len(big) - 2}D",
                [at(node, index, pooling(big))],
                "Averages over the spatial or time axes.",
            )
        if elements(big[1:]) == elements(small[1:]):
            yield (
                f"Reshape {name} to {show_shape(small[1:])}",
                [at(node, index, "Reshape", target_shape=list(small[1:]))],
                "Keeps every value.",
            )


def _grow(node: Node, index: int, name: str, small: Shape, big: Shape, concat: bool) -> Made:
    """The smaller branch made larger."""
    rank = len(big) - 2
    if len(big) == len(small) and len(big) in (3, 4, 5):
        inner = list(zip(small[1:-1], big[1:-1], strict=True))
        if any(a != b for a, b in inner) and all(a and b and b >= a for a, b in inner):
            if all(b % a == 0 for a, b in inner if a and b) and (concat or small[-1] == big[-1]):
                factor = [b // a for a, b in inner if a and b]
                yield (
                    f"Upsample {name}: UpSampling{rank}D({tuple(factor)})",
                    [at(node, index, f"UpSampling{rank}D", size=factor if rank > 1 else factor[0])],
                    "Adds no weights.",
                )
            pads = [[(b - a) // 2, (b - a) - (b - a) // 2] for a, b in inner if a and b]
            if concat or small[-1] == big[-1]:
                yield (
                    f"Pad {name} to {show_shape(big[1:-1])}: ZeroPadding{rank}D",
                    [at(node, index, f"ZeroPadding{rank}D", padding=pads if rank > 1 else pads[0])],
                    "Adds zeros.",
                )
        elif small[-1] != big[-1] and not concat and small[1:-1] == big[1:-1]:
            yield (
                f"Project {name} to {big[-1]} channels with a 1x1 convolution",
                [at(node, index, f"Conv{rank}D", filters=big[-1], kernel_size=[1] * rank)],
                "Adds trainable weights.",
            )
    if len(big) == len(small) == 2 and big[-1] != small[-1] and not concat:
        yield f"Project {name} to {big[-1]}: Dense({big[-1]})", [at(node, index, "Dense", units=big[-1])], "Adds trainable weights."
    if len(small) == 2 and len(big) == 3 and big[1] and big[1] > 1:
        yield (
            f"Repeat {name} for each of the {big[1]} steps: RepeatVector({big[1]})",
            [at(node, index, "RepeatVector", n=big[1])],
            "Every step receives the same vector.",
        )
