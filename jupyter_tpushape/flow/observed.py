"""What a flow's own edges show of a layer: what goes in, what comes out, and what of it is kept."""

from __future__ import annotations

from .graph import Edge, Flow, Node
from .spec import Shape

# What an edge carries besides the tensors that a layer works on.
_ASIDE = ("mask", "labels", "weights", "initial_state")


class Borders:
    """What crosses the border of each node of a flow, found once for all of them."""

    def __init__(self, flow: Flow) -> None:
        self._into: dict[str, list[Edge]] = {}
        self._out_of: dict[str, list[Edge]] = {}
        self._children: dict[str, list[str]] = {}
        for edge in flow.edges:
            if edge.label not in _ASIDE and edge.spec.shape is not None:
                self._into.setdefault(edge.target, []).append(edge)
                self._out_of.setdefault(edge.source, []).append(edge)
        for node in flow.nodes:
            if node.parent:
                self._children.setdefault(node.parent, []).append(node.id)

    def around(self, node: Node) -> tuple[list[Shape], list[Shape]]:
        """Shapes of what goes into a node and of what comes out; of one that shows its inside, at its border."""
        ids = [node.id]
        for one in ids:
            ids += self._children.get(one, [])
        inside = set(ids)
        before = [edge.spec.shape for one in ids for edge in self._into.get(one, ()) if edge.source not in inside]
        after = [edge.spec.shape for one in ids for edge in self._out_of.get(one, ()) if edge.target not in inside]
        return [shape for shape in before if shape is not None], [shape for shape in after if shape is not None]


def around(flow: Flow, node: Node) -> tuple[list[Shape], list[Shape]]:
    """Shapes of what goes into one node and of what comes out of it."""
    return Borders(flow).around(node)


def keeps(flow: Flow, node: Node) -> bool:
    """Whether a layer gives the shape that it gets: one tensor goes in, and everything that comes out is like it."""
    before, after = around(flow, node)
    return node.kind == "layer" and len(before) == 1 and bool(after) and all(shape == before[0] for shape in after)


def passes(flow: Flow, node: Node, borders: Borders | None = None) -> bool:
    """Whether a layer lets every axis but the last through as it is, whatever it does to that one."""
    before, after = (borders or Borders(flow)).around(node)
    return (
        node.kind == "layer"
        and bool(before)
        and bool(after)
        and all(len(shape) == len(before[0]) and shape[:-1] == before[0][:-1] for shape in (*before, *after))
        and "dims" not in node.config  # axes in another order may have the same sizes
    )
