"""What layers declare about their outputs before anything runs, against what they return."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..flow import Node, Shape
from ..flow.observed import Borders
from .program import Examined


class Claim(NamedTuple):
    """``node`` was taken to return ``declared``, by an argument or a method ``by``, and returns ``returned``."""

    node: Node
    by: str
    declared: Shape
    returned: Shape


def claims(seen: Examined) -> list[Claim]:
    """The calls of a functional model whose declared output differs from the real one in rank or in an inner axis, in order."""
    adapter, flow = seen.adapter, seen.evidence.flow
    network = adapter.graph_network(seen.model) if adapter is not None and adapter.is_model(seen.model) else None
    if adapter is None or network is None:
        return []
    made = [(str(one.operation.name), one) for one in adapter.graph_nodes(network) if not one.is_input]
    often = Counter(name for name, _ in made)
    borders, found = Borders(flow), []
    for name, one in made:
        by = adapter.declared_by(one.operation)
        nodes = [node for node in flow.nodes if node.kind == "layer" and node.name == name] if by else []
        if often[name] > 1 or len(nodes) != 1 or len(one.outputs) != 1:
            continue
        declared = adapter.spec(one.outputs[0]).shape
        returned = next(iter(borders.around(nodes[0])[1]), None)
        if declared is not None and returned is not None and _differ(declared, returned):
            found.append(Claim(nodes[0], by, declared, (declared[0], *returned[1:]) if returned else returned))
    return found


def _differ(declared: Shape, returned: Shape) -> bool:
    pairs = zip(declared[1:], returned[1:], strict=False)
    return len(declared) != len(returned) or any(None not in pair and pair[0] != pair[1] for pair in pairs)
