"""Candidates for layers that read one frame, and get a sequence of them."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...rules.words import axes_of
from ...trace.axes import RECURRENT
from ..edits import WrapLayer
from .edits import Made, failing, given, upstream


def each_frame(evidence: Evidence, finding: Finding) -> Made:
    """What reads one frame, shared over a sequence of frames: the layer, or the model of frames that it is in."""
    node, shape = failing(evidence)
    wanted = len(axes_of(node.op))
    if wanted < 4 or not shape or len(shape) != wanted + 1 or shape[1] == 1:
        return
    target = _model_of_frames(evidence, node)
    yield (
        f"Apply {target.name} to each frame: TimeDistributed({target.name})",
        [WrapLayer(target.name, "TimeDistributed")],
        f"It expects one frame, but a sample has {shape[1] if shape[1] is not None else 'several'}.",
    )


def _model_of_frames(evidence: Evidence, node: Node) -> Node:
    """The outermost model that holds a layer and gets what the layer gets."""
    shape, found = given(evidence, node), node
    while node.parent:
        node = evidence.flow.node(node.parent)
        if node.kind == "layer" and given(evidence, node) in (shape, None):
            found = node
    return found


def flat_frames(evidence: Evidence, finding: Finding) -> Made:
    """Frames flattened one by one in front of a recurrent layer, and not together with time."""
    node, shape = failing(evidence)
    if node.op not in RECURRENT or not shape or len(shape) != 2:
        return
    above = next(iter(upstream(evidence, node)), None)
    before = given(evidence, above) if above is not None else None
    if above is not None and above.op == "Flatten" and before and len(before) > 3:
        yield (
            f"Flatten each frame separately: TimeDistributed({above.name})",
            [WrapLayer(above.name, "TimeDistributed")],
            f"{node.name} expects one vector for each of the {before[1] or ''} steps.".replace("  ", " "),
        )
