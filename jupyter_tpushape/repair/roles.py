"""Whether an edit changes the role of an axis: positions, channels, steps, samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import mul

from ..examine.evidence import Evidence
from ..flow import Edge, Flow, Node, Shape, show_shape
from ..flow.observed import around, keeps, passes
from ..rules.words import axes_of
from ..trace.axes import recurs
from .edits import Edit, InsertLayer, LayerConfig, ReplaceLayer, Transform

Question = str
Check = Callable[[Evidence, Evidence, Edit], Iterator[Question]]


def _merges(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, LayerConfig) or "axis" not in edit.config:
        return
    node = next((item for item in after.flow.nodes if item.name == edit.target), None)
    shapes = [edge.spec.shape for edge in after.flow.into(node.id)] if node is not None else []
    if len(shapes) < 2 or not all(shapes):
        return
    rank = len(shapes[0] or ())
    axis = edit.config["axis"] % rank if rank else 0
    if rank >= 4 and axis != _channels(node, rank):
        yield "Did you mean to place the maps side by side? Concatenating along a spatial axis does not align matching positions."
    elif rank == 3 and axis == 2 and all(shape and shape[1] == 1 for shape in shapes):
        yield (
            "Did you mean to stack along axis 1, one row each? Then all need the same size; axis 2 joins them into a single row, so later layers see only one row."
        )


def _channels(node: Node | None, rank: int) -> int:
    return 1 if node is not None and node.config.get("data_format") == "channels_first" else rank - 1


def _scrambled(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if isinstance(edit, Transform) and edit.operation == "reshape_rows":
        row = next((spec.shape for path, spec in (*before.x, *before.y) if path == (edit.role, *edit.path)), None)
        target = tuple(edit.arguments["shape"])
        shape = row[1:] if row else None
    elif isinstance(edit, InsertLayer) and edit.layer_class == "Reshape":
        shape, target = _given(after, edit), tuple(edit.config.get("target_shape", ()))
    else:
        return
    if shape and None not in shape and None not in target and -1 not in target and crosses(shape, target):
        yield (
            f"Are the values of each sample in this order? From {tuple(shape)} to {target}, the reshape mixes axes: it does not turn patches or columns into an image."
        )


def _giver(evidence: Evidence, edge: Edge) -> Node:
    node = evidence.flow.node(edge.source)
    while keeps(evidence.flow, node) and not node.weights:
        node = evidence.flow.node(evidence.flow.into(node.id)[0].source)
    return node


def _projected(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, InsertLayer) or not edit.layer_class.startswith(("Conv", "Dense")) or before.failed is None:
        return
    for edge in before.failed_inputs():
        node, shape = _giver(before, edge), edge.spec.shape
        if shape and _compares(before.flow, node):
            yield (
                f"Are the {shape[-1]} values on the last axis of {node.name} channels? They look like scores, one per position of the second sequence. Scores are usually multiplied with it, not projected."
            )
            return


def _compares(flow: Flow, node: Node) -> bool:
    given, made = around(flow, node)
    if len(given) != 2 or not made or any(len(shape) < 3 or len(shape) != len(given[0]) for shape in (*given, made[0])):
        return False
    one, other = given
    if made[0][-2:] == (one[-2], other[-2]) and one[-1] == other[-1]:
        return True
    turned = around(flow, flow.node(flow.into(node.id)[1].source))[0]
    product = made[0][-2:] == (one[-2], other[-1]) and one[-1] == other[-2]
    return product and len(turned) == 1 and turned[0][-2:] == other[:-3:-1]


def _folded(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, InsertLayer) or edit.layer_class != "Reshape" or len(edit.config.get("target_shape", ())) < 3:
        return
    shape, target = _given(after, edit), tuple(edit.config["target_shape"])
    new = next((node for node in after.flow.nodes if tuple(node.config.get("target_shape") or ()) == target), None)
    reads = [after.flow.node(edge.target).op for edge in after.flow.out_of(new.id)] if new is not None else []
    if shape and len(shape) > len(target) and shape[-1] != target[-1] and any(len(axes_of(op)) > 3 for op in reads):
        yield (
            f"Should the positions of one axis become channels? From {show_shape(shape)} to {show_shape(target)}, an axis is merged into the channels. For frames, use TimeDistributed or Conv3D."
        )


def _stretched(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    """Positions of a map in one row, of which each is repeated, cut off or padded as if they were steps."""
    if not isinstance(edit, InsertLayer) or not edit.layer_class.startswith(("UpSampling1D", "Cropping1D", "ZeroPadding1D")):
        return
    node = next((item for item in after.flow.nodes if item.name == edit.target), None)
    while node is not None and keeps(after.flow, node):
        node = after.flow.node(after.flow.into(node.id)[0].source)
    given, made = around(after.flow, node) if node is not None else ([], [])
    if node is not None and node.op == "Reshape" and len(given) == 1 and len(given[0]) == 4 and made and len(made[0]) == 3 and given[0][-1] == made[0][-1]:
        yield f"Are the {made[0][1]} positions of {node.name} steps in time? They are the rows of a {given[0][1]} × {given[0][2]} map, one after the other."


def _imaged(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, InsertLayer) or edit.layer_class != "Reshape" or len(edit.config.get("target_shape", ())) < 3:
        return
    target = tuple(edit.config["target_shape"])
    there = [(before, next((item for item in before.flow.nodes if item.name == edit.target), None))]
    there += [(after, item) for item in after.flow.nodes if item.op == "Reshape" and tuple(item.config.get("target_shape") or ()) == target]
    for evidence, node in there:
        for edge in evidence.flow.into(node.id) if node is not None else ():
            giver = _giver(evidence, edge)
            if "Pooling" in giver.op and edge.spec.shape and len(edge.spec.shape) == 2 and not _one_position(target, edge.spec.shape):
                yield f"Are the {edge.spec.shape[-1]} values of {giver.name} the pixels of an image? It returns one value per channel, without positions."
                return


def _unit_steps(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, InsertLayer) or edit.layer_class != "Reshape" or edit.position != "before":
        return
    node = next((item for item in before.flow.nodes if item.name == edit.target), None)
    if node is None or not recurs(node) or edit.config.get("target_shape", (1,))[0] == 1:
        return
    for edge in before.flow.into(node.id)[:1]:
        giver = _giver(before, edge)
        if recurs(giver) and edge.spec.shape and len(edge.spec.shape) == 2:
            yield f"Are the {edge.spec.shape[-1]} values of {giver.name} steps in time? They are its units after the last step."


def _one_position(target: tuple[int, ...], shape: Shape) -> bool:
    return set(target[:-1]) == {1} and target[-1] == shape[-1]


def _pooled(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, ReplaceLayer) or "GlobalAveragePooling" not in edit.layer_class or "1D" in edit.layer_class:
        return
    node = next((item for item in before.flow.nodes if item.name == edit.target), None)
    while node is not None:
        edges = before.flow.into(node.id)
        node = before.flow.node(edges[0].source) if len(edges) == 1 else None
        if node is not None and (node.kind == "input" or axes_of(node.op)):
            return
        if node is None or not passes(before.flow, node):
            yield "Are all axes before the last one positions, so that averaging over them makes sense? No layer indicates what they are."
            return


def _given(after: Evidence, edit: InsertLayer) -> Shape | None:
    target = tuple(edit.config.get("target_shape", ()))
    for node in after.flow.nodes:
        if node.op == "Reshape" and tuple(node.config.get("target_shape") or ()) == target:
            shape = next((edge.spec.shape for edge in after.flow.into(node.id)), None)
            return shape[1:] if shape else None
    return None


def crosses(shape: Shape, target: Shape) -> bool:
    """Whether a reshape does more than split axes or merge neighboring ones."""
    have = set(accumulate((int(n or 0) for n in shape if n != 1), mul))
    want = set(accumulate((int(n or 0) for n in target if n != 1), mul))
    return bool(have) and bool(want) and not (have <= want or want <= have)


ROLES: tuple[Check, ...] = (_merges, _scrambled, _projected, _folded, _stretched, _imaged, _unit_steps, _pooled)
