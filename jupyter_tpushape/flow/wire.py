"""The wire form: one versioned JSON document that carries a report to every view.

Specs, placements, weights and locations repeat throughout a flow, so the document keeps each once in a
table and refers to it by index: that is what keeps a large model under 300 bytes a node.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .findings import Finding
from .graph import Edge, Failure, Family, Flow, Location, Node, NodeKind, Status, Target, Weight
from .spec import Replica, Shape, Spec

VERSION = 1
MIME = "application/vnd.tpushape.report.v1+json"


class WireNode(msgspec.Struct, omit_defaults=True):
    """A node. ``weights`` are indices into the flow's ``weights``, ``location`` and ``called`` into its ``locations``; -1: unknown.

    ``family`` is there only where it differs from what the flow's ``families`` say of its ``op``.
    """

    id: str
    name: str
    kind: NodeKind
    op: str
    parent: str = ""
    status: Status = "ok"
    location: int = -1
    called: int = -1
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    weights: tuple[int, ...] = ()
    params: int = 0
    failure: Failure | None = None
    note: str = ""
    path: tuple[str | int, ...] = ()
    family: Family | None = None


class WireEdge(msgspec.Struct, omit_defaults=True):
    """An edge. ``spec`` and ``placement`` are indices into the tables; -1: no replicas."""

    id: str
    source: str
    target: str
    spec: int
    status: Status = "ok"
    placement: int = -1
    label: str = ""


class WirePlacement(msgspec.Struct, omit_defaults=True):
    """What every replica holds of a tensor: ``shapes[i]`` on ``devices[i]`` of the document.

    Where all replicas hold the same shape it is given once. ``layout``: the mesh's axis that each axis lies along.
    """

    shapes: tuple[Shape | None, ...]
    layout: tuple[str, ...] = ()


class WireFlow(msgspec.Struct, omit_defaults=True):
    nodes: list[WireNode]
    edges: list[WireEdge]
    specs: list[Spec]
    weights: list[Weight] = msgspec.field(default_factory=list)
    placements: list[WirePlacement] = msgspec.field(default_factory=list)
    devices: list[str] = msgspec.field(default_factory=list)
    locations: list[Location] = msgspec.field(default_factory=list)
    framework: str = ""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    families: dict[str, Family] = msgspec.field(default_factory=dict)


class LayerMemory(msgspec.Struct, omit_defaults=True):
    """Bytes that the compiler gave to one node's tensors, as laid out and as counted by shape.

    ``temporaries`` of ``bytes`` are tensors of the program's own at the moment when they take most.
    """

    node: str
    name: str
    bytes: int
    logical: int = 0
    temporaries: int = 0


class Buffer(msgspec.Struct, omit_defaults=True):
    """One tensor in the core's memory: its shape, and ``padded`` with every tile filled. ``node`` is ``""`` where it is no layer's.

    ``kind``: ``argument`` (data, a variable, an optimizer's slot) or ``temporary`` (alive when temporaries take most).
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    bytes: int
    logical: int
    node: str = ""


class Tried(msgspec.Struct, omit_defaults=True, frozen=True):
    """One batch that was compiled: ``rows`` on one core, whether they fit, and the ``bytes`` that the program takes with them.

    Where they do not fit, ``bytes`` is what the compiler says it lacks room for, or 0 where it does not say. ``run``: with what a run keeps
    beside the program (batches on their way to the device, room for gaps), an estimate.
    """

    rows: int
    fits: bool
    bytes: int = 0
    effort: str = ""
    run: int = 0


class Collective(msgspec.Struct, omit_defaults=True, frozen=True):
    """Exchanges of one ``kind`` (``all-reduce``, ``all-gather``, ...) that the compiler put into a program at one node, per step.

    ``count`` of them, ``bytes`` of tensors in all; ``sent`` by each device, in rings of ``group`` devices. ``node`` is ``""`` where it is
    no layer's. ``least``: a loop turns an unknown number of times, and one turn is counted.
    """

    kind: str
    node: str
    name: str
    count: int
    bytes: int
    sent: int
    group: int
    least: bool = False


class Verdict(msgspec.Struct, omit_defaults=True):
    """What a compiler said of one program (``forward``, ``train`` or ``predict``). Sizes in bytes.

    ``moved``: bytes that its operations read and write, as the compiler counts them; ``intensity``: ``flops / moved``, an estimate.
    ``unmapped``: what of the whole is given to no layer; ``tried``: the batches that were compiled, by their rows: this one, and
    others where they were asked for. ``devices``: for how many devices one program was cut, 1 where each runs its own replica's; then
    ``collectives`` is what they exchange, and all sizes are of one device.
    """

    program: str
    compiler: str
    ok: bool
    target: str = ""
    message: str = ""
    seconds: float = 0.0
    effort: str = ""
    cached: bool = False
    hbm_bytes: int = 0
    arguments: int = 0
    outputs: int = 0
    temporaries: int = 0
    code: int = 0
    flops: float = 0.0
    moved: float = 0.0
    intensity: float = 0.0
    layers: tuple[LayerMemory, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    unmapped: int = 0
    tried: tuple[Tried, ...] = ()
    versions: str = ""
    devices: int = 1
    collectives: tuple[Collective, ...] = ()


class About(msgspec.Struct, omit_defaults=True, frozen=True):
    """What a report is of, as the user called it, and when and where it was asked for; ``""`` where that is not known.

    ``when``: local time in ISO 8601. ``cell`` and ``execution``: the notebook's cell that asked or, for one asked from outside, that ran
    last. ``kernel``: changes when a kernel restarts. ``explains``: it is of an error that was raised, for which no data and no target were chosen.
    """

    model: str = ""
    data: str = ""
    backend: str = ""
    when: str = ""
    cell: str = ""
    execution: int = 0
    kernel: str = ""
    explains: bool = False


class Overlay(msgspec.Struct, omit_defaults=True, frozen=True):
    """Numbers that the user lays over the picture: ``values`` by node id, ``unit`` as it is written behind them."""

    name: str
    values: dict[str, float]
    unit: str = ""


class Change(msgspec.Struct, omit_defaults=True, frozen=True):
    """One thing that two programs have otherwise: what it is, and its values as they are said."""

    what: str
    before: str
    after: str


class Mark(msgspec.Struct, omit_defaults=True, frozen=True):
    """What became of a node or an edge. ``was``: its name in the program before, where that is another."""

    state: Literal["added", "changed", "removed"]
    changes: tuple[Change, ...] = ()
    was: str = ""


class Difference(msgspec.Struct, omit_defaults=True, frozen=True):
    """How the program of this document differs from another. The flow then holds both: what only the other has is marked as removed.

    ``before`` and ``after`` name the two; ``nodes`` and ``edges`` are marks by id, ``totals`` changes of the whole, ``same`` the number of
    layers that are alike.
    """

    before: str
    after: str
    nodes: dict[str, Mark] = msgspec.field(default_factory=dict)
    edges: dict[str, Mark] = msgspec.field(default_factory=dict)
    totals: tuple[Change, ...] = ()
    same: int = 0


class WireReport(msgspec.Struct, omit_defaults=True):
    """The whole document."""

    version: int
    title: str
    summary: str
    ok: bool
    flow: WireFlow
    findings: list[Finding]
    target: Target | None = None
    verdicts: list[Verdict] = msgspec.field(default_factory=list)
    tool: str = ""
    seconds: float = 0.0
    limits: tuple[str, ...] = ()
    about: About = About()
    overlays: tuple[Overlay, ...] = ()
    difference: Difference | None = None


class _Table:
    """Values by index, each kept once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._index: dict[Any, int] = {}

    def add(self, value: Any) -> int:
        if value not in self._index:
            self._index[value] = len(self.values)
            self.values.append(value)
        return self._index[value]


def pack(flow: Flow) -> WireFlow:
    """A flow as its wire form."""
    specs, weights, shapes, places = _Table(), _Table(), _Table(), _Table()

    def place(where: Location | None) -> int:
        return -1 if where is None else places.add(where)

    devices: list[str] = []
    edges = []
    for edge in flow.edges:
        placement = -1
        if edge.replicas:
            if len(edge.replicas) > len(devices):
                devices = [replica.device for replica in edge.replicas]
            held = tuple(replica.shape for replica in edge.replicas)
            placement = shapes.add((held[:1] if len(set(held)) == 1 else held, edge.layout))
        edges.append(WireEdge(edge.id, edge.source, edge.target, specs.add(edge.spec), edge.status, placement, edge.label))
    families: dict[str, Family] = {}
    for node in flow.nodes:
        if node.family:
            families.setdefault(node.op, node.family)
    nodes = [
        WireNode(
            node.id, node.name, node.kind, node.op, node.parent, node.status, place(node.location), place(node.called),
            node.config, tuple(weights.add(weight) for weight in node.weights), node.params, node.failure, node.note, node.path,
            None if node.family == families.get(node.op, "") else node.family,
        )
        for node in flow.nodes
    ]  # fmt: skip
    placements = [WirePlacement(*held) for held in shapes.values]
    return WireFlow(nodes, edges, specs.values, weights.values, placements, devices, places.values, flow.framework, flow.facts, families)


def unpack(wire: WireFlow) -> Flow:
    """The flow that a wire form carries; the inverse of :func:`pack`."""

    placed: dict[int, tuple[Replica, ...]] = {-1: ()}

    def replicas(index: int) -> tuple[Replica, ...]:
        if index not in placed:
            held = wire.placements[index].shapes
            if len(held) == 1:
                held *= len(wire.devices)
            placed[index] = tuple(Replica(i, device, shape) for i, (device, shape) in enumerate(zip(wire.devices, held, strict=True)))
        return placed[index]

    def place(index: int) -> Location | None:
        return wire.locations[index] if index >= 0 else None

    nodes = [
        Node(
            node.id, node.name, node.kind, node.op, node.parent, node.status, place(node.location), place(node.called),
            node.config, tuple(wire.weights[i] for i in node.weights), node.params, node.failure, node.note, node.path,
            wire.families.get(node.op, "") if node.family is None else node.family,
        )
        for node in wire.nodes
    ]  # fmt: skip
    edges = [
        Edge(
            edge.id, edge.source, edge.target, wire.specs[edge.spec], edge.status, replicas(edge.placement), edge.label,
            wire.placements[edge.placement].layout if edge.placement >= 0 else (),
        )
        for edge in wire.edges
    ]  # fmt: skip
    return Flow(nodes, edges, wire.framework, wire.facts)


def schema() -> dict[str, Any]:
    """The JSON schema of the wire document."""
    return msgspec.json.schema(WireReport)
