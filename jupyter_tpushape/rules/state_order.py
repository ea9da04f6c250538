"""States of a recurrent layer that the next one gets in another order."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Who
from .facts.state_order import StatesSwapped
from .registry import check, rule

_DECODER = """
def build():
    inputs = keras.Input((6, 4)); _, h, c = L.LSTM(5, return_state=True)(inputs); y = L.LSTM(5)(inputs, initial_state=%s)
    m = keras.Model(inputs, L.Dense(1)(y)); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6, 4), "float32"), np.zeros((8, 1), "float32")
"""
SWAPPED = rule(
    "states-swapped", "States are passed in another order than they were returned", severity="silent", source="keras.layers.LSTM: output, h, c; initial_state=[h, c]",
    fails=_DECODER % "[c, h]", passes=_DECODER % "[h, c]",
    doc="Both states have the same shape, so no error is raised. Reported if a recurrent layer gets exactly the states that another one returned, in another order.",
)  # fmt: skip


@check(order=49)
def states_swapped(evidence: Evidence) -> Iterator[Finding]:
    """States from one recurrent layer to another one."""
    flow = evidence.flow
    for name, maker, given in evidence.facts.get("crossed_states") or () if evidence.failure is None else ():
        node, source = flow.node(name), flow.node(maker)
        if node.family == source.family == "recurrent":
            fact = StatesSwapped(Who.of(node), Who.of(source), given)
            yield Finding.of(SWAPPED.id, "silent", fact, (node.id, source.id), location=node.called)
