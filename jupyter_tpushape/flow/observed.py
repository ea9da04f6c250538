"""What a flow's own edges show of a layer: what goes in, what comes out, and what of it is kept."""

from __future__ import annotations

from .graph import Flow, Node
from .spec import Shape

# What an edge carries besides the tensors that a layer works on.
_ASIDE = ("mask", "labels", "weights", "initial_state")


def around(flow: Flow, node: Node) -> tuple[list[Shape], list[Shape]]:
    """Shapes of what goes into a node and of what comes out; of one that shows its inside, at its border."""
    inside = {node.id}
    for item in flow.nodes:
        if item.parent in inside:
            inside.add(item.id)
    edges = [edge for edge in flow.edges if edge.label not in _ASIDE and edge.spec.shape is not None]
    before = [edge.spec.shape for edge in edges if edge.target in inside and edge.source not in inside]
    after = [edge.spec.shape for edge in edges if edge.source in inside and edge.target not in inside]
    return [shape for shape in before if shape is not None], [shape for shape in after if shape is not None]


def keeps(flow: Flow, node: Node) -> bool:
    """Whether a layer gives the shape that it gets: one tensor goes in, and everything that comes out is like it."""
    before, after = around(flow, node)
    return node.kind == "layer" and len(before) == 1 and bool(after) and all(shape == before[0] for shape in after)


def passes(flow: Flow, node: Node) -> bool:
    """Whether a layer lets every axis but the last through as it is, whatever it does to that one."""
    before, after = around(flow, node)
    return (
        node.kind == "layer"
        and bool(before)
        and bool(after)
        and all(len(shape) == len(before[0]) and shape[:-1] == before[0][:-1] for shape in (*before, *after))
        and "dims" not in node.config  # axes in another order may have the same sizes
    )
