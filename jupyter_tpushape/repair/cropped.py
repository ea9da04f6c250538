"""Whether positions still meet their own where an edit crops, pads, pools or scales one side."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import show_shape
from ..flow.observed import keeps
from ..graph import Axis
from ..rules.upstream import ancestors, from_outside
from .edits import Edit, InsertLayer
from .roles import Check, Question


def _cropped_steps(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, InsertLayer) or edit.layer_class != "Cropping1D" or edit.position != "after":
        return
    node = next((item for item in before.flow.nodes if item.name == edit.target), None)
    first = (edit.config.get("cropping") or (0,))[0]
    steps = {spec.shape[1] for _, spec in before.x if spec.shape and len(spec.shape) > 1}
    made = {edge.spec.shape[1] for edge in before.flow.out_of(node.id) if edge.spec.shape and len(edge.spec.shape) == 3} if node else set()
    if first and made & steps - {None}:
        yield f"Do the first {first} steps of the input have no label? Otherwise each label is compared with the prediction for another step."


def _unlike_lengths(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    """One of two inputs of different lengths, cropped, padded or pooled until both can be compared position by position."""
    if not isinstance(edit, InsertLayer) or not edit.layer_class.endswith(("Cropping1D", "ZeroPadding1D", "Pooling1D")) or before.failed is None:
        return
    steps = [sizes[1] for edge in before.operands() if len(sizes := before.origins.of(edge)) == 3]
    ends = dict.fromkeys((size.who, size.size) for size in steps if isinstance(size, Axis) and size.axis == 1)
    if edit.target == before.failed.name and len(ends) == 2 and len({who for who, _ in ends}) == 2:
        (one, first), (other, second) = ends
        yield f"Do the positions of {one} and {other} correspond? The data has {first} of one and {second} of the other, so each is combined with another position."


def _other_scale(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, InsertLayer) or edit.input is None or not edit.layer_class.startswith(("Cropping", "ZeroPadding")):
        return
    sizes = [edge.spec.shape or () for edge in before.operands()]
    if len(sizes) != 2 or len(sizes[0]) != len(sizes[1]) or len(sizes[0]) < 3:
        return
    parts = 3 if edit.layer_class.startswith("Cropping") else 4
    for one, other in zip(sizes[0][1:-1], sizes[1][1:-1], strict=True):
        small, big = sorted((one or 0, other or 0))
        if small and big - small > 2 and parts * (big - small) >= big:
            yield f"Do both branches have the same scale? One has {big} positions and the other {small}, so each is combined with another position."
            return


def _own_positions(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    """A branch of the length of what a layer of the program's own gives: which positions that leaves out is its own business."""
    if not isinstance(edit, InsertLayer) or edit.input is None or not edit.layer_class.startswith(("Cropping", "ZeroPadding")):
        return
    for edge in before.operands():
        node = before.flow.node(edge.source)
        while keeps(before.flow, node) and not node.weights and before.flow.into(node.id):
            node = before.flow.node(before.flow.into(node.id)[0].source)
        if node.family == "own":
            yield f"Which positions does {node.name} leave out? If it looks back alone, it may be the first ones, or it should pad them."


def _rescaled(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    """What a layer with weights makes, or pictures with other proportions, scaled in front of a model."""
    if not isinstance(edit, InsertLayer) or edit.layer_class != "Resizing" or before.failed is None:
        return
    failed = before.failed
    inside = failed.name != edit.target and bool(failed.parent) and before.flow.node(failed.parent).name == edit.target
    if failed.name != edit.target and not inside:
        return
    edges = from_outside(before, failed.parent) if inside and failed.parent else before.failed_inputs()
    above = [one for edge in edges for one in (before.flow.node(edge.source), *ancestors(before, edge.source))]
    makers = [node for node in above if node.weights]
    new, size = (edit.config["height"], edit.config["width"]), show_shape((edit.config["height"], edit.config["width"]))
    sides = [one.spec.shape[1:3] for one in edges if one.spec.shape and len(one.spec.shape) == 4]
    if not edges:
        # What an inner model of tf_keras receives may have no producer that is known.
        yield f"Should what {edit.target} receives be scaled to {size}? Otherwise change the layers before it, so that they return this size."
    if not makers and any((a or 0) * new[1] != (b or 0) * new[0] for a, b in sides):
        yield f"May the pictures be stretched to {size}? They have other proportions. Otherwise declare {edit.target} for their size, or crop or pad them."
    if makers:
        yield f"Should what {makers[0].name} returns be scaled to {size}? Otherwise change the layers before {edit.target}, so that they return this size."


CROPPED: tuple[Check, ...] = (_cropped_steps, _unlike_lengths, _other_scale, _own_positions, _rescaled)
