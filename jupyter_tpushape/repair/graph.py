"""Candidates inside the model: around the layer that raised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..flow import Edit, Finding, Node, Shape, elements, show_shape
from ..rules.evidence import Evidence
from ..rules.loss import ancestors
from ..rules.words import RECURRENT, axes_of

Made = Iterator[tuple[str, list[Edit], str]]
SAME_SHAPE = frozenset(
    {
        "Dropout",
        "Activation",
        "ReLU",
        "LeakyReLU",
        "BatchNormalization",
        "LayerNormalization",
        "SpatialDropout1D",
        "GaussianNoise",
        "Masking",
        "PReLU",
        "ELU",
        "Softmax",
    }
)


def insert(before: str, kind: str, **config: Any) -> Edit:
    return Edit("insert-layer", before, {"layer": kind, "config": config, "position": "before"})


def insert_at_call(node: Node, kind: str, **config: Any) -> Edit:
    """In front of this call only, where a layer is called more than once."""
    edit = insert(node.name, kind, **config)
    nth = node.config.get("call")
    return Edit(edit.kind, edit.target, {**edit.detail, "nth": nth}) if nth else edit


def configure(layer: str, **config: Any) -> Edit:
    return Edit("layer-config", layer, {"config": config})


def none(evidence: Evidence, finding: Finding) -> Made:
    """Nothing that could be tried is known."""
    return iter(())


def failing(evidence: Evidence) -> tuple[Node, Shape | None]:
    """The layer that raised and the shape that it got."""
    node = evidence.failed
    assert node is not None
    edges = [edge for edge in evidence.failed_inputs() if edge.label != "mask"]
    return node, edges[0].spec.shape if edges else None


def upstream(evidence: Evidence, node: Node) -> Iterator[Node]:
    """The straight way up: nearest first, as long as there is one producer."""
    yield from ancestors(evidence, node.id)


def known(row: tuple[int | None, ...]) -> bool:
    """Whether every axis is known."""
    return None not in row


# -- layers ----------------------------------------------------------------------------------------


def sequences_upstream(evidence: Evidence, finding: Finding) -> Made:
    """A recurrent layer behind another one: the first must return its sequence."""
    node, shape = failing(evidence)
    if shape is None or len(shape) != 2:
        return
    for above in upstream(evidence, node):
        if above.op in RECURRENT:
            yield (
                f"Let {above.name} return its whole sequence: return_sequences=True",
                [configure(above.name, return_sequences=True)],
                "the next layer reads a sequence, and this one ends it",
            )
            if node.op in RECURRENT and node.config.get("return_sequences"):
                yield (
                    f"Return the whole sequence from {above.name} and only the last step from {node.name}",
                    [configure(above.name, return_sequences=True), configure(node.name, return_sequences=False)],
                    "the two stand the other way round",
                )
            return
        if above.op == "Flatten" and node.op != "Dense":
            yield from _undo_flatten(node, above, given(evidence, above))
            return
        if above.op not in SAME_SHAPE:
            return


def embed_ids(evidence: Evidence, finding: Finding) -> Made:
    """Ids go straight into a layer that reads a sequence of vectors."""
    node = evidence.failed
    edge = next((edge for edge in evidence.failed_inputs() if edge.label != "mask"), None) if node is not None else None
    if node is None or edge is None or edge.spec.shape is None or len(edge.spec.shape) != 2 or len(axes_of(node.op)) != 3:
        return
    source = evidence.flow.node(edge.source)
    integers = any(spec.dtype.startswith(("int", "uint")) for _, spec in evidence.x)
    highest = max(
        (stats.maximum for stats in (getattr(evidence.sample, "stats", None) or {}).values() if stats and stats.maximum), default=None
    )
    if source.kind == "input" and len(evidence.x) == 1 and integers and highest is not None:
        yield (
            f"Turn the ids into vectors: Embedding({int(highest) + 1}, 8) before {node.name}",
            [insert(node.name, "Embedding", input_dim=int(highest) + 1, output_dim=8)],
            f"the data holds ids up to {int(highest)}; a vocabulary may hold more",
        )


def reshape_upstream(evidence: Evidence, finding: Finding) -> Made:
    """A reshape right above gives one axis too few: the folded one is split again."""
    node, shape = failing(evidence)
    for above in upstream(evidence, node):
        if above.op == "Reshape" and shape and len(shape) == len(axes_of(node.op)) - 1 and shape[1]:
            side = math.isqrt(shape[1])
            if side > 1 and side * side == shape[1] and known(shape[1:]):
                made = [side, side, *[int(n or 0) for n in shape[2:]]]
                yield (
                    f"Reshape to {tuple(made)} in {above.name}",
                    [configure(above.name, target_shape=made)],
                    f"{shape[1]} positions are {side} by {side}",
                )
        if above.op not in SAME_SHAPE:
            return


def given(evidence: Evidence, node: Node) -> Shape | None:
    """The shape of what a node gets."""
    return next((edge.spec.shape for edge in evidence.flow.into(node.id)), None)


def _undo_flatten(node: Node, above: Node, before: Shape | None) -> Made:
    wanted = len(axes_of(node.op)) or 3
    if before and len(before) == wanted and known(before[1:]):
        yield (
            f"Bring the axes back in front of {node.name}: Reshape({tuple(before[1:])})",
            [insert(node.name, "Reshape", target_shape=list(before[1:]))],
            f"{above.name} took them away",
        )


def other_dimension(evidence: Evidence, finding: Finding) -> Made:
    """Convolutions and poolings of another dimension, for the whole stack of them."""
    node = evidence.failed or evidence.flow.node(finding.nodes[0])
    shape = given(evidence, node)
    if shape is None or not axes_of(node.op):
        return
    wanted = len(axes_of(node.op))
    have = len(shape)
    old, new = f"{wanted - 2}D", f"{have - 2}D"
    if have == wanted or have - 2 not in (1, 2, 3) or old not in node.op:
        return
    chain = [item for item in evidence.flow.nodes if item.kind == "layer" and old in item.op and "LSTM" not in item.op]
    edits = [
        Edit("replace-layer", item.name, {"layer": item.op.replace(old, new), "keep": _KEEP, "config": _dimension(item, have - 2)})
        for item in chain
    ]
    if edits:
        every = f"{node.op} by {node.op.replace(old, new)}" + (f", and {len(edits) - 1} more like it" if len(edits) > 1 else "")
        yield f"Replace {every}", edits, f"the data has {have - 2} axes to slide over"


def higher_dimension(evidence: Evidence, finding: Finding) -> Made:
    """The data has more axes than the layers slide over: the layers are of the wrong dimension."""
    node, shape = failing(evidence)
    if shape is not None and axes_of(node.op) and len(shape) > len(axes_of(node.op)):
        yield from other_dimension(evidence, finding)


_KEEP = ["filters", "activation", "use_bias", "rate", "padding", "data_format"]


def _dimension(node: Node, rank: int) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key in ("kernel_size", "strides", "pool_size", "dilation_rate", "size", "padding", "cropping"):
        value = node.config.get(key)
        if isinstance(value, list) and value and isinstance(value[0], int):
            changed[key] = [value[0]] * rank
        elif isinstance(value, int) and not isinstance(value, bool):
            changed[key] = [value] * rank
    return changed


def reshape_before(evidence: Evidence, finding: Finding) -> Made:
    """Axes folded or added in front of the layer that wants another number of them."""
    node, shape = failing(evidence)
    if shape is None or not known(shape[1:]):
        return
    row = [int(n or 0) for n in shape[1:]]
    wanted = len(finding.expected.axes) if finding.expected is not None and finding.expected.axes else len(axes_of(node.op)) or 3
    name = node.name
    if wanted == 3 and len(row) == 3:
        yield (
            f"Read the rows as time steps: Reshape({(row[0], row[1] * row[2])}) before {name}",
            [insert(name, "Reshape", target_shape=[row[0], row[1] * row[2]])],
            f"{row[0]} steps of {row[1] * row[2]} features; every number is kept",
        )
        yield (
            f"Flatten each step by itself: TimeDistributed(Flatten()) before {name}",
            [insert(name, "TimeDistributed", layer="Flatten")],
            "the same as the reshape, whatever the sizes",
        )
        yield (
            f"Read every position as a step: Reshape({(row[0] * row[1], row[2])}) before {name}",
            [insert(name, "Reshape", target_shape=[row[0] * row[1], row[2]])],
            f"{row[0] * row[1]} steps are slow on any device",
        )
    elif wanted == 3 and len(row) > 3:
        rest = math.prod(row[1:])
        yield (
            f"Read the first axis as time: Reshape({(row[0], rest)}) before {name}",
            [insert(name, "Reshape", target_shape=[row[0], rest])],
            "every number is kept",
        )
    elif len(row) < wanted - 1:
        grown = [*row, *([1] * (wanted - 1 - len(row)))]
        side = math.isqrt(row[0]) if len(row) == 1 else 0
        if wanted == 4 and len(row) == 1 and side * side == row[0] and side > 1:
            yield (
                f"Bring the image back: Reshape({(side, side, 1)}) before {name}",
                [insert(name, "Reshape", target_shape=[side, side, 1])],
                f"{row[0]} is {side} by {side}",
            )
        yield (
            f"Add the missing axis: Reshape({tuple(grown)}) before {name}",
            [insert(name, "Reshape", target_shape=grown)],
            "an axis of size 1 adds no number",
        )
        if wanted == 3 and len(row) == 1:
            yield (
                f"Read each row as one step: Reshape({(1, row[0])}) before {name}",
                [insert(name, "Reshape", target_shape=[1, row[0]])],
                "a sequence of one step",
            )
    elif len(row) > wanted - 1:
        keep = row[: wanted - 2]
        yield (
            f"Fold the surplus axes into the last one: Reshape({(*keep, math.prod(row[wanted - 2 :]))}) before {name}",
            [insert(name, "Reshape", target_shape=[*keep, math.prod(row[wanted - 2 :])])],
            "every number is kept",
        )
        if wanted == 2:
            yield f"Flatten before {name}", [insert(name, "Flatten")], "every number is kept"


def project_before(evidence: Evidence, finding: Finding) -> Made:
    """A Dense that brings the width to what the weights were made for."""
    node, _ = failing(evidence)
    wanted = next(
        (
            int(finding.expected.axes[i])
            for i in (finding.expected.differs if finding.expected else ())
            if finding.expected and finding.expected.axes[i].isdigit()
        ),
        None,
    )
    if wanted is None:
        kernel = next((weight.shape for weight in node.weights if weight.name == "kernel"), None)
        wanted = kernel[-2] if kernel and len(kernel) > 1 else None
    if wanted:
        yield (
            f"Project to {wanted} in front of {node.name}: Dense({wanted})",
            [insert_at_call(node, "Dense", units=wanted)],
            "adds weights of its own; giving the layer the tensor it was made for is better where there is one",
        )


def merge(evidence: Evidence, finding: Finding) -> Made:
    """Branches brought to one shape."""
    node, _ = failing(evidence)
    edges = [edge for edge in evidence.failed_inputs() if edge.label != "mask"]
    shapes = [edge.spec.shape for edge in edges]
    if len(shapes) < 2 or any(not shape for shape in shapes):
        return
    if node.op == "Concatenate":
        yield from _concat_axis(node, [shape for shape in shapes if shape])
    base = min(range(len(shapes)), key=lambda i: elements(tuple(n or 1 for n in (shapes[i] or ()))) or 0)
    for index, shape in enumerate(shapes):
        small = shapes[base] or ()
        if shape is None or index == base or shape == small:
            continue
        name = evidence.flow.node(edges[index].source).name
        yield from _align(node, index, name, shape, small, node.op == "Concatenate")
        other = evidence.flow.node(edges[base].source).name
        yield from _grow(node, base, other, small, shape, node.op == "Concatenate")


def _concat_axis(node: Node, shapes: list[Shape]) -> Made:
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        return
    differs = [i for i in range(1, rank) if len({shape[i] for shape in shapes}) > 1]
    if len(differs) == 1:
        axis = differs[0]
        yield (
            f"Join along axis {axis}, the one that differs: Concatenate(axis={axis})",
            [configure(node.name, axis=axis)],
            "every other axis is the same",
        )


def at(node: Node, index: int, layer: str, **config: Any) -> Edit:
    return Edit("insert-layer", node.name, {"layer": layer, "config": config, "position": "before", "input": index})


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
                    f"Project {name} down with a strided 1x1 convolution: Conv{rank}D({small[-1]}, 1, strides={tuple(ratios)})",
                    [at(node, index, f"Conv{rank}D", filters=small[-1], kernel_size=[1] * rank, strides=ratios)],
                    "the usual way of a residual branch",
                )
            elif not channels:
                for kind in ("MaxPooling", "AveragePooling"):
                    yield (
                        f"Pool {name} as the other branch was: {kind}{rank}D({tuple(ratios)})",
                        [at(node, index, f"{kind}{rank}D", pool_size=ratios, padding="same")],
                        "no weights added",
                    )
            if not channels:
                crop = [[(a - b) // 2, (a - b) - (a - b) // 2] for a, b in inner if a is not None and b is not None]
                yield (
                    f"Crop {name} to {show_shape(small[1:-1])}: Cropping{rank}D",
                    [at(node, index, f"Cropping{rank}D", cropping=crop if rank > 1 else crop[0])],
                    "the border is lost",
                )
        elif channels and big[1:-1] == small[1:-1]:
            yield (
                f"Project {name} to {small[-1]} channels with a 1x1 convolution",
                [at(node, index, f"Conv{rank}D", filters=small[-1], kernel_size=[1] * rank)],
                "the usual way of a residual branch",
            )
    if len(big) == len(small) == 2 and big[-1] != small[-1] and not concat:
        yield f"Project {name} to {small[-1]}: Dense({small[-1]})", [at(node, index, "Dense", units=small[-1])], ""
    if len(big) > len(small) and known(big[1:]):
        if len(small) == 2 and len(big) in (3, 4, 5):
            yield f"Flatten {name}", [at(node, index, "Flatten")], "every number is kept"
            yield (
                f"Pool {name} to one vector: GlobalAveragePooling{len(big) - 2}D",
                [at(node, index, f"GlobalAveragePooling{len(big) - 2}D")],
                "",
            )
        if elements(big[1:]) == elements(small[1:]):
            yield (
                f"Reshape {name} to {show_shape(small[1:])}",
                [at(node, index, "Reshape", target_shape=list(small[1:]))],
                "every number is kept",
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
                    "no weights added",
                )
            pads = [[(b - a) // 2, (b - a) - (b - a) // 2] for a, b in inner if a and b]
            if concat or small[-1] == big[-1]:
                yield (
                    f"Pad {name} to {show_shape(big[1:-1])}: ZeroPadding{rank}D",
                    [at(node, index, f"ZeroPadding{rank}D", padding=pads if rank > 1 else pads[0])],
                    "zeros are added",
                )
        elif small[-1] != big[-1] and not concat and small[1:-1] == big[1:-1]:
            yield (
                f"Project {name} to {big[-1]} channels with a 1x1 convolution",
                [at(node, index, f"Conv{rank}D", filters=big[-1], kernel_size=[1] * rank)],
                "",
            )
    if len(big) == len(small) == 2 and big[-1] != small[-1] and not concat:
        yield f"Project {name} to {big[-1]}: Dense({big[-1]})", [at(node, index, "Dense", units=big[-1])], ""
    if len(small) == 2 and len(big) == 3 and big[1]:
        yield f"Repeat {name} for each of the {big[1]} steps: RepeatVector({big[1]})", [at(node, index, "RepeatVector", n=big[1])], ""


def reshape_target(evidence: Evidence, finding: Finding) -> Made:
    """A target that holds as many numbers as there are, as near to the written one as possible."""
    node, shape = failing(evidence)
    if node.kind == "op":
        yield from free_rows(evidence, node, shape)
        return
    target = node.config.get("target_shape")
    size = elements(shape[1:]) if shape else None
    if not target or size is None:
        return
    wanted = [int(n) for n in target]
    for axis in _axes_to_change(wanted):
        rest = math.prod(n for i, n in enumerate(wanted) if i != axis and n > 0)
        if rest and size % rest == 0:
            made = [size // rest if i == axis else n for i, n in enumerate(wanted)]
            yield (
                f"Reshape to {tuple(made)}, which holds {size} numbers",
                [configure(node.name, target_shape=made)],
                f"axis {axis + 1} follows from the others",
            )
    ones = [1] * (len(wanted) - 1) + [size]
    yield f"Reshape to {tuple(ones)}", [configure(node.name, target_shape=ones)], ""
    giver = next((item for item in upstream(evidence, node) if item.op == "Dense"), None)
    if giver is not None and all(n > 0 for n in wanted):
        yield (
            f"Give {giver.name} {math.prod(wanted)} units, as many as the target holds",
            [configure(giver.name, units=math.prod(wanted))],
            "more weights",
        )


def _axes_to_change(wanted: list[int]) -> list[int]:
    return sorted(range(len(wanted)), key=lambda i: (wanted[i] == 1, i))


def keep_size(evidence: Evidence, finding: Finding) -> Made:
    """padding="same" where the window ran out of room, and above it."""
    node, shape = failing(evidence)
    yield f'Keep the size at {node.name}: padding="same"', [configure(node.name, padding="same")], "the window may reach over the border"
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
        yield f'Keep the size all the way: padding="same" in {len(edits)} layers', edits, "fewer positions are lost at each border"
    size = node.config.get("pool_size")
    if isinstance(size, (list, int)) and shape:
        rank = len(shape) - 2
        yield (
            f"Pool {node.name} over 1 position only",
            [configure(node.name, pool_size=[1] * rank, strides=[1] * rank)],
            "there is nothing left to pool",
        )


def pool_unknown(evidence: Evidence, finding: Finding) -> Made:
    """A global pooling in place of a Flatten over unknown axes."""
    node, _ = failing(evidence)
    for item in [node, *upstream(evidence, node)]:
        before = given(evidence, item)
        if item.op == "Flatten" and before and len(before) in (3, 4, 5):
            yield (
                f"Pool instead of flattening: GlobalAveragePooling{len(before) - 2}D for {item.name}",
                [Edit("replace-layer", item.name, {"layer": f"GlobalAveragePooling{len(before) - 2}D", "keep": [], "config": {}})],
                "works for any size",
            )
            return


def mask_shape(evidence: Evidence, finding: Finding) -> Made:
    """A mask of query steps by value steps."""
    if finding.expected is None or not finding.expected.axes or not finding.found:
        return
    target = [int(n) for n in finding.expected.axes[1:] if n.isdigit()]
    _node, _ = failing(evidence)
    edge = next((edge for edge in evidence.failed_inputs() if edge.label == "attention_mask"), None)
    if edge is None or len(target) != 2:
        return
    source = evidence.flow.node(edge.source)
    inputs = [item for item in evidence.flow.nodes if item.kind == "input"]
    index = next((i for i, item in enumerate(inputs) if item.id == source.id), None)
    if index is None or index >= len(evidence.x):
        return
    path = evidence.x[index][0]
    key: Any = int(path.split("[")[1].rstrip("]")) if "[" in path else path
    edits = [
        Edit("data-transform", "x", {"op": "pad_axis", "axis": axis + 1, "size": size, "value": 1, "key": key})
        for axis, size in enumerate(target)
    ]
    edits.append(Edit("input-shape", source.name, {"index": index, "shape": target}))
    yield (
        f"Make the mask {tuple(target)} a sample: query steps by value steps",
        edits,
        "added steps are visible; mask them where they should not be",
    )


def host_layer(evidence: Evidence, finding: Finding) -> Made:
    """A text layer at the model's door moves into the pipeline."""
    from .entry import static_batch

    for node in evidence.flow.nodes:
        if node.kind == "input" and any(edge.spec.dtype == "string" for edge in evidence.flow.into(node.id)):
            for edge in evidence.flow.out_of(node.id):
                layer = evidence.flow.node(edge.target)
                if layer.kind != "layer":
                    continue
                move = Edit("data-transform", layer.name, {"op": "host-layer"})
                for title, edits, reason in static_batch(evidence, finding):
                    yield (
                        f"Run {layer.name} in the pipeline, on the host; {title[:1].lower()}{title[1:]}",
                        [move, *edits],
                        "text never reaches the TPU; " + reason,
                    )
                yield f"Run {layer.name} in the pipeline, on the host", [move], "text never reaches the TPU"


