"""Numbers that no size can be, where code of a layer, a loss, a step or the builder needs one."""

from __future__ import annotations

import re

from ..examine.evidence import Evidence
from ..examine.heard import HeardNone, HeardUnknown, hear
from ..flow import Fact, Node, Who
from .facts.own_code import FloatArgument, FloatAsSize, NoneAsSize
from .registry import rule
from .upstream import ancestors

FLOAT = rule(
    "float-size", "A division gives a float where an integer is needed", severity="error", source="the division's result, where the line raised",
    fails="""
def build():
    width = 16
    i = keras.Input((width,)); x = L.Lambda(lambda t: t[:, : width / 2], output_shape=(8,))(i)
    return keras.Model(i, L.Dense(2)(x))
""",
    passes="""
def build():
    width = 16
    i = keras.Input((width,)); x = L.Lambda(lambda t: t[:, : width // 2], output_shape=(8,))(i)
    return keras.Model(i, L.Dense(2)(x))
""",
    doc="""In Python 2, 16 / 2 was an integer, and code from that time uses it as a size.""",
)  # fmt: skip

Explained = tuple[str, Fact]


def no_number(evidence: Evidence, node: Node) -> Explained | None:
    """A static size that is None, or a float, where an integer is needed."""
    raised = evidence.raised
    argument = _argument(evidence, node)
    if raised is None or argument is not None:
        return argument
    # Symbolic tensors of a builder have no sizes at all; that is told by its own fact.
    if raised.unknown and (node.kind in ("layer", "loss", "metric") or evidence.where != "build"):
        first = raised.unknown[0]
        return "axis-unknown", NoneAsSize(first.name or first.text, first.tensor, first.shape, first.axis)
    if raised.quotients:
        return FLOAT.id, FloatAsSize(raised.quotients[0].text, raised.quotients[0].value)
    return None


def _argument(evidence: Evidence, node: Node) -> Explained | None:
    """A float that a layer was created with, as the message quotes it, or in the shape to which a layer above reshapes."""
    if node.kind != "layer" or node.failure is None:
        return None
    unknown = hear(node.failure, HeardUnknown) is not None or hear(node.failure, HeardNone) is not None
    for who in (node, *(item for item in ancestors(evidence, node.id) if unknown and item.kind == "layer")):
        for name, value in evidence.arguments(who.id).items():
            held = value if isinstance(value, (tuple, list)) else (value,)
            floats = [item for item in held if type(item) is float and item.is_integer()]
            mixed = any(type(item) is int for item in held)
            if floats and (mixed if who is not node else re.search(rf"\b{re.escape(repr(floats[0]))}\b", node.failure.message)):
                return FLOAT.id, FloatArgument(Who.of(who), name, floats[0])
    return None
