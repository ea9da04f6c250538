"""Names for the axes of a flow's tensors, where a layer says what they are.

A name is given only where a layer's own documentation fixes it: what goes into and comes out of a
recurrent layer, a convolution or pooling, an embedding, and the first axis wherever a layer keeps it.
"""

from __future__ import annotations

from ..flow import Edge, Flow, Node, Spec
from ..flow.observed import Borders, passes

# By rank, what convolutions and pools, and what recurrent layers, call the axes they work on.
GRID = {
    2: ("batch", "features"),
    3: ("batch", "steps", "channels"),
    4: ("batch", "height", "width", "channels"),
    5: ("batch", "depth", "height", "width", "channels"),
}
SEQUENCE = {2: ("batch", "features"), 3: ("batch", "time", "features")}
SPATIAL = ("Conv", "SeparableConv", "DepthwiseConv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "UpSampling", "ZeroPadding", "Cropping")
RECURRENT = frozenset({"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "CuDNNLSTM", "CuDNNGRU"})


def recurs(node: Node) -> bool:
    """Whether a layer goes over the steps of a sequence, of vectors or of frames, and may return them all."""
    return node.op in RECURRENT or node.op.startswith("ConvLSTM")


def name_axes(flow: Flow) -> None:
    """Gives every edge's spec the names of its axes, as far as they are known."""
    nodes = {node.id: node for node in flow.nodes}
    given: dict[str, tuple[str, ...]] = {}
    borders = Borders(flow)
    for edge in flow.edges:
        names = _into(nodes[edge.target], edge) or _out_of(nodes[edge.source], edge, given)
        if names:
            given.setdefault(edge.source, names)
            edge.spec = Spec(edge.spec.shape, edge.spec.dtype, edge.spec.kind, names)
            if passes(flow, nodes[edge.target], borders):
                given.setdefault(edge.target, names)


def _into(node: Node, edge: Edge) -> tuple[str, ...]:
    rank = edge.spec.rank
    if rank is None or edge.label in ("mask", "labels", "weights") or node.status != "ok" or node.config.get("data_format") == "channels_first":
        return ()
    if node.kind == "layer" and node.op.startswith(SPATIAL):
        return GRID.get(rank, ()) if rank > 2 else ()
    if node.kind == "layer" and node.op in RECURRENT:
        return SEQUENCE.get(rank, ()) if rank == 3 else ()
    return ()


def _out_of(node: Node, edge: Edge, given: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    rank = edge.spec.rank
    if rank is None or edge.label in ("mask", "labels", "weights") or node.kind != "layer" or node.config.get("data_format") == "channels_first":
        return ()
    if node.op.startswith(("GlobalMaxPool", "GlobalAveragePool")):
        return ("batch", "channels") if rank == 2 else ()
    if node.op.startswith(SPATIAL):
        return GRID.get(rank, ()) if rank > 2 else ()
    if node.op in RECURRENT:
        return SEQUENCE.get(rank, ())
    if node.op == "Flatten" or (node.op == "Dense" and rank == 2):
        return ("batch", "features") if rank == 2 else ()
    known = given.get(node.id, ())
    return known if len(known) == rank else ()