def general(evidence: Evidence, finding: Finding) -> Made:
    """Where only the failing layer and its input are known."""
    node = evidence.failed
    if node is None or node.kind != "layer" or node.op == "builder":
        return
    shape = given(evidence, node)
    if shape and len(shape) > 2 and known(shape[1:]):
        yield f"Flatten before {node.name}", [insert(node.name, "Flatten")], ""
        if len(shape) in (3, 4, 5):
            yield f"Pool before {node.name}", [insert(node.name, f"GlobalAveragePooling{len(shape) - 2}D")], ""
    if shape and len(shape) == 2 and known(shape[1:]):
        yield f"Add a last axis before {node.name}", [insert(node.name, "Reshape", target_shape=[shape[1] or 1, 1])], ""


def permute(evidence: Evidence, finding: Finding) -> Made:
    """A Permute where a reshape exchanged axes."""
    node = evidence.flow.node(finding.nodes[0])
    before = given(evidence, node)
    after = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)
    if node.kind != "layer" or not before or not after or len(before) != len(after):
        return
    from .entry import _permutation

    order = _permutation(before[1:], after[1:])
    if order is not None:
        dims = [n + 1 for n in order]
        yield (
            f"Exchange the axes with Permute({tuple(dims)})",
            [Edit("replace-layer", node.name, {"layer": "Permute", "keep": [], "config": {"dims": dims}})],
            "moves the numbers along with the axes",
        )


