"""Tensors of unknown rank, of the data and of what a Python function returns, and those that are not dense."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_contracts import HeardNoRank
from ..flow import Edge, Fact, Node, Who
from ..flow.paths import show
from .facts.contracts import NoRank, ShapeLost
from .facts.entry import RankUnknown
from .facts.layers import NotDense

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
    """What took all axes of size 1 out of a tensor, in front of the layer that asks for a rank."""
    for edge in evidence.flow.into(node.id) if node.kind == "layer" else ():
        giver = evidence.flow.node(edge.source)
        shape = next((given.spec.shape for given in evidence.flow.into(giver.id)), None)
        if edge.spec.shape is None and giver.op.lower() == "squeeze" and shape and shape[0] is None and giver.called is not None:
            return RankUnknown(giver.called.text, shape, giver.called)
    return None


def not_dense(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A ragged or sparse tensor that comes from the data, where the layer that receives it raises an error."""
    received = {edge.spec.kind for edge in evidence.failed_inputs()} - {"dense"}
    if node.kind != "layer" or not received:
        return None
    leaves = evidence.sample.leaves("x") if hasattr(evidence.sample, "leaves") else []
    return next((("layer-raises", NotDense(Who.of(node), path, leaf.kind)) for path, leaf in leaves if leaf.kind in received), None)
