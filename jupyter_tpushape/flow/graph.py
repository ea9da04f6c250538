"""The flow: nodes and edges of one traced program, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from .spec import Replica, Shape, Spec

if TYPE_CHECKING:
    import networkx as nx

NodeKind = Literal["stage", "split", "input", "layer", "op", "loss", "metric", "output"]
Status = Literal["ok", "failed", "not-reached"]
#: The family of a node. ``light``: an operation that computes nothing (a cast, a reshape, a slice, a constant); ``own``: custom code or
#: a nested model; ``other``: any other layer of the framework; ``""``: neither a layer nor an operation.
Family = Literal[
    "", "convolution", "dense", "recurrent", "attention", "normalization", "activation", "shape", "embedding", "merge", "other", "own", "op", "light"
]  # fmt: skip


class Location(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the user's source, in a file or a notebook cell.

    ``cell`` is the cell's id if the kernel reports it, and ``execution`` its ``In[n]`` number.
    ``line`` starts at 1 in the file or the cell.
    """

    file: str
    line: int
    cell: str = ""
    execution: int = 0
    text: str = ""

    def __str__(self) -> str:
        if self.execution:
            return f"In[{self.execution}]:{self.line}"
        if self.cell:
            return f"cell {self.cell[:8]}:{self.line}"
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


class Weight(msgspec.Struct, frozen=True, omit_defaults=True):
    """One variable of a layer. ``copies`` is the number of its replicas on the target (1 without a target).

    On a mesh, ``layout`` names the mesh axis for each axis (``""``: replicated; empty: unknown), and ``shard``
    is the shape on one device.
    """

    name: str
    shape: Shape | None
    dtype: str
    trainable: bool = True
    copies: int = 1
    layout: tuple[str, ...] = ()
    shard: Shape | None = None


# Fences of code, bullets of a list and the frames of a traceback say nothing by themselves.
_NOT_SAID = ("```", "•", "* ", "- ", 'File "', "Traceback")


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """The error that the framework raised in a node.

    ``where`` is the phase: ``data``, ``build``, ``call``, ``loss``, ``metric`` or ``step``.
    ``inner`` names the innermost object that raised (a cell, an op), if it is not the node itself.
    """

    type: str
    message: str
    where: Literal["data", "build", "call", "loss", "metric", "step"] = "call"
    inner: str = ""

    @property
    def said(self) -> str:
        """The message in one line: its first sentence, and what was received if a later line says so."""
        lines = [line.strip() for line in self.message.splitlines()]
        said = [line for line in lines if any(map(str.isalnum, line)) and not line.startswith(_NOT_SAID)]
        if not said:
            return self.type
        received = next((line for line in said[1:] if line.startswith(("Received", "received", "but received", "Got", "got"))), "")
        # What ends in a colon goes on below.
        goes_on = said[1] if said[0].endswith(":") and len(said) > 1 and said[1] != received else ""
        # A compiler's word for an unknown size.
        return " ".join(filter(None, (said[0], goes_on, received))).replace("dynamic_dimension", "?")


class Node(msgspec.Struct, omit_defaults=True):
    """One node of the program. ``location`` is the line that created it, ``called`` the line that called it.

    ``path`` of an input or an output is its key path in the data or in the outputs.
    """

    id: str
    name: str
    kind: NodeKind
    op: str
    parent: str = ""
    status: Status = "ok"
    location: Location | None = None
    called: Location | None = None
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    weights: tuple[Weight, ...] = ()
    params: int = 0
    failure: Failure | None = None
    note: str = ""
    path: tuple[str | int, ...] = ()
    family: Family = ""


class Edge(msgspec.Struct, omit_defaults=True):
    """One tensor from ``source`` to ``target``.

    ``replicas`` has one entry per replica after the split, and is empty without a target.
    ``label`` distinguishes several tensors between the same nodes (``mask``, ``labels``, ``state 1``).
    ``layout``: on a mesh, the mesh axis for each axis, ``""`` if it is replicated; empty if the layout is unknown.
    """

    id: str
    source: str
    target: str
    spec: Spec
    status: Status = "ok"
    replicas: tuple[Replica, ...] = ()
    label: str = ""
    layout: tuple[str, ...] = ()