def free_rows(evidence: Evidence, node: Node, shape: Shape | None) -> Made:
    """-1 for the first number of a reshape in the user's own code, where the rest divides what is there."""
    target, size = node.config.get("operand1"), elements(shape)
    owner = _owner(evidence, node)
    if not target or size is None or owner is None or len(target) < 2:
        return
    rest = math.prod(n for n in target[1:])
    if rest > 0 and size % rest == 0 and target[0] > 0:
        edit = Edit("replace-op", owner.name, {"find": target[0], "replace": -1, "line": node.called.line if node.called else 0})
        yield (
            f"Let TensorFlow count the rows: -1 for {target[0]} in {owner.name}",
            [edit],
            "works for every batch size, on every number of replicas",
        )


def _owner(evidence: Evidence, node: Node) -> Node | None:
    while node.parent:
        node = evidence.flow.node(node.parent)
    return node if node.kind == "layer" else None


def leave_out(evidence: Evidence, finding: Finding) -> Made:
    """Without a layer of the user's own that turns the batch axis into something else."""
    for start in finding.nodes:
        node = evidence.flow.node(start)
        for item in [node, *upstream(evidence, node)]:
            owner = item if item.kind == "layer" else _owner(evidence, item)
            if owner is None or not (owner.op == "Lambda" or any(inner.parent == owner.id for inner in evidence.flow.nodes)):
                continue
            before = given(evidence, owner)
            after = next((edge.spec.shape for edge in evidence.flow.out_of(owner.id)), None)
            if before and (not after or before[0] != after[0]):
                yield (
                    f"Leave {owner.name} out: it does not keep the batch axis",
                    [Edit("replace-layer", owner.name, {"layer": "Identity", "keep": [], "config": {}})],
                    "the model holds without it; what it was meant for must then be done along another axis",
                )
                return


def free_batch(evidence: Evidence, finding: Finding) -> Made:
    """-1 for a batch size that is written into the code."""
    node = evidence.flow.node(finding.nodes[0])
    batch = finding.found.text.split()[0] if finding.found else ""
    owner = node
    while owner.parent:
        owner = evidence.flow.node(owner.parent)
    if batch.isdigit():
        yield (
            f"Let TensorFlow count the rows: -1 for {batch}",
            [Edit("replace-op", owner.name, {"find": int(batch), "replace": -1, "line": node.called.line if node.called else 0})],
            "works for every batch size",
        )
