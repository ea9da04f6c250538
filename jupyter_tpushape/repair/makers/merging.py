"""Candidates where branches meet: one of them brought to the shape of the other."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node, Shape, elements, show_shape
from ...flow.syntax import called
from ...graph import chain
from ...rules.facts.branches import UnlikeBranches
from ...rules.facts.loss import GridApart
from ...rules.reasons import one_step
from ...rules.upstream import ancestors, maker_of
from ...rules.words import MERGES
from ...trace.axes import RECURRENT, recurs
from ..edits import InsertLayer
from ..text.source import nodes
from .edits import (
    Fix,
    Made,
    at,
    configure,
    created,
    failing,
    given,
    halves,
    insert,
    known,
    last_step_of,
    named,
    of,
    owner_of,
    pooling,
    received,
    upstream,
    way_to,
    width_of,
)
from .line import lines_at


def merge(evidence: Evidence, finding: Finding) -> Made:
    """Branches brought to one shape."""
    node, _ = failing(evidence)
    edges = evidence.operands()
    shapes = [edge.spec.shape for edge in edges]
    if len(shapes) < 2 or any(not shape for shape in shapes):
        return
    if node.op == "Dot" and any(len(shape or ()) > 2 for shape in shapes):
        return  # a product of matrices needs one size in common, and not one shape
    if node.op == "Concatenate":
        yield from _concat_axis(node, [shape for shape in shapes if shape])
    else:
        for place, (mine, its) in enumerate((shapes, shapes[::-1]) if len(shapes) == 2 else ()):
            if mine and its and len(mine) == len(its) > 2 and 1 in mine[1:] and elements(mine[1:]) == elements(its[1:]):
                edit = at(node, place, "Reshape", target_shape=list(its[1:]))
                yield f"Reshape {evidence.flow.node(edges[place].source).name} to {show_shape(its[1:])}", [edit], "Keeps every value."
        wide = [_broadcast(shape or (), [other or () for other in shapes]) for shape in shapes]
        if len(shapes) == 2 and wide == shapes and node.op != "Subtract":
            yield from _shortcut_first(evidence, node, edges)
        elif len(shapes) == 2 and node.op != "Multiply":
            yield from _condition_first(evidence, node, edges)
        shapes = [*wide]
    # What is left of a tensor has its size: the branch that is computed from it is the one to change.
    above = [{one.id for one in upstream(evidence, evidence.flow.node(edge.source))} if node.op == "Subtract" else set() for edge in edges]
    kept = {i for i, edge in enumerate(edges) if any(edge.source in one for one in above)}
    if kept and len({(shape or ())[:-1] for shape in shapes}) == 1:
        return  # the layers of that branch have a width of their own
    base = min(range(len(shapes)), key=lambda i: elements(tuple(n or 1 for n in (shapes[i] or ()))) or 0)
    for index, shape in enumerate(shapes):
        small = shapes[base] or ()
        if shape is None or index == base or shape == small:
            continue
        name = evidence.flow.node(edges[index].source).name
        made = evidence.flow.node(edges[index].source).op
        # What was just enlarged is not made small again: another branch is at fault.
        enlarged = "Transpose" in made or made.startswith("UpSampling")
        attended = any(one.family == "attention" for one in (evidence.flow.node(edges[index].source), *ancestors(evidence, edges[index].source, 3)))
        other = evidence.flow.node(edges[base].source).name
        concat = node.op == "Concatenate"
        ways = (
            (index, _align(node, index, name, shape, small, concat, pools=not enlarged, attended=attended)),
            (base, _grow(node, base, other, small, shape, concat)),
            # The one with fewer numbers may still be the one with more positions.
            (index, _grow(node, index, name, shape, small, concat)),
            (base, _align(node, base, other, small, shape, concat)),
        )
        for place, fixes in ways:
            if place not in kept:
                yield from fixes


@of(UnlikeBranches)
def back_to_width(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """The second layer of a feed-forward block that has only its first, wider one with an activation, before the two are added.

    Where a line that merges again and again gets layers of several widths, the shortcut is projected.
    """
    edges = received(evidence)
    for i, (mine, other) in enumerate((edges, edges[::-1])) if len(edges) == 2 else ():
        way = way_to(evidence, evidence.flow.node(other.source))
        inside = [one for one in way[: [*(one.id for one in way), mine.source].index(mine.source) % len(way)] if one.weights]
        maker = next((one for one in inside if width_of(one) in one.config), None)
        width = (mine.spec.shape or (0,))[-1]
        if maker is None or not width:
            continue
        size = maker.config[width_of(maker)]
        node = failing(evidence)[0]
        again = any(one.id != node.id and one.op == node.op and one.called == node.called for one in evidence.flow.nodes)
        if again and any(one.location == maker.location and one.config.get(width_of(maker), size) != size for one in evidence.flow.nodes):
            yield from _shortcut_first(evidence, node, edges)
        if inside == [maker] and maker.op == "Dense" and maker.config.get("activation") not in (None, "linear") and size > width > size % width == 0:
            yield (
                f"Project {way[0].name} back to {width}: Dense({width})",
                [at(node, 1 - i, "Dense", units=width)],
                f"{maker.name} is the wider first layer of a block that has no second one.",
            )


@of(UnlikeBranches)
def along_their_axis(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """The sizes of a Reshape on the axes of the other branch that have them."""
    edges = received(evidence)
    for mine, other in itertools.permutations(edges, 2) if len(edges) == 2 and fact.layer.op != "Concatenate" else ():
        node, row, wanted = evidence.flow.node(mine.source), (mine.spec.shape or ())[1:], (other.spec.shape or ())[1:]
        sizes = [size for size in row if size != 1]
        places = [wanted.index(size) for size in sizes if wanted.count(size) == 1]
        new = [size if axis in places else 1 for axis, size in enumerate(wanted)]
        if node.op == "Reshape" and len(row) == len(wanted) and sizes and len({*places}) == len(sizes) and new != [*row]:
            yield (
                f"Reshape to {tuple(new)} in {node.name}",
                [configure(node.name, target_shape=new)],
                f"The values are then on the axis of {evidence.flow.node(other.source).name} that has as many.",
            )


@of(UnlikeBranches)
def as_many_rows(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """The size of each row in a Reshape that counts its rows, so that there are as many as in the other branch."""
    edges = received(evidence)
    for mine, other in itertools.permutations(edges, 2) if len(edges) == 2 and fact.layer.op == "Concatenate" else ():
        node, row, wanted = evidence.flow.node(mine.source), (mine.spec.shape or ())[1:], (other.spec.shape or ())[1:]
        before = ((given(evidence, node) or (0,))[-1] or 0) if node.op == "Reshape" else 0
        total = elements(row) if len(row) == len(wanted) == 2 else None
        size = (total or 0) // (wanted[0] or 1) if total and wanted[0] and total % wanted[0] == 0 else 0
        if size and before % size == 0 and row[0] != wanted[0] and tuple(node.config.get("target_shape") or ()) == (-1, row[1]):
            yield (
                f"Reshape to rows of {size} values in {node.name}: (-1, {size})",
                [configure(node.name, target_shape=[-1, size])],
                f"There are then {wanted[0]} rows, as in {evidence.flow.node(other.source).name}.",
            )


def own_size(evidence: Evidence, finding: Finding) -> Made:
    """A number that a layer of the program's own was created with, larger or smaller by as much as what it returns is."""
    edges = received(evidence)
    for mine, other in ((edges[0], edges[1]), (edges[1], edges[0])) if len(edges) == 2 else ():
        node, shape, wanted = evidence.flow.node(mine.source), mine.spec.shape or (), other.spec.shape or ()
        owner = node if node.kind == "layer" else owner_of(evidence, node)
        apart = [(a, b) for a, b in zip(shape, wanted, strict=False) if a != b]
        if owner is None or owner.family != "own" or len(shape) != len(wanted) or len(apart) != 1 or None in apart[0]:
            continue
        more = (apart[0][1] or 0) - (apart[0][0] or 0)
        for key, value in owner.config.items():
            # A size that is returned as it is has makers of its own.
            if type(value) is int and value > 1 and 0 < value + more != apart[0][1]:
                yield created(owner, key, value + more, "", f"It then returns {apart[0][1]} values, like {evidence.flow.node(other.source).name}.")


