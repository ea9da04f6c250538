"""Sequences that are joined step by step, one of them in reverse order."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Flow, Node, Who
from .facts.orders import StepsReversed
from .registry import check, rule

_MODEL = """
def build():
    i = keras.Input((7, 3))
    f, b = L.LSTM(4, return_sequences=True)(i), L.LSTM(4, return_sequences=True, go_backwards=True)(i)
    {}
    m = keras.Model(i, L.Dense(1)(L.Concatenate()([f, b]))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 7, 3), "float32"), np.zeros((8, 7, 1), "float32")
"""
REVERSED = rule(
    "steps-reversed", "Sequences are joined in opposite orders", severity="silent",
    source="keras/src/layers/rnn/rnn.py: go_backwards processes the input sequence backwards and returns the reversed sequence",
    fails=_MODEL.format(""), passes=_MODEL.format("b = b[:, ::-1]"),
    doc="""Reported if a layer joins two sequences of one input step by step, and a recurrent layer with `go_backwards=True` gave one of them. Not reported if an
operation in the user's code is between the two, because it may reverse the steps.""",
)  # fmt: skip

# What gives its steps in the order in which it got them, if it keeps their number.
_IN_ORDER = frozenset({"convolution", "dense", "recurrent", "normalization", "activation", "embedding", "other"})

# For each input of the program: the layers that reversed its steps on the way.
_Turned = dict[str, tuple[str, ...]]


@check(order=47)
def steps_reversed(evidence: Evidence) -> Iterator[Finding]:
    """The places where an odd number of reversals meets an even one."""
    flow = evidence.flow
    if evidence.where or not any(_reverses(node) for node in flow.nodes):
        return
    known: dict[str, _Turned | None] = {}
    for node in flow.nodes:
        edges = [edge for edge in flow.into(node.id) if edge.label != "mask"]
        if node.kind not in ("layer", "op") or len(edges) < 2 or not _step_by_step(flow, node, edges) or not _read_in_order(flow, node):
            continue
        came = [_turned(flow, edge, known) for edge in edges]
        odd = {(source, layers) for one in came for source, layers in (one or {}).items() if len(layers) % 2}
        even = {source for one in came for source, layers in (one or {}).items() if len(layers) % 2 == 0}
        layer = next((layers[-1] for source, layers in sorted(odd) if source in even), None)
        if layer is not None:
            fact = StepsReversed(Who.of(flow.node(layer)), Who.of(node))
            yield Finding.of(REVERSED.id, "silent", fact, (node.id, layer), location=node.called)


def _reverses(node: Node) -> bool:
    return bool(node.config.get("go_backwards")) and bool(node.config.get("return_sequences"))


def _turned(flow: Flow, edge: Edge, known: dict[str, _Turned | None]) -> _Turned | None:
    """Who reversed the steps of a tensor since the input; ``None`` where the order is unknown."""
    node = flow.node(edge.source)
    if node is None or len(edge.spec.shape or ()) < 3:
        return None
    if node.kind == "input":
        return {node.id: ()}
    if node.id in known:
        return known[node.id]
    known[node.id] = None
    edges = [one for one in flow.into(node.id) if one.label != "mask" and "state" not in one.label]
    if node.kind == "layer" and edges and _step_by_step(flow, node, edges) and (len(edges) > 1 or node.family in _IN_ORDER):
        came = [_turned(flow, one, known) for one in edges]
        sure = [one for one in came if one is not None]
        if len(sure) == len(came) and all(one == sure[0] for one in sure):
            known[node.id] = {source: (*layers, node.id) for source, layers in sure[0].items()} if _reverses(node) else sure[0]
    return known[node.id]


def _read_in_order(flow: Flow, node: Node) -> bool:
    """Whether anything works on single steps of a result: a pooling over all steps does not, nor does one that takes a step out."""
    for edge in flow.edges:
        taker = flow.node(edge.target) if edge.source == node.id else None
        if taker is None or edge.label == "mask":
            continue
        given = [one.spec.shape or () for one in flow.edges if one.source == taker.id]
        if taker.kind in ("output", "loss", "metric") or taker.family == "recurrent":
            return True
        if given and given[0] == edge.spec.shape and taker.family == "other" and not taker.weights:
            if _read_in_order(flow, taker):
                return True
        elif given and len(given[0]) >= 3 and given[0][1] != 1:
            return True
    return False


def _step_by_step(flow: Flow, node: Node, edges: list[Edge]) -> bool:
    """Whether a node gives one step for each step of all that it gets: it adds them, or joins their features."""
    shapes = [edge.spec.shape or () for edge in edges]
    given = next((edge.spec.shape or () for edge in flow.edges if edge.source == node.id), ())
    if any(len(shape) < 3 or shape[1] in (None, 1) or shape[1] != given[1] for shape in (given, *shapes)):
        return False
    lasts = [shape[-1] or 0 for shape in shapes]
    return len(shapes) == 1 or (len({len(shape) for shape in (*shapes, given)}) == 1 and given[-1] in (max(lasts), sum(lasts)))
