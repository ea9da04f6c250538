"""Which layer made which operation, noted while a program is traced.

Names alone would lie: Keras 3 calls the scope of a layer ``dense`` ``dense_1`` where another layer bears that name.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_GRADIENT = "gradient_tape/"


class Found:
    """Operations by the node that made them, as they were found before."""

    def __init__(self, owners: dict[str, str]) -> None:
        self._owners = owners

    def node(self, operation: str) -> str:
        return self._owners.get(operation, "")


class Scopes:
    """Operations of one traced program by the node that made them. :meth:`node` is ``""`` where none did or several may have."""

    def __init__(self, flow: Any) -> None:
        self._children: dict[tuple[str, str], list[str]] = {}
        for node in flow.nodes:
            if node.kind in ("layer", "op"):
                self._children.setdefault((node.parent, node.name), []).append(node.id)
        losses = [node.id for node in flow.nodes if node.kind == "loss"]
        self._loss = losses[0] if len(losses) == 1 else ""
        self._seen: dict[tuple[str, str], int] = {}
        self._stack: list[tuple[str, int]] = []
        self._spans: list[tuple[int, int, str]] = []
        self._owner: dict[str, str] = {}
        self._graph: Any = None

    def begin(self) -> None:
        """A trace begins: what was noted of an earlier one is forgotten."""
        self._seen.clear()
        self._spans.clear()
        self._graph = None

    def enter(self, name: str, graph: Any, loss: bool = False) -> None:
        if not self._stack and not self._within(graph):
            # A function that makes variables is traced twice: the later trace is the one that is lowered.
            self.begin()
            self._graph = graph
        node = self._stack[-1][0] if self._stack else ""
        if loss:
            node = self._loss
        else:
            # The n-th call of a name within a layer is the n-th node of that name there; what has no node is its parent's.
            nodes = self._children.get((node, name), [])
            count = self._seen.get((node, name), 0)
            self._seen[node, name] = count + 1
            if nodes:
                node = nodes[count] if count < len(nodes) else nodes[0] if len(nodes) == 1 else ""
        self._stack.append((node, graph.num_operations() if graph is self._graph else -1))

    def _within(self, graph: Any) -> bool:
        while graph is not None and graph is not self._graph:
            graph = getattr(graph, "outer_graph", None)
        return graph is not None

    def leave(self, graph: Any) -> None:
        node, start = self._stack.pop()
        if start >= 0 and graph is self._graph and node:
            self._spans.append((start, graph.num_operations(), node))

    def settle(self, graph: Any) -> None:
        """The trace is over: each operation, and each scope that is one layer's alone, has its owner."""
        self._owner = {}
        if graph is not self._graph:
            return
        names = [operation.name for operation in graph.get_operations()]
        owners = [""] * len(names)
        # Inner calls end first, so the first to claim an operation is the innermost.
        for start, end, node in self._spans:
            for i in range(start, min(end, len(names))):
                owners[i] = owners[i] or node
        shared = object()
        found: dict[str, Any] = {}
        for name, owner in zip(names, owners, strict=True):
            parts = name.split("/")
            for length in range(1, len(parts) + 1):
                scope = "/".join(parts[:length])
                found[scope] = owner if found.get(scope, owner) == owner else shared
        found.update(zip(names, owners, strict=True))
        self._owner = {scope: owner for scope, owner in found.items() if owner is not shared and owner}

    def give(self, operation: str, node: str) -> None:
        """An operation whose node is known otherwise."""
        if node:
            self._owner[operation.removeprefix(_GRADIENT)] = node

    def node(self, operation: str) -> str:
        """The node that made an operation, or whose gradient it is."""
        parts = operation.removeprefix(_GRADIENT).split("/")
        for length in range(len(parts), 0, -1):
            found = self._owner.get("/".join(parts[:length]))
            if found:
                return found
        return ""


@contextmanager
def noted(adapter: Any, scopes: Scopes) -> Iterator[None]:
    """Notes the layers' and losses' calls of this thread."""
    import tensorflow as tf

    thread = threading.get_ident()

    def around(original: Any, loss: bool) -> Any:
        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread or tf.executing_eagerly():
                return original(self, *args, **kwargs)
            graph = tf.compat.v1.get_default_graph()
            scopes.enter(str(getattr(self, "name", "")), graph, loss)
            try:
                return original(self, *args, **kwargs)
            finally:
                scopes.leave(graph)

        return call

    kept = [(cls, vars(cls)["__call__"], loss) for cls, loss in ((adapter.Layer, False), (adapter.Loss, True))]
    for cls, original, loss in kept:
        cls.__call__ = around(original, loss)
    try:
        yield
    finally:
        for cls, original, _ in kept:
            cls.__call__ = original