class MeshAxis(msgspec.Struct, frozen=True):
    """One axis of a device mesh: its name and its number of devices."""

    name: str
    size: int


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """The TPU slice to plan for, or the devices of a live strategy. ``mesh``: its axes with their sizes, if it has any."""

    name: str
    replicas: int
    hosts: int = 1
    generation: str = ""
    hbm_bytes: int = 0
    strategy: str = ""
    live: bool = False
    mesh: tuple[MeshAxis, ...] = ()

    @property
    def axes(self) -> tuple[MeshAxis, ...]:
        """The axes over which the devices stand: those of ``mesh``, or the one axis ``batch`` of a ``tf.distribute`` strategy's replicas."""
        return self.mesh or (MeshAxis("batch", self.replicas),)


class _Places:
    """Where a flow's nodes and edges are, by node. A flow only grows, or gets other lists."""

    def __init__(self, nodes: list[Node], edges: list[Edge]) -> None:
        self.lists: tuple[list[Node], list[Edge]] = nodes, edges
        # How many of each are known, and the last one.
        self.seen: list[tuple[int, Node | Edge | None]] = [(0, None), (0, None)]
        self.nodes: dict[str, Node] = {}
        self.into: dict[str, list[Edge]] = {}
        self.out_of: dict[str, list[Edge]] = {}

    def hold(self, nodes: list[Node], edges: list[Edge]) -> bool:
        """Whether these are the lists of before, perhaps with more at their ends."""
        if self.lists[0] is not nodes or self.lists[1] is not edges:
            return False
        both: tuple[list[Any], list[Any]] = (nodes, edges)
        return all(count <= len(now) and (not count or now[count - 1] is last) for (count, last), now in zip(self.seen, both, strict=True))

    def read(self) -> None:
        nodes, edges = self.lists
        for at in range(self.seen[0][0], len(nodes)):
            self.nodes.setdefault(nodes[at].id, nodes[at])
        for at in range(self.seen[1][0], len(edges)):
            self.into.setdefault(edges[at].target, []).append(edges[at])
            self.out_of.setdefault(edges[at].source, []).append(edges[at])
        self.seen = [(len(nodes), nodes[-1] if nodes else None), (len(edges), edges[-1] if edges else None)]


class Flow(msgspec.Struct, omit_defaults=True, dict=True):
    """A traced program, as plain values without live objects."""

    nodes: list[Node] = msgspec.field(default_factory=list)
    edges: list[Edge] = msgspec.field(default_factory=list)
    framework: str = ""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)

    def node(self, id: str) -> Node:
        """The node with this id; raises ``KeyError`` if there is none."""
        return self._places.nodes[id]

    def graph(self) -> nx.MultiDiGraph:
        """The flow as a networkx graph; nodes have the attribute ``node``, edges the attribute ``edge``."""
        import networkx as nx

        graph = nx.MultiDiGraph()
        for node in self.nodes:
            graph.add_node(node.id, node=node)
        for edge in self.edges:
            graph.add_edge(edge.source, edge.target, key=edge.id, edge=edge)
        return graph

    def into(self, id: str) -> list[Edge]:
        return list(self._places.into.get(id, ()))

    def out_of(self, id: str) -> list[Edge]:
        return list(self._places.out_of.get(id, ()))

    @property
    def _places(self) -> _Places:
        places: _Places | None = self.__dict__.get("places")
        if places is None or not places.hold(self.nodes, self.edges):
            places = self.__dict__["places"] = _Places(self.nodes, self.edges)
        places.read()
        return places

    def failed(self) -> list[Node]:
        return [node for node in self.nodes if node.status == "failed"]
