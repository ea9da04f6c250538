"""Tensors of unknown rank, of the data and of what a Python function returns, those that are not dense, and numbers that no size can be."""

from __future__ import annotations

import re

from ..examine.evidence import Evidence
from ..examine.heard import HeardNone, HeardUnknown, hear
from ..examine.heard_contracts import HeardNoRank
from ..flow import Edge, Fact, Node, Who
from ..flow.paths import show
from .facts.contracts import NoRank, ShapeLost
from .facts.entry import RankUnknown
from .facts.layers import NotDense
from .facts.own_code import FloatArgument, FloatAsSize, NoneAsSize
from .registry import rule
from .upstream import ancestors

# Operations that run Python code.
_PYTHON = {"PyFunc": "tf.numpy_function", "PyFuncStateless": "tf.numpy_function", "EagerPyFunc": "tf.py_function"}


def shape_lost(evidence: Evidence, node: Node, inside: Node) -> ShapeLost | None:
    """A layer, loss or metric whose Python function returns a tensor without a shape."""
    if (
        evidence.backend != "tensorflow"
        or node.failure is None
        or hear(node.failure, HeardNoRank) is None
        or any(edge.spec.shape is None for edge in evidence.failed_inputs())
    ):
        return None
    called = [_PYTHON[item.op] for item in evidence.flow.nodes if item.op in _PYTHON]
    if not called and (inside.kind != "layer" or (inside.family != "own" and inside.op != "Lambda")):
        return None
    return ShapeLost(Who.of(inside), node.failure.said, called[0] if len(set(called)) == 1 else "")


def no_rank(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """Data of unknown rank, or a layer that loses it."""
    paths = tuple(show(path) for path, spec in evidence.x if spec.shape is None)
    lost = shape_lost(evidence, node, node) if not paths and node.kind == "layer" else None
    if lost is not None:
        return "layer-raises", lost
    if hear(node.failure, HeardNoRank) is None:
        # A layer that asks a shape for its sizes has other words for it.
        given = [edge.spec.shape for edge in evidence.flow.into(node.id)]
        return ("unknown-rank", NoRank(paths, Who.of(node))) if paths and node.kind == "layer" and None in given else None
    squeezed = _squeezed(evidence, node)
    if squeezed is not None:
        return "rows-unknown", squeezed
    if not paths:
        return None
    return "unknown-rank", NoRank(paths, Who.of(node) if node.kind == "layer" else None)


def label_rank(evidence: Evidence, node: Node, labels: Edge | None) -> NoRank | None:
    """Labels or weights of unknown rank, where a loss or metric asks for it."""
    if labels is None or labels.spec.shape is not None or hear(node.failure, HeardNoRank) is None:
        return None
    paths = tuple(show(path) for path, spec in (*evidence.y, *evidence.weight) if spec.shape is None)
    return NoRank(paths, None) if paths else None


def _squeezed(evidence: Evidence, node: Node) -> RankUnknown | None:
    for edge in evidence.flow.into(node.id) if node.kind == "layer" else ():
        giver = evidence.flow.node(edge.source)
        shape = next((given.spec.shape for given in evidence.flow.into(giver.id)), None)
        if edge.spec.shape is None and giver.op.lower() == "squeeze" and shape and shape[0] is None and giver.called is not None:
            return RankUnknown(giver.called.text, shape, giver.called)
    return None


def not_dense(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A ragged or sparse tensor that comes from the data."""
    received = {edge.spec.kind for edge in evidence.failed_inputs()} - {"dense"}
    if node.kind != "layer" or not received:
        return None
    leaves = evidence.sample.leaves("x") if hasattr(evidence.sample, "leaves") else []
    return next((("layer-raises", NotDense(Who.of(node), path, leaf.kind)) for path, leaf in leaves if leaf.kind in received), None)


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
