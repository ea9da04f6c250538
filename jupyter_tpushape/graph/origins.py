"""The sizes of a flow's edges as expressions, followed up to the data; each is worked out once, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..flow import Edge, Flow, Node
from .sizes import Axis, Opaque, Size
from .steps import step

_ASIDE = ("mask", "labels", "weights")


class Origins:
    """Where the sizes of one flow come from. ``arguments``: what the constructor of a node's layer was given, by the node's id."""

    def __init__(self, flow: Flow, arguments: Callable[[str], Mapping[str, Any]]) -> None:
        self.flow, self.arguments = flow, arguments
        self._known: dict[str, tuple[Size, ...]] = {}

    def of(self, edge: Edge) -> tuple[Size, ...]:
        """One expression an axis, or ``()`` where the rank is unknown."""
        if edge.spec.shape is None:
            return ()
        if edge.id not in self._known:
            # A flow with a loop in it ends here.
            self._known[edge.id] = tuple(Opaque(edge.source, n) for n in edge.spec.shape)
            self._known[edge.id] = self._worked_out(edge)
        return self._known[edge.id]

    def _worked_out(self, edge: Edge) -> tuple[Size, ...]:
        node = self.flow.node(edge.source)
        assert edge.spec.shape is not None
        if node.kind in ("input", "stage", "split"):
            return tuple(Axis(node.name, axis, n) for axis, n in enumerate(edge.spec.shape))
        node = self._inside(node)
        given = [self.of(item) for item in self.flow.into(node.id) if item.label not in _ASIDE and item.spec.shape is not None]
        arguments = self.arguments(node.id) if node.kind == "layer" else {}
        return step(node.name, arguments, given, edge.spec.shape)

    def _inside(self, node: Node) -> Node:
        """The last layer of a model that no edge leads into: it was built from within, and its layers are all that is known of it."""
        while node.kind == "layer" and not self.flow.into(node.id):
            ends = [one for one in self.flow.nodes if one.parent == node.id and one.kind == "layer" and not self.flow.out_of(one.id)]
            # Built and then called, a layer is there twice.
            if len({one.name for one in ends}) != 1:
                break
            node = ends[-1]
        return node