def repeated_step(evidence: Evidence, finding: Finding) -> Made:
    """One step, such as a context, for each step of the branch that it is joined with along the features."""
    node, edges = evidence.failed, evidence.operands()
    found = one_step(node, [edge.spec.shape or () for edge in edges]) if node is not None else None
    if node is None or found is None or len(found[0]) != 3 or not found[1][1]:
        return
    index = next(i for i, edge in enumerate(edges) if edge.spec.shape == found[0])
    yield (
        f"Repeat {evidence.flow.node(edges[index].source).name} for each of the {found[1][1]} steps: UpSampling1D({found[1][1]})",
        [at(node, index, "UpSampling1D", size=found[1][1])],
        "Every step is then concatenated with the same values.",
    )


@of(UnlikeBranches)
def rows_of_maps(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """Maps of several sizes as rows before they are joined."""
    node, edges, labels = evidence.failed, evidence.operands(), [spec.shape or () for _, spec in evidence.y]
    counts = [elements((edge.spec.shape or ())[1:]) for edge in edges]
    if node is None or node.op != "Concatenate" or len(labels) != 1 or len(labels[0]) != 3 or not all(counts):
        return
    rows, values = labels[0][1] or 0, labels[0][2] or 0
    if values > 1 and all((count or 1) % values == 0 for count in counts) and sum(count or 0 for count in counts) == rows * values:
        yield (
            f"Reshape each map to rows of {values} values before {node.name}: Reshape((-1, {values}))",
            [InsertLayer(node.name, "Reshape", {"target_shape": [-1, values]}, input=0, every=True)],
            f"Together they have {rows} rows, as many as a label.",
        )


def joined(evidence: Evidence, finding: Finding) -> Made:
    """Several tensors concatenated for a layer that reads one."""
    node, edges = evidence.failed, evidence.failed_inputs()
    shapes = {(edge.spec.shape or ())[:-1] for edge in edges}
    # The results of one call, such as a recurrent layer's states, are no branches.
    apart = len({edge.source for edge in edges}) == len(edges)
    if node is None or node.kind != "layer" or node.op in MERGES or len(edges) < 2 or not apart or len(shapes) != 1 or not shapes.pop():
        return
    for line in lines_at(evidence, node.called or node.location)[:1]:
        for call in line.around(ast.Call, line.scope):
            given = call.args[0] if len(call.args) == 1 and isinstance(call.func, ast.Call) and called(call.func) == node.op else None
            if given is None:
                continue
            whole = ast.unparse(call.func.func).rpartition(".")[0]
            kind = f"{whole}.Concatenate" if whole else "Concatenate"
            yield (
                f"Concatenate the {len(edges)} tensors before {node.name}",
                [line.edit(given, f"{kind}()({line.source.of(given)})")],
                f"{node.op} reads one tensor.",
            )
            return


def joined_directions(evidence: Evidence, finding: Finding) -> Made:
    """The two directions of a recurrent layer as one tensor."""
    node, edges = evidence.failed, evidence.failed_inputs()
    if node is None or len(edges) < 2 or len({edge.source for edge in edges}) != 1:
        return
    for above in upstream(evidence, node):
        if recurs(above) and evidence.arguments(above.id).get("merge_mode", "") is None:
            yield f"Set merge_mode='concat' on {above.name}", [configure(above.name, merge_mode="concat")], f"{node.op} reads one tensor."
            return


def upsampled_again(evidence: Evidence, finding: Finding) -> Made:
    """The smaller of two maps upsampled."""
    node, _ = failing(evidence)
    edges = evidence.operands()
    if len(edges) != 2 or not (_upsamples(evidence, node) or _pooled_from_other(evidence, node, edges)):
        return
    for index, (mine, other) in enumerate((edges, edges[::-1])):
        small, big = mine.spec.shape or (), other.spec.shape or ()
        rank = len(big) - 2
        if len(small) != len(big) or rank not in (1, 2, 3) or not (node.op == "Concatenate" or small[-1] == big[-1]):
            continue
        inner = [(a or 0, b or 0) for a, b in zip(small[1:-1], big[1:-1], strict=True)]
        if not all(a and b % a == 0 for a, b in inner) or all(a == b for a, b in inner):
            continue
        factor = [b // a for a, b in inner]
        size, kind = factor if rank > 1 else factor[0], f"UpSampling{rank}D"
        giver = evidence.flow.node(mine.source)
        yield f"Upsample {giver.name}: {kind}({tuple(factor)})", [at(node, index, kind, size=size)], "Adds no weights."
        if giver.kind == "layer" and "Conv" in giver.op:
            # A function that makes both branches may be called again, with maps of one size.
            yield f"Upsample before {giver.name}: {kind}({tuple(factor)})", [insert(giver.name, kind, size=size)], "Adds no weights."


def _pooled_from_other(evidence: Evidence, node: Node, edges: Sequence[Edge]) -> bool:
    """Whether a map is concatenated with one that a pooling made of it, as in a decoder that lacks a layer."""
    if node.op != "Concatenate":
        return False
    for mine, other in (edges, edges[::-1]):
        way = [evidence.flow.node(mine.source), *ancestors(evidence, mine.source)]
        if mine.source != other.source and any(one.id == other.source for one in way):
            return any("Pool" in one.op and "Global" not in one.op for one in way)
    return False


def _upsamples(evidence: Evidence, node: Node) -> bool:
    made = {called(call) for line in lines_at(evidence, node.called)[:1] for call in nodes(line.source.tree, ast.Call)}
    return any(name.startswith("UpSampling") or "Transpose" in name for name in (*made, *(one.op for one in evidence.flow.nodes)))


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
        if mine.source not in above or len(big) != len(small) or not 1 < len(big) < 6 or big[-1] == small[-1]:
            continue
        name, rank, like = evidence.flow.node(mine.source).name, len(big) - 2, maker_of(evidence, other, len(small) - 1).name
        ratios = [(a or 0) // (b or 1) for a, b in zip(big[1:-1], small[1:-1], strict=True)]
        if any(not a or not b or a != b * n for a, b, n in zip(big[1:-1], small[1:-1], ratios, strict=True)) and big[1:-1] != small[1:-1]:
            continue
        said, config = f"{name} to {small[-1]} channels with a 1x1 convolution", {"filters": small[-1], "kernel_size": [1] * rank}
        if any(n > 1 for n in ratios):
            said = f"{name} with a strided 1x1 convolution: Conv{rank}D({small[-1]}, 1, strides={tuple(ratios)})"
            config["strides"] = ratios
        elif not rank:
            said, config = f"{name}: Dense({small[-1]})", {"units": small[-1]}
        yield (
            f"Project the shortcut {said}",
            [at(node, i, f"Conv{rank}D" if rank else "Dense", like, **config)],
            "This is standard in residual blocks; the other branch is unchanged.",
        )


def _condition_first(evidence: Evidence, node: Node, edges: list[Edge]) -> Made:
    """What has one position, such as the embedding of a time, projected to the channels of the map that it is repeated over."""
    for i, (mine, other) in enumerate((edges, edges[::-1])):
        small, big = mine.spec.shape or (), other.spec.shape or ()
        if len(small) == len(big) in (3, 4, 5) and set(small[1:-1]) == {1} != set(big[1:-1]) and small[-1] != big[-1]:
            name, rank, like = evidence.flow.node(mine.source).name, len(big) - 2, maker_of(evidence, other, len(big) - 1).name
            yield (
                f"Project {name} to {big[-1]} channels with a 1x1 convolution",
                [at(node, i, f"Conv{rank}D", like, filters=big[-1], kernel_size=[1] * rank)],
                "One vector per sample is added at every position of the map.",
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


def last_axis(evidence: Evidence, finding: Finding) -> Made:
    """Branches joined along the batch."""
    for node in map(evidence.flow.node, finding.nodes):
        if node.op == "Concatenate" and node.config.get("axis") == 0:
            yield (
                f"Concatenate the features: Concatenate(axis=-1) instead of {node.name}",
                [configure(node.name, axis=-1)],
                "Axis 0 is the batch: concatenating along it mixes the samples of both branches.",
            )


@of(UnlikeBranches)
def joined_along_last(evidence: Evidence, finding: Finding, fact: UnlikeBranches) -> Made:
    """The last axis for a Concatenate of equal shapes that made another axis longer."""
    for edge in received(evidence):
        for size in evidence.origins.of(edge)[1:-1]:
            steps = chain(size)
            node = named(evidence, (steps[0].of if steps else size).who)
            if node is not None and node.op == "Concatenate" and len({one.spec.shape for one in evidence.flow.into(node.id)}) == 1:
                yield (
                    f"Concatenate along the last axis: Concatenate(axis=-1) instead of {node.name}",
                    [configure(node.name, axis=-1)],
                    f"Axis {node.config.get('axis')} is one that the other branch keeps.",
                )


@of(GridApart)
def joined_features(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The last axis for a Concatenate of a sequence of the labels' length and another one, which made the steps more."""
    for node in evidence.flow.nodes if 0 < fact.axis < len(fact.predictions) - 1 else ():
        shapes = [edge.spec.shape or () for edge in evidence.flow.into(node.id)] if node.op == "Concatenate" else []
        made = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None) or ()
        along = node.config.get("axis") in (fact.axis, fact.axis - len(made)) and len(made) == len(fact.predictions)
        if along and made[fact.axis] == fact.predictions[fact.axis] and fact.labels[fact.axis] in [shape[fact.axis] for shape in shapes]:
            title = f"Concatenate along the last axis: Concatenate(axis=-1) instead of {node.name}"
            yield title, [configure(node.name, axis=-1)], f"There is one label for each of {fact.labels[fact.axis]} steps, and {node.name} joins more to them."


def _concat_axis(node: Node, shapes: list[Shape]) -> Made:
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        return
    differs = [i for i in range(1, rank) if len({shape[i] for shape in shapes}) > 1]
    if len(differs) == 1:
        axis = differs[0]
        yield (f"Concatenate along axis {axis}, the one that differs: Concatenate(axis={axis})", [configure(node.name, axis=axis)], "All other axes match.")


def _align(node: Node, index: int, name: str, big: Shape, small: Shape, concat: bool, pools: bool = True, attended: bool = False) -> Made:
    """The larger branch made smaller. ``attended``: its positions are those of an attention, which reads any number of them."""
    standard = "This is standard in residual blocks."
    if node.op == "Multiply" and big[1:-1] == small[1:-1] and len(big) > 2:
        return  # one of them is a mask or a gate, and no shortcut
    if len(big) == len(small) and len(big) in (3, 4, 5):
        inner = [(a or 0, b or 0) for a, b in zip(big[1:-1], small[1:-1], strict=True)]
        channels = big[-1] != small[-1] and not concat
        rank = len(big) - 2
        if any(a != b for a, b in inner) and all(a and b and a >= b for a, b in inner):
            ratios = [-(-a // b) for a, b in inner]
            if channels and all(a == b * r for (a, b), r in zip(inner, ratios, strict=True)):
                yield _projected(node, index, name, small, standard, ratios)
            elif not channels and pools and all(-(-a // r) == b for (a, b), r in zip(inner, ratios, strict=True)):
                for kind in (f"MaxPooling{rank}D", f"AveragePooling{rank}D"):
                    edit = at(node, index, kind, pool_size=ratios, padding="same")
                    yield f"Pool {name} like the other branch: {kind}({tuple(ratios)})", [edit], "Adds no weights."
            if not channels:
                edit = at(node, index, f"Cropping{rank}D", cropping=halves([a - b for a, b in inner]))
                yield f"Crop {name} to {show_shape(small[1:-1])}: Cropping{rank}D", [edit], "The border is lost."
        elif channels and big[1:-1] == small[1:-1]:
            yield _projected(node, index, name, small, standard)
    if len(big) == len(small) == 2 and big[-1] != small[-1] and not concat:
        yield f"Project {name} to {small[-1]}: Dense({small[-1]})", [at(node, index, "Dense", units=small[-1])], "Adds trainable weights."
    if len(big) > len(small) and known(big[1:]):
        if len(small) == 2 and pooling(big):
            flat = f"Flatten {name}", [at(node, index, "Flatten")], "Keeps every value."
            pooled = (f"Pool {name} to one vector: {pooling(big)}", [at(node, index, pooling(big))], "Averages over the spatial or time axes.")
            yield from (pooled, flat) if attended else (flat, pooled)
        if elements(big[1:]) == elements(small[1:]):
            edit = at(node, index, "Reshape", target_shape=list(small[1:]))
            yield f"Reshape {name} to {show_shape(small[1:])}", [edit], "Keeps every value."


def _grow(node: Node, index: int, name: str, small: Shape, big: Shape, concat: bool) -> Made:
    rank, same = len(big) - 2, concat or small[-1] == big[-1]
    if len(big) == len(small) and len(big) in (3, 4, 5):
        inner = [(a or 0, b or 0) for a, b in zip(small[1:-1], big[1:-1], strict=True)]
        if any(a != b for a, b in inner) and all(a and b and b >= a for a, b in inner):
            if same and all(b % a == 0 for a, b in inner):
                factor = [b // a for a, b in inner]
                edit = at(node, index, f"UpSampling{rank}D", size=factor if rank > 1 else factor[0])
                yield f"Upsample {name}: UpSampling{rank}D({tuple(factor)})", [edit], "Adds no weights."
            if same:
                edit = at(node, index, f"ZeroPadding{rank}D", padding=halves([b - a for a, b in inner]))
                yield f"Pad {name} to {show_shape(big[1:-1])}: ZeroPadding{rank}D", [edit], "Adds zeros."
        elif not same and small[1:-1] == big[1:-1] and node.op != "Multiply":
            yield _projected(node, index, name, big, "Adds trainable weights.")
    if len(big) == len(small) == 2 and not same:
        yield f"Project {name} to {big[-1]}: Dense({big[-1]})", [at(node, index, "Dense", units=big[-1])], "Adds trainable weights."
    if len(small) == 2 and len(big) == 3 and big[1] and big[1] > 1:
        edit = at(node, index, "RepeatVector", n=big[1])
        yield f"Repeat {name} for each of the {big[1]} steps: RepeatVector({big[1]})", [edit], "Every step receives the same vector."


def _projected(node: Node, index: int, name: str, to: Shape, why: str, strides: Sequence[int] = ()) -> Fix:
    rank, filters = len(to) - 2, to[-1]
    kernel: dict[str, Any] = {"filters": filters, "kernel_size": [1] * rank}
    if strides:
        title = f"Project {name} with a strided 1x1 convolution: Conv{rank}D({filters}, 1, strides={tuple(strides)})"
        return title, [at(node, index, f"Conv{rank}D", **kernel, strides=list(strides))], why
    return f"Project {name} to {filters} channels with a 1x1 convolution", [at(node, index, f"Conv{rank}D", **kernel)], why
