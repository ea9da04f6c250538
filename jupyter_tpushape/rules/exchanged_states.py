"""States of an LSTM that are handed on in each other's place."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Who
from .facts.states import StatesExchanged
from .registry import check, rule
from .words import MERGES

_CODER = """
def build():
    a, b = keras.Input((5, 3)), keras.Input((4, 3))
    out, h, c = L.LSTM(4, return_state=True)(a)
    y = L.LSTM(4)(b, initial_state=[%s])
    m = keras.Model([a, b], L.Dense(1)(y)); m.compile("sgd", "mse"); return m
def data():
    x = (np.ones((8, 5, 3), "float32"), np.ones((8, 4, 3), "float32"))
    return tf.data.Dataset.from_tensor_slices((x, np.zeros((8, 1), "float32"))).batch(4)
"""
EXCHANGED = rule(
    "states-exchanged", "The two states of an LSTM are exchanged", severity="silent",
    source="keras.layers.LSTM: return_state gives the output, h and c; initial_state takes [h, c]; Bidirectional gives h and c of each direction in turn",
    fails=_CODER % "c, h", passes=_CODER % "h, c",
    doc="""Reported if the first initial state of an LSTM is a second state (c) of another one, or if the second one is a first state (h). The states
of several layers or directions may have been joined before. States that went through a layer with weights are not reported.""",
)  # fmt: skip


@check(order=46)
def states_exchanged(evidence: Evidence) -> Iterator[Finding]:
    """LSTM layers that start with states of another LSTM in the wrong order."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id)
        states = [edge for edge in edges if edge.label == "initial_state"] or [edge for edge in edges if not edge.label][1:]
        if node.op not in ("LSTM", "Bidirectional") or len(states) not in (2, 4):
            continue
        came = [_kinds(evidence, edge) for edge in states]
        if not any(kind != at % 2 for at, found in enumerate(came) for _, kind, _ in found):
            continue
        givers = dict.fromkeys(giver for found in came for giver, _, _ in found)
        giver = evidence.flow.node(next(iter(givers)))
        places = tuple(tuple(place for _, _, place in found) for found in came)
        fact = StatesExchanged(Who.of(node), Who.of(giver), places, len(givers) == 1 and giver.op == "Bidirectional")
        yield Finding.of(EXCHANGED.id, "silent", fact, (node.id, giver.id), tuple(edge.id for edge in states), node.called)


def _kinds(evidence: Evidence, edge: Edge) -> list[tuple[str, int, int]]:
    node, place = evidence.flow.node(edge.source), evidence.facts.get("places", {}).get(edge.id, 0)
    results = len({evidence.facts.get("places", {}).get(one.id, 0) for one in evidence.flow.out_of(node.id)})
    two_ways = node.op == "Bidirectional" and (place > 2 or results > 3)
    if place and (node.op == "LSTM" or two_ways):
        return [(node.id, (place - 1) % 2, place)]
    if node.op in MERGES or node.op in ("ConcatV2", "concat"):
        return [found for one in evidence.flow.into(node.id) if one.label != "mask" for found in _kinds(evidence, one)]
    return []
